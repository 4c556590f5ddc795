"""The shipped Grafana dashboard, as tests see it: its panels and expressions."""

import json
from typing import Iterator, NamedTuple

import harness
import prometheus

PATH = harness.ROOT / "deploy/grafana/dashboards/vfsd.json"

# What Grafana puts in for its variables. The rate interval is Grafana's own
# rule, max(step + scrape interval, 4 x scrape interval), for a step and a
# scrape interval of one second, and one second on top because a test looks at
# rates that have just begun.
VARIABLES = {"$__rate_interval": "5s", "$instance": ".*"}


class Expression(NamedTuple):
    """One target of one panel, ready for Prometheus."""

    panel: str
    text: str


def load() -> dict:
    return json.loads(PATH.read_text(encoding="utf-8"))


def panels(dashboard: dict) -> Iterator[dict]:
    """All panels but the rows that only group them."""
    for panel in dashboard["panels"]:
        yield from panel.get("panels", [])
        if panel["type"] != "row":
            yield panel


def expressions(dashboard: dict) -> list[Expression]:
    found = []
    for panel in panels(dashboard):
        for target in panel["targets"]:
            text = target["expr"]
            for variable, value in VARIABLES.items():
                text = text.replace(variable, value)
            found.append(Expression(panel["title"], text))
    return found


def empty_expressions(base: str, wanted: list[Expression]) -> list[Expression]:
    """Those that the Prometheus with this base URL would draw nothing for."""
    return [e for e in wanted if not prometheus.has_numbers(prometheus.query(base, e.text))]


def assert_none_empty(base: str, seconds: float = 60) -> None:
    """Waits until every expression of the dashboard gives numbers."""
    wanted = expressions(load())
    left = wanted

    def all_there() -> bool:
        nonlocal left
        left = empty_expressions(base, left)
        return not left

    try:
        harness.wait_until("the dashboard's expressions", all_there, seconds)
    except harness.Failure:
        lines = "\n".join(f"  {e.panel}: {e.text}" for e in left)
        raise harness.Failure(f"{len(left)} of {len(wanted)} expressions are empty:\n{lines}") from None
    # A check that cannot fail is worth nothing.
    renamed = [Expression(e.panel, e.text.replace("vfs_ops_total", "vfs_oops_total")) for e in wanted]
    if not empty_expressions(base, renamed):
        raise harness.Failure("an expression of a metric that does not exist was not found empty")
    print(f"{len(wanted)} expressions of the dashboard give numbers")
