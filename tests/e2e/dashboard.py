"""The shipped Grafana dashboards and Prometheus rules, as tests see them: panels,
expressions, and whether a live Prometheus gives them numbers."""

import json
import pathlib
import re
import time
from typing import Iterable, Iterator, NamedTuple

import yaml

import harness
import prometheus

FOLDER = harness.ROOT / "deploy/grafana/dashboards"
RULES = harness.ROOT / "deploy/prometheus/rules"

# What Grafana puts in for its variables. The rate interval is Grafana's own
# rule, max(step + scrape interval, 4 x scrape interval), for a step and a
# scrape interval of one second, and one second on top because a test looks at
# rates that have just begun.
VARIABLES = {"$__rate_interval": "5s", "$__range": "2m", "$job": ".+", "$instance": ".+", "$fast_path": "release-empty"}

# Exported, and on no panel, because:
OFF_PANELS = {
    "exposer_transferred_bytes_total": "prometheus-cpp's own, about being scraped",
    "exposer_scrapes_total": "prometheus-cpp's own, about being scraped",
    "exposer_request_latencies": "prometheus-cpp's own, about being scraped",
}

# No series while all is well, because that is what they ask for.
EMPTY_WHEN_WELL = {"VfsdAbsent": "absent() of what is there"}


class Expression(NamedTuple):
    """One target of one panel or one rule, ready for Prometheus."""

    where: str
    text: str


def load(path: pathlib.Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def all_dashboards() -> dict[str, dict]:
    """By file name."""
    return {path.name: load(path) for path in sorted(FOLDER.iterdir())}


def panels(dashboard: dict) -> Iterator[dict]:
    """All panels but the rows that only group them."""
    for panel in dashboard["panels"]:
        yield from panel.get("panels", [])
        if panel["type"] != "row":
            yield panel


def substituted(text: str) -> str:
    for variable, value in VARIABLES.items():
        text = text.replace(variable, value)
    return text


def panel_expressions(dashboards: Iterable[dict]) -> list[Expression]:
    found = []
    for dashboard in dashboards:
        for panel in panels(dashboard):
            for target in panel["targets"]:
                found.append(Expression(f"{dashboard['title']}, {panel['title']}", substituted(target["expr"])))
    return found


def annotation_expressions(dashboards: Iterable[dict]) -> list[Expression]:
    return [
        # As it is without its condition, which holds at its time only.
        Expression(f"{d['title']}, annotation {a['name']}", a["expr"].replace(" == 1", ""))
        for d in dashboards
        for a in d["annotations"]["list"]
    ]


def rule_expressions() -> list[Expression]:
    """Recording rules as they are. An alert's condition as 0 or 1, so that it has a
    number also while it does not hold; an hour ago is now."""
    found = []
    for path in sorted(RULES.iterdir()):
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            for rule in group["rules"]:
                text = rule["expr"]
                if "alert" in rule:
                    if rule["alert"] in EMPTY_WHEN_WELL:
                        continue
                    text = re.sub(r" offset \d+m", "", text)
                    text = re.sub(r" (==|>=|<=|>|<)(?= |$)", r" \1 bool", text, flags=re.MULTILINE)
                    text = re.sub(r"^(\s*)(==|>=|<=|>|<)(?= |$)", r"\1\2 bool", text, flags=re.MULTILINE)
                    text = text.replace("bool bool", "bool")
                found.append(Expression(rule.get("alert") or rule["record"], text))
    return found


def everything() -> list[Expression]:
    dashboards = all_dashboards().values()
    return panel_expressions(dashboards) + annotation_expressions(dashboards) + rule_expressions()


def metrics_in(text: str) -> set[str]:
    """The names of metrics that an expression reads."""
    text = re.sub(r'"[^"]*"', '""', text)
    text = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b(by|on|ignoring)\s*\([^)]*\)", " ", text)
    words = re.findall(r"(?<![\w:])[a-zA-Z_:][\w:]*(?!\s*\()(?![\w:])", text)
    return {word for word in words if "_" in word and not re.fullmatch(r"group_(left|right)", word)}


def problems(base: str, wanted: list[Expression]) -> list[Expression]:
    """Those that the Prometheus with this base URL would draw nothing for, or that
    ask for a metric that nobody exports."""
    known: dict[str, bool] = {}

    def exists(metric: str) -> bool:
        if metric not in known:
            known[metric] = bool(prometheus.query(base, f"count({metric})"))
        return known[metric]

    return [
        e
        for e in wanted
        if not all(exists(m) for m in metrics_in(e.text)) or not prometheus.has_numbers(prometheus.query(base, e.text))
    ]


def still_empty(base: str, wanted: list[Expression], seconds: float = 90) -> list[Expression]:
    """Waits until each has given numbers once (what a run shows at its start is
    gone at its end); returns those that have not in so many seconds."""
    left = wanted
    deadline = time.monotonic() + seconds
    while left and time.monotonic() < deadline:
        left = problems(base, left)
        time.sleep(0.5)
    return left


def assert_none_empty(base: str, wanted: list[Expression], seconds: float = 90) -> None:
    left = still_empty(base, wanted, seconds)
    if left:
        lines = "\n".join(f"  {e.where}: {e.text}" for e in left)
        raise harness.Failure(f"{len(left)} of {len(wanted)} expressions are empty:\n{lines}")
    print(f"{len(wanted)} expressions of dashboards and rules give numbers")


def renamed(wanted: list[Expression], metric: str) -> list[Expression]:
    """The expressions that read a metric, as if it were called something else."""
    pattern = re.compile(rf"(?<![\w:]){re.escape(metric)}(?![\w:])")
    return [Expression(e.where, pattern.sub(metric + "_renamed", e.text)) for e in wanted if metric in metrics_in(e.text)]


def family(metric: str, families: set[str]) -> str:
    """The metric that a series' name belongs to: NAME_bucket is of NAME."""
    for suffix in ("_bucket", "_sum", "_count"):
        if metric.removesuffix(suffix) in families:
            return metric.removesuffix(suffix)
    return metric


def off_panels(page: str) -> set[str]:
    """The metrics of a scraped page that are on no panel."""
    families = set(re.findall(r"^# TYPE (\S+) ", page, re.MULTILINE))
    shown = {family(m, families) for e in panel_expressions(all_dashboards().values()) for m in metrics_in(e.text)}
    return families - shown
