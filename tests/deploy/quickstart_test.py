#!/usr/bin/python3
"""deploy/quickstart.sh with programs that are built: the table is whole, the
exit status tells, nothing is left behind."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import harness

SCRIPT = harness.ROOT / "deploy/quickstart.sh"
SCENARIOS = ("openro3", "openneg", "fstat", "statx-null", "statx-path", "procread", "build")


def quickstart(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT), *arguments],
        cwd="/",
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


class Quickstart(unittest.TestCase):
    def test_prints_the_table_and_cleans_up(self):
        bin_folder = str(pathlib.Path(harness.program("vfsd")).parent)
        with tempfile.TemporaryDirectory() as scratch:
            ran = quickstart("--seconds", "1", "--tree", str(harness.ROOT), "--bin", bin_folder, TMPDIR=scratch)
            left = os.listdir(scratch)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(left, [])
        for scenario in SCENARIOS:
            rows = [line for line in ran.stdout.splitlines() if re.match(rf"\s*{re.escape(scenario)}\s.*\d", line)]
            # One row unary, one batched.
            self.assertEqual(len(rows), 2, f"{scenario}\n{ran.stdout}")
        self.assertIn("open handles: 0", ran.stdout)
        self.assertIn(str(harness.ROOT), ran.stdout)

    def test_a_server_that_does_not_start_fails_it_and_shows_its_log(self):
        with tempfile.TemporaryDirectory() as scratch:
            broken = pathlib.Path(scratch) / "vfsd"
            broken.write_text("#!/bin/sh\necho cannot start today >&2\nexit 3\n", encoding="utf-8")
            broken.chmod(0o755)
            ran = quickstart("--bin", scratch, "--tree", scratch)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("the server did not start", ran.stderr)
        self.assertIn("cannot start today", ran.stderr)

    def test_bad_usage_is_told(self):
        for arguments in (["--seconds", "0"], ["--seconds"], ["--tree", "/no/such/tree"], ["--bin", "/"], ["--what"]):
            ran = quickstart(*arguments)
            self.assertEqual(ran.returncode, 2, arguments)
            self.assertIn("Usage:", ran.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
