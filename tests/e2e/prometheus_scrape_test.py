#!/usr/bin/python3
"""A real Prometheus scrapes a real vfsd and a real vfsload, and knows the
operations a second of both and whatever the dashboards and rules ask for."""

import subprocess
import threading
import unittest

import dashboard
import harness
import prometheus


def promtool(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], input=stdin, capture_output=True, text=True, check=False)


class Toggle(threading.Thread):
    """Switches the fast paths of a server off and on again, as an A/B does."""

    SECONDS = 7.0  # Longer than the window of the rates.

    def __init__(self, target: str):
        super().__init__(daemon=True)
        self._target = target
        self._end = threading.Event()

    def run(self):
        while True:
            for paths in ("none", "all"):
                if self._end.wait(self.SECONDS):
                    return
                subprocess.run(
                    [harness.program("vfsctl"), "--target", self._target, "fast-paths", paths],
                    stdout=subprocess.DEVNULL, check=True, timeout=harness.DEADLINE_SECONDS,
                )  # fmt: skip

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        self._end.set()
        self.join()


class PrometheusScrape(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(harness.Server("--import", str(harness.PROTO)))
        # An open loop of unary calls and a closed loop of batches side by side;
        # ended by SIGTERM, when the tests are through.
        cls.loads = []
        cls.load_metrics = []
        for scenario, batch, inflight, mode in (
            ("build", 1, 4, ["--mode=open", "--rate=500"]),
            ("openneg", 100, 1, ["--mode=closed"]),
        ):
            cls.load_metrics.append(f"127.0.0.1:{harness.free_port()}")
            cls.loads.append(
                cls.enterClassContext(
                    harness.Process(
                        [
                            harness.program("vfsload"),
                            "run",
                            f"--target={cls.server.target}",
                            f"--server-metrics={cls.server.metrics}",
                            f"--metrics={cls.load_metrics[-1]}",
                            f"--scenario={scenario}",
                            f"--batch={batch}",
                            "--warmup=0s",
                            "--duration=20m",
                            f"--inflight={inflight}",
                            *mode,
                        ],
                        expected_status=None,
                    )
                )
            )
        cls.prometheus = cls.enterClassContext(
            prometheus.Prometheus({"vfsd": [cls.server.metrics], "vfsload": cls.load_metrics})
        )

    def wait_for(self, expression, accept=bool):
        def probe():
            for load in self.loads:
                if not load.running():
                    raise harness.Failure(f"vfsload ended\n{load.log()}")
            series = prometheus.query(self.prometheus.base, expression)
            return series if accept(series) else None

        return harness.wait_until(expression, probe)

    def test_has_the_rates_of_both_sides(self):
        for name in ("vfs_ops_total", "vfsload_ops_total"):
            series = self.wait_for(
                f'sum by (op) (rate({name}{{result="ok"}}[5s])) > 0',
                lambda series: any(labels["op"] == "open" for labels, _ in series),
            )
            self.assertTrue(all(value > 0 for _, value in series))
        # The build mix asks for files that are not there; both sides count it.
        for name in ("vfs_ops_total", "vfsload_ops_total"):
            self.wait_for(f'rate({name}{{op="open",result="ENOENT"}}[5s]) > 0')

    def test_every_expression_gives_numbers_and_a_renamed_metric_does_not(self):
        wanted = dashboard.everything()
        with Toggle(self.server.target):
            dashboard.assert_none_empty(self.prometheus.base, wanted)
        # A check that cannot fail is worth nothing: whichever metric is renamed,
        # every expression that reads it must be found.
        metrics = set().union(*(dashboard.metrics_in(e.text) for e in wanted))
        self.assertGreater(len(metrics), 40)
        for metric in sorted(metrics):
            mutants = dashboard.renamed(wanted, metric)
            self.assertTrue(mutants, metric)
            self.assertEqual(dashboard.problems(self.prometheus.base, mutants), mutants, metric)
        print(f"{len(metrics)} metrics: renaming any one is found")

    def test_every_exported_metric_is_on_a_panel_or_on_the_list(self):
        off = {}
        for address in (self.server.metrics, *self.load_metrics):
            page = harness.wait_until(f"{address}'s page", lambda: self.page(address))
            for metric in dashboard.off_panels(page):
                off[metric] = address
        self.assertEqual(set(off), set(dashboard.OFF_PANELS))
        for metric, reason in dashboard.OFF_PANELS.items():
            print(f"on no panel: {metric}: {reason}")

    def test_scrapes_without_a_complaint(self):
        self.wait_for("count(up == 1)", lambda series: bool(series) and series[0][1] == 3)
        self.assertFalse(prometheus.query(self.prometheus.base, "up == 0"))
        self.assertNotIn("level=error", self.prometheus.log())
        self.assertNotIn("level=warn", self.prometheus.log())

    def test_the_pages_pass_promtool(self):
        for address in (self.server.metrics, *self.load_metrics):
            harness.wait_until(f"{address}'s page", lambda: self.page(address))
            checked = promtool("check", "metrics", stdin=self.page(address))
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""), address)

    def page(self, address):
        try:
            return harness.get(f"http://{address}/metrics")
        except OSError:
            return None

    def test_no_label_holds_a_path_a_handle_or_a_session(self):
        allowed = {
            "op", "result", "type", "fast_path", "walk", "le", "grpc_type", "grpc_service", "grpc_method", "grpc_code",
            "quantile", "phase", "reason", "run_id", "scenario", "mode", "version", "revision", "compiler", "grpc_version",
        }  # fmt: skip
        for address in (self.server.metrics, *self.load_metrics):
            text = harness.wait_until(f"{address}'s page", lambda: self.page(address))
            for name, series in harness.Metrics(text).series():
                if name.endswith("_config_info"):
                    continue
                for labels in series:
                    self.assertLessEqual(set(labels), allowed, name)
                    for value in labels.values():
                        self.assertNotIn("/", value, (name, labels))

    def test_the_shipped_configuration_is_valid(self):
        # The rules that it names are beside it.
        checked = promtool("check", "config", str(prometheus.SHIPPED_CONFIG))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
