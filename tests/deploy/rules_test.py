#!/usr/bin/python3
"""The recording and alert rules: valid, tested by promtool both ways, each alert
in the runbook.

The tests of the alerts are made here from one table, an alert a row: series on
which it fires, and series, as near to those as can be, on which it stays silent.
"""

import pathlib
import re
import subprocess
import tempfile
import unittest
from typing import NamedTuple

import yaml

import harness

RULES = harness.ROOT / "deploy/prometheus/rules"
RUNBOOK = harness.ROOT / "deploy/RUNBOOK.md"
HERE = pathlib.Path(__file__).resolve().parent

SERVER = '{job="vfsd",instance="a"}'
LOAD = '{job="vfsload",instance="l"}'
MEASURING = {'vfsload_phase{job="vfsload",instance="l",phase="measure"}': "1x400"}
WARMING = {'vfsload_phase{job="vfsload",instance="l",phase="measure"}': "0x400"}


class Row(NamedTuple):
    """Series on which the alert fires after so many minutes, and series on which
    it does not; a sample every `interval`."""

    alert: str
    minutes: int
    fires: dict[str, str]
    silent: list[dict[str, str]]
    interval: str = "1m"


def handled(code: str) -> str:
    return f'grpc_server_handled_total{{job="vfsd",instance="a",grpc_method="Open",grpc_code="{code}"}}'


def operations(result: str) -> str:
    return f'vfs_ops_total{{job="vfsd",instance="a",op="open",result="{result}"}}'


def slow(within: int) -> dict[str, str]:
    """100 unary calls a minute, so many of them within 10 ms."""
    labels = 'job="vfsd",instance="a",grpc_type="unary",grpc_method="Open"'
    return {
        f'grpc_server_handling_seconds_bucket{{{labels},le="0.01"}}': f"0+{within}x400",
        f"grpc_server_handling_seconds_count{{{labels}}}": "0+100x400",
    }


def lag(within: int) -> dict[str, str]:
    """100 planned starts a sample, so many of them within 10 ms."""
    name = 'vfsload_schedule_lag_seconds_bucket{job="vfsload",instance="l",le="'
    return {
        name + '0.01"}': f"0+{within}x80",
        name + '0.02"}': "0+100x80",
        name + '+Inf"}': "0+100x80",
    }


def ratio(name: str, limit: str, value: int) -> dict[str, str]:
    return {name + SERVER: f"{value}x400", limit + SERVER: "100x400"}


def open_handles(handles: str, sessions: str) -> dict[str, str]:
    return {"vfs_open_handles" + SERVER: handles, "vfs_sessions" + SERVER: sessions}


TABLE = [
    Row("VfsdDown", 5, {"up" + SERVER: "1x2 0x20"}, [{"up" + SERVER: "1x20"}, {"up" + LOAD: "0x20"}]),
    Row("VfsdAbsent", 10, {"up" + LOAD: "1x20"}, [{"up" + SERVER: "0x20"}]),
    Row(
        "VfsdRestarting",
        12,
        {"process_start_time_seconds" + SERVER: "0 0 60 60 120 120 180x20"},
        [{"process_start_time_seconds" + SERVER: "0 0 60x20"}, {"process_start_time_seconds" + LOAD: "0 1 2 3 4x20"}],
    ),
    Row(
        "VfsdErrors",
        15,
        {handled("OK"): "0+980x400", handled("Internal"): "0+20x400"},
        [
            {handled("OK"): "0+995x400", handled("Internal"): "0+5x400"},
            {handled("OK"): "0+100x400", handled("NotFound"): "0+900x400"},
            {operations("ok"): "0+100x400", operations("ENOENT"): "0+900x400", operations("EMFILE"): "0+50x400"},
        ],
    ),
    # In band: the calls are OK, the operations are not.
    Row(
        "VfsdErrors",
        15,
        {handled("OK"): "0+100x400", operations("ok"): "0+95x400", operations("ENFILE"): "0+5x400"},
        [{handled("OK"): "0+100x400", operations("ok"): "0+995x400", operations("ENFILE"): "0+5x400"}],
    ),
    Row("VfsdLatencyOverSlo", 15, slow(98), [slow(100), {k: "7x400" for k in slow(0)}]),
    Row(
        "VfsdFilesNearLimit",
        10,
        ratio("vfs_files", "vfs_files_limit", 81),
        [ratio("vfs_files", "vfs_files_limit", 79)],
    ),
    Row(
        "VfsdSessionsNearLimit",
        10,
        ratio("vfs_sessions", "vfs_sessions_limit", 81),
        [ratio("vfs_sessions", "vfs_sessions_limit", 79)],
    ),
    Row(
        "VfsdDescriptorsNearLimit",
        10,
        ratio("process_open_fds", "process_max_fds", 81),
        [ratio("process_open_fds", "process_max_fds", 79)],
    ),
    Row(
        "VfsdHandleLeak",
        180,
        open_handles("1000+100x400", "10x400"),
        [
            open_handles("5000x400", "10x400"),
            # As many more sessions: a busier day.
            open_handles("1000+100x400", "10+1x400"),
            # Up and down: builds that come and go.
            open_handles("5000+500x30 20000-500x30 5000+500x30 20000-500x30 5000+500x30 20000-500x30", "10x400"),
            # Small change.
            open_handles("1+1x400", "10x400"),
        ],
    ),
    Row(
        "VfsdBrokenInvariant",
        20,
        open_handles("0x10 3x30", "5x10 0x30"),
        [open_handles("3x40", "1x40"), open_handles("0x40", "0x40")],
    ),
    Row(
        "VfsdBrokenInvariant",
        20,
        {"vfs_never_opened_extra_references_total" + SERVER: "0x15 1x30"},
        [{"vfs_never_opened_extra_references_total" + SERVER: "4x40"}],
    ),
    Row(
        "VfsloadWrongAnswers",
        10,
        {"vfsload_wrong_answers_total" + LOAD: "0x7 3x20"},
        [{"vfsload_wrong_answers_total" + LOAD: "0x30"}],
    ),
    Row(
        "VfsloadUnreachable",
        10,
        {'grpc_client_handled_total{job="vfsload",instance="l",grpc_method="Open",grpc_code="Unavailable"}': "0+10x80"},
        [
            {'grpc_client_handled_total{job="vfsload",instance="l",grpc_method="Open",grpc_code="Unavailable"}': "10x80"},
            {'grpc_client_handled_total{job="vfsload",instance="l",grpc_method="Open",grpc_code="OK"}': "0+10x80"},
        ],
        interval="15s",
    ),
    Row(
        "VfsloadLagging",
        10,
        MEASURING | lag(98),
        [
            MEASURING | lag(100),
            # Warming up: its figures do not count.
            WARMING | lag(98),
            # A closed loop has no plan.
            MEASURING | {series: "0x80" for series in lag(0)},
        ],
        interval="15s",
    ),
    Row(
        "VfsloadLagging",
        10,
        MEASURING | {'vfsload_dropped_total{job="vfsload",instance="l",reason="late"}': "0+3x80"},
        [MEASURING | {'vfsload_dropped_total{job="vfsload",instance="l",reason="late"}': "3x80"}],
        interval="15s",
    ),
    Row(
        "VfsloadIsTheLimit",
        10,
        MEASURING | {"process_cpu_seconds_total" + LOAD: "0+28x80", "vfsload_workers" + LOAD: "2x80"},
        [
            MEASURING | {"process_cpu_seconds_total" + LOAD: "0+26x80", "vfsload_workers" + LOAD: "2x80"},
            # Warming up: its figures do not count.
            WARMING
            | {"process_cpu_seconds_total" + LOAD: "0+28x80", "vfsload_workers" + LOAD: "2x80"},
        ],
        interval="15s",
    ),
]  # fmt: skip


