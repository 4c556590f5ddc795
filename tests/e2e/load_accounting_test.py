#!/usr/bin/python3
"""After every load the books balance: each fast path was taken by exactly the
operations that should take it, no handle is open, every object is gone, and no
answer was wrong, also while the fast paths are switched under load."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import grpc

import harness
import stubs

FAST_PATHS = ("release-empty", "open-consume", "permanent", "empty-path")
SCENARIOS = (
    "openro3",
    "open1",
    "openneg",
    "fstat",
    "statx-null",
    "statx-path",
    "procread",
    "removable-read",
    "readdir",
    "create-unlink",
    "rename",
    "build",
)

# Those whose operations have a columnar form.
COLUMNAR = ("openro3", "open1", "openneg", "fstat", "statx-null", "statx-path", "procread", "removable-read")


class Books:
    """What one scrape says about operations, hits and live objects."""

    def __init__(self, server):
        metrics = harness.scrape(server.metrics)
        self.hits = metrics.by("vfs_fast_path_hits_total", "fast_path")
        self.enabled = metrics.by("vfs_fast_path_enabled", "fast_path")
        self.operations = metrics.by("vfs_ops_total", "op")
        self.opened = metrics.sum("vfs_ops_total", op="open", result="ok")
        self.handles = metrics.sum("vfs_open_handles")
        self.objects = {
            "files": metrics.sum("vfs_files"),
            "sessions": metrics.sum("vfs_sessions"),
            "dentries": metrics.sum("vfs_dentries"),
            "mounts": metrics.sum("vfs_mounts"),
            **metrics.by("vfs_inodes", "type"),
        }


class LoadAccounting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(harness.Server("--import", str(harness.ROOT / "server")))

    def load(self, *arguments):
        """Runs vfsload to its end; its JSON report."""
        with tempfile.TemporaryDirectory() as scratch:
            report = pathlib.Path(scratch) / "report.json"
            ran = subprocess.run(
                [
                    harness.program("vfsload"),
                    "run",
                    "--quiet",
                    f"--target={self.server.target}",
                    f"--json={report}",
                    "--warmup=0s",
                    *arguments,
                ],
                capture_output=True,
                text=True,
                check=False,
                timeout=harness.DEADLINE_SECONDS,
            )
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            return json.loads(report.read_text(encoding="utf-8"))

    def should_hit(self, scenario, before, after):
        """How often each fast path should have been taken, from what was done."""
        done = {op: after.operations[op] - before.operations[op] for op in after.operations}
        opened = after.opened - before.opened
        hits = {"release-empty": done["open"] - opened, "open-consume": opened, "permanent": 0, "empty-path": 0}
        if scenario == "procread":
            hits["permanent"] = done["open"] + done["read"] + done["close"]
        if scenario in ("fstat", "statx-null"):
            hits["empty-path"] = done["stat"]
        if scenario == "build":
            del hits["empty-path"]  # A mix of stats by path and by handle.
        return hits

    def test_hits_are_the_operations_that_should_hit(self):
        for scenario in SCENARIOS:
            for form in (["--batch=1"], ["--batch=100"], ["--batch=100", "--columns"]):
                if "--columns" in form and scenario not in COLUMNAR:
                    continue
                with self.subTest(scenario=scenario, form=form):
                    before = Books(self.server)
                    report = self.load(f"--scenario={scenario}", *form, "--duration=300ms")
                    harness.wait_until("the sessions to end", lambda: Books(self.server).objects == before.objects, 30)
                    after = Books(self.server)
                    self.assertEqual(after.handles, 0)
                    (phase,) = report["phases"]
                    self.assertEqual(phase["wrong"], 0)
                    self.assertGreater(phase["operations"], 0)
                    for op, results in phase["results"].items():
                        served = after.operations[op] - before.operations[op]
                        self.assertGreaterEqual(served, sum(results.values()), op)
                    for fast_path, hits in self.should_hit(scenario, before, after).items():
                        expected = hits if after.enabled[fast_path] else 0
                        self.assertEqual(after.hits[fast_path] - before.hits[fast_path], expected, fast_path)

    def test_switching_under_load_changes_no_answer(self):
        admin = stubs.admin_pb2
        load = subprocess.Popen(
            [
                harness.program("vfsload"),
                "run",
                "--quiet",
                f"--target={self.server.target}",
                "--warmup=0s",
                "--duration=1s",
                "--batch=1,100",
                "--scenario=build",
                "--scenario=procread",
                "--scenario=openneg=1,fstat=1,openro3=1",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        switches = 0
        with grpc.insecure_channel(self.server.target) as channel:
            stub = stubs.admin_pb2_grpc.AdminServiceStub(channel)
            before = {s.fast_path: s.enabled for s in stub.SetFastPaths(admin.SetFastPathsRequest()).fast_paths}
            try:
                while load.poll() is None:
                    for fast_path in before:
                        setting = admin.FastPathSetting(fast_path=fast_path, enabled=switches % 2 == 0)
                        stub.SetFastPaths(admin.SetFastPathsRequest(settings=[setting]), timeout=60)
                    switches += 1
            finally:
                settings = [admin.FastPathSetting(fast_path=f, enabled=e) for f, e in before.items()]
                stub.SetFastPaths(admin.SetFastPathsRequest(settings=settings), timeout=60)
                load.wait(harness.DEADLINE_SECONDS)
        output = load.stdout.read()
        load.stdout.close()
        self.assertEqual(load.returncode, 0, output)
        self.assertGreater(switches, 1)
        harness.wait_until("no open handle", lambda: Books(self.server).handles == 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
