#!/usr/bin/python3
"""vfsload's exit status says what happened, one line says why, and what was
measured so far is there all the same."""

import json
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import harness


def run(*arguments, target="127.0.0.1:1", command="run"):
    """Runs vfsload to its end."""
    return subprocess.run(
        [harness.program("vfsload"), command, f"--target={target}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=harness.DEADLINE_SECONDS,
    )


class Verdict(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(harness.Server("--import", str(harness.ROOT / "proto")))

    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def load(self, *arguments):
        return run("--quiet", "--duration=500ms", "--warmup=0", *arguments, target=self.server.target)

    def test_slo(self):
        report = self.scratch / "report.json"
        met = self.load("--scenario=openneg", "--slo=p99<60s,errors<0.1%,ops>1", f"--json={report}")
        self.assertEqual(met.returncode, 0, met.stdout + met.stderr)
        self.assertEqual(met.stdout.count(" met"), 3, met.stdout)
        (phase,) = json.loads(report.read_text(encoding="utf-8"))["phases"]
        self.assertEqual([row["met"] for row in phase["slo"]], [True] * 3)
        missed = self.load("--scenario=openneg", "--slo=p50<1us,ops>1")
        self.assertEqual(missed.returncode, 4, missed.stdout)
        self.assertIn("MISSED", missed.stdout)
        bad = self.load("--slo=p99<fast")
        self.assertEqual(bad.returncode, 2)
        self.assertEqual(bad.stderr.count("\n"), 1, bad.stderr)

    def test_bad_input(self):
        for arguments, word in (
            (("--scenario=nosuch",), "nosuch"),
            (("--scenario=openneg=0",), "weight"),
            (("--scenario=openneg=-1",), "weight"),
            (("--json=/nosuch/report.json",), "cannot write"),
        ):
            with self.subTest(arguments=arguments):
                ran = self.load(*arguments)
                self.assertEqual(ran.returncode, 2, ran.stderr)
                self.assertIn(word, ran.stderr)
                self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)

    def test_no_server(self):
        ran = run("--quiet", "--duration=1s")
        self.assertEqual(ran.returncode, 3)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)

    def test_a_full_disk(self):
        ran = self.load("--scenario=openneg", "--json=/dev/full")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("cannot write /dev/full", ran.stderr)
        self.assertIn("openneg", ran.stdout)

    def test_a_server_that_dies(self):
        for arguments in (("--batch=100",), ("--mode=open", "--rate=2000")):
            with self.subTest(arguments=arguments):
                report = self.scratch / "died.json"
                with harness.Server("--import", str(harness.ROOT / "proto")) as server:
                    server._expected_status = -signal.SIGKILL
                    with subprocess.Popen(
                        [
                            harness.program("vfsload"),
                            "run",
                            "--quiet",
                            f"--target={server.target}",
                            "--scenario=statx-path",
                            "--duration=60s",
                            "--warmup=0",
                            f"--json={report}",
                            *arguments,
                        ],
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                    ) as load:
                        harness.wait_until(
                            "some operations",
                            lambda: harness.scrape(server.metrics).sum("vfs_ops_total", op="stat") > 1000,
                            60,
                        )
                        server._process.kill()
                        output, errors = load.communicate(timeout=harness.DEADLINE_SECONDS)
                self.assertEqual(load.returncode, 3, errors)
                self.assertIn("statx-path", output)
                self.assertGreater(json.loads(report.read_text(encoding="utf-8"))["phases"][0]["operations"], 0)

    def test_metrics_stay_until_they_are_scraped(self):
        command = [
            harness.program("vfsload"),
            "run",
            f"--target={self.server.target}",
            "--scenario=openneg",
            "--duration=300ms",
            "--warmup=0",
            "--metrics=127.0.0.1:0",
            "--linger=60s",
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as load:
            address = None
            for line in load.stderr:
                if "metrics on http://" in line:
                    address = line.split("http://")[1].split("/")[0]
                if "metrics stay" in line:
                    break
            self.assertIsNotNone(address)
            started = time.monotonic()
            metrics = harness.scrape(address)
            output, errors = load.communicate(timeout=harness.DEADLINE_SECONDS)
        self.assertEqual(load.returncode, 0, errors)
        self.assertLess(time.monotonic() - started, 50)
        self.assertEqual(metrics.sum("vfsload_phase", phase="done"), 1)
        # The totals of the end: the table's operations, and those of no measured time.
        shown = int(next(line for line in output.splitlines() if "openneg " in line).split()[2].replace(",", ""))
        self.assertGreaterEqual(metrics.sum("vfsload_ops_total"), shown)
        self.assertEqual(metrics.sum("vfsload_dropped_total"), 0)
        self.assertEqual(metrics.sum("vfsload_scheduled_total"), 0)

    def test_clients_side_by_side_add_up(self):
        before = harness.scrape(self.server.metrics).sum("vfs_ops_total", op="open")
        command = [harness.program("vfsload"), "run", f"--target={self.server.target}", "--scenario=openneg"]
        command += ["--duration=500ms", "--warmup=0", "--metrics=127.0.0.1:0", "--linger=60s"]
        total = 0.0
        loads = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        for load in loads:
            for line in load.stderr:
                if "metrics on http://" in line:
                    address = line.split("http://")[1].split("/")[0]
                if "metrics stay" in line:
                    break
            total += harness.scrape(address).sum("vfsload_ops_total", op="open")
            load.communicate(timeout=harness.DEADLINE_SECONDS)
            self.assertEqual(load.returncode, 0)
        served = harness.scrape(self.server.metrics).sum("vfs_ops_total", op="open") - before
        self.assertEqual(total, served)


if __name__ == "__main__":
    unittest.main(verbosity=2)