def alerts() -> dict[str, dict]:
    groups = yaml.safe_load((RULES / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, timeout=120)


def run_alert_tests(rules: list[pathlib.Path], tests: list[dict]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "test.yml"
        path.write_text(yaml.safe_dump({"rule_files": [str(p) for p in rules], "evaluation_interval": "15s", "tests": tests}))
        return promtool("test", "rules", str(path))


def test_case(row: Row, series: dict[str, str], fires: bool) -> dict:
    """That an alert fires at a time is said by ALERTS, whatever its annotations."""
    return {
        "name": f"{row.alert} {'fires' if fires else 'is silent'}: {series}",
        "interval": row.interval,
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{row.alert}",alertstate="firing"}})',
                "eval_time": f"{row.minutes}m",
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
            }
        ],
    }


class Rules(unittest.TestCase):
    files = [RULES / "recording.yml", RULES / "alerts.yml"]

    def test_promtool_accepts_them(self):
        self.assertEqual(sorted(RULES.iterdir()), sorted(self.files))
        for path in self.files:
            checked = promtool("check", "rules", str(path))
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_recorded_figures_are_right(self):
        ran = promtool("test", "rules", str(HERE / "rules/recording_test.yml"))
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_every_recording_rule_has_a_test(self):
        groups = yaml.safe_load((RULES / "recording.yml").read_text(encoding="utf-8"))["groups"]
        tests = (HERE / "rules/recording_test.yml").read_text(encoding="utf-8")
        for group in groups:
            for rule in group["rules"]:
                self.assertIn(rule["record"], tests)

    def test_every_alert_fires_and_stays_silent(self):
        self.assertEqual({row.alert for row in TABLE}, set(alerts()))
        tests = []
        for row in TABLE:
            tests.append(test_case(row, row.fires, True))
            self.assertTrue(row.silent, row.alert)
            tests += [test_case(row, series, False) for series in row.silent]
        ran = run_alert_tests(self.files, tests)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        print(f"{len(TABLE)} rows: {len(TABLE)} fire, {len(tests) - len(TABLE)} stay silent")

    def test_an_alert_on_a_renamed_metric_is_found(self):
        # A test that cannot fail is worth nothing.
        with tempfile.TemporaryDirectory() as scratch:
            broken = []
            for path in self.files:
                broken.append(pathlib.Path(scratch) / path.name)
                broken[-1].write_text(path.read_text(encoding="utf-8").replace("vfs_files_limit", "vfs_files_max"))
            row = next(row for row in TABLE if row.alert == "VfsdFilesNearLimit")
            ran = run_alert_tests(broken, [test_case(row, row.fires, True)])
        self.assertNotEqual(ran.returncode, 0)

    def test_every_alert_is_labelled_and_stands_in_the_runbook(self):
        headings = re.findall(r"^### (\w+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual(headings, list(alerts()))
        for name, rule in alerts().items():
            self.assertIn(rule["labels"]["severity"], ("critical", "warning"), name)
            self.assertEqual(set(rule["annotations"]), {"summary", "description"}, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
