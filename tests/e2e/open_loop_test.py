#!/usr/bin/python3
"""An open loop holds its rate, counts what it could not hold, and says so."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import harness


class OpenLoop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(harness.Server("--import", str(harness.ROOT / "client")))

    def load(self, *arguments, status=0):
        """Runs vfsload to its end; its JSON report and what it printed."""
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch) / "report.json"
            command = [harness.program("vfsload"), "run", "--quiet", f"--target={self.server.target}"]
            command += [f"--json={report}", f"--server-metrics={self.server.metrics}", *arguments]
            ran = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=harness.DEADLINE_SECONDS
            )
            self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
            return json.loads(report.read_text(encoding="utf-8")), ran.stdout

    def test_a_rate_is_held(self):
        for arguments in (
            ("--scenario=build", "--rate=1000"),
            ("--scenario=build", "--rate=1000", "--threads=2"),
            ("--scenario=statx-path", "--rate=500", "--arrivals=poisson", "--seed=3"),
            ("--scenario=openneg", "--rate=20000", "--batch=100"),
            ("--scenario=openro3", "--rate=200:1800"),
            ("--scenario=openro3", "--rate=200,600,1000"),
        ):
            with self.subTest(arguments=arguments):
                report, table = self.load("--mode=open", "--duration=3s", "--warmup=500ms", *arguments)
                (phase,) = report["phases"]
                loop = phase["open_loop"]
                # What is under way at either end is all that may be missing, on a
                # machine that does other things too; and a Poisson process varies.
                allowed = 0.1 if "--arrivals=poisson" in arguments else 0.03
                self.assertAlmostEqual(
                    phase["operations"] / loop["planned_operations"], 1, delta=allowed, msg=table
                )
                self.assertEqual(report["loop"], "open")
                self.assertEqual(loop["dropped"], {"late": 0, "end": 0})
                self.assertGreaterEqual(phase["response"]["p99_us"], 0.98 * phase["latency"]["p99_us"])
                self.assertEqual(phase["response"]["count"], phase["latency"]["count"])
                self.assertIn("service time", table)

    def test_what_cannot_be_held_is_counted(self):
        report, table = self.load(
            "--mode=open", "--rate=1e6", "--max-late=5ms", "--scenario=statx-path", "--duration=1s", "--warmup=0"
        )
        (phase,) = report["phases"]
        self.assertLess(phase["operations"], 0.5 * phase["open_loop"]["planned_operations"], table)
        self.assertGreater(phase["open_loop"]["dropped"]["late"], 0)
        self.assertNotEqual(phase["bottleneck"]["limit"], "none")

    def test_a_loop_that_makes_no_sense_is_refused(self):
        for arguments in (
            ("--mode=open",),
            ("--mode=ajar", "--rate=1"),
            ("--mode=open", "--rate=0"),
            ("--mode=open", "--rate=fast"),
            ("--mode=open", "--rate=1", "--arrivals=never"),
            ("--mode=open", "--rate=1", "--count=5"),
            ("--rate=100",),
        ):
            with self.subTest(arguments=arguments):
                ran = subprocess.run(
                    [harness.program("vfsload"), "run", f"--target={self.server.target}", *arguments],
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=60,
                )
                self.assertEqual(ran.returncode, 2, ran.stderr)
                self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
