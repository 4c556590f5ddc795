#!/usr/bin/python3
"""A trace's questions get the answers that its kernel gave: of a kernel build
(recorded once), and of programs that are traced here and now. Every call is
accounted for."""

import gzip
import json
import lzma
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import harness

KERNEL_BUILD = pathlib.Path(__file__).parent / "data" / "kernel-build.strace.xz"

PROGRAM = r"""
#include <stdio.h>
int main(void) { return puts("hello") < 0; }
"""
SHELL = """
mkdir -p d/e && ln -s e d/l && : > d/l/f && mv d/l/f d/g && cat d/g && ls -la d/l/ && cp -r d copy
rm -r d copy; cat nosuch; test -x /bin/sh; cd /; ls nosuch; exit 0
"""


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(harness.Server())

    def setUp(self):
        self.scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def replay(self, trace, *arguments, status=0):
        """Replays a file; the report (None where there is none) and what was printed."""
        report = self.scratch / "report.json"
        report.unlink(missing_ok=True)
        ran = subprocess.run(
            [
                harness.program("vfsload"),
                "replay",
                f"--target={self.server.target}",
                f"--trace={trace}",
                f"--json={report}",
                *arguments,
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=harness.DEADLINE_SECONDS,
        )
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        text = report.read_text(encoding="utf-8") if report.exists() else ""
        return (json.loads(text) if text else None), ran.stdout + ran.stderr

    def check(self, report, output):
        self.assertEqual(report["calls"], report["replayed_calls"] + sum(report["left_out"].values()))
        self.assertEqual(report["operations"], report["replayed_calls"] + sum(report["added"].values()))
        self.assertEqual(report["differences"], [], output)
        self.assertEqual(report["without_file"], 0)
        self.assertEqual(report["strange_lines"], 0)
        harness.wait_until(
            "no open handle", lambda: harness.scrape(self.server.metrics).sum("vfs_open_handles") == 0, 30
        )

    def test_the_kernel_build(self):
        for batch in (1000, 1):
            with self.subTest(batch=batch):
                report, output = self.replay(KERNEL_BUILD, f"--batch={batch}")
                self.check(report, output)
                self.assertEqual(report["calls"], 121065)
                self.assertGreater(report["replayed_calls"], 68000)
                self.assertEqual(report["processes"], 558)

    def record(self, *command):
        """An strace -f of a command."""
        trace = self.scratch / "here.strace"
        ran = subprocess.run(
            ["strace", "-f", "-ttt", "-o", str(trace), *command],
            cwd=self.scratch,
            capture_output=True,
            text=True,
            check=False,
            timeout=harness.DEADLINE_SECONDS,
        )
        if ran.returncode != 0:
            self.skipTest(f"strace cannot trace here: {ran.stderr[-200:]}")
        return trace

    def test_a_compile_traced_here(self):
        (self.scratch / "hello.c").write_text(PROGRAM, encoding="utf-8")
        trace = self.record(shutil.which("cc") or "g++", "-O1", "-o", "hello", "hello.c")
        report, output = self.replay(trace, "--batch=100")
        self.check(report, output)
        self.assertGreater(report["replayed_calls"], 200)
        self.assertIsNone(report["response"])
        report, output = self.replay(trace, "--speed=20")
        self.check(report, output)
        self.assertGreater(report["response"]["count"], 200)

    def test_a_shell_traced_here(self):
        trace = self.record("sh", "-c", SHELL)
        for batch in (1, 7, 1000):
            report, output = self.replay(trace, f"--batch={batch}")
            self.check(report, output)

    def test_compressed_cut_short_and_garbage(self):
        text = b"1 close(3) = 0\n" + b'1 stat("/usr", {st_mode=S_IFDIR|0755, ...}) = 0\n' * 5000
        for name, data in (("a.gz", gzip.compress(text)), ("a.xz", lzma.compress(text)), ("a", text)):
            (self.scratch / name).write_bytes(data)
            report, _ = self.replay(self.scratch / name)
            self.assertEqual(report["replayed_calls"], 5000)
        # Cut short: what is there is replayed, and the exit status says so.
        cut = self.scratch / "cut.xz"
        cut.write_bytes(KERNEL_BUILD.read_bytes()[:100_000])
        report, output = self.replay(cut, "--batch=1000", status=1)
        self.assertIn("damaged", output)
        self.assertGreater(report["replayed_calls"], 1000)
        for name, data in (("empty", b""), ("noise", bytes(range(256)) * 100), ("prose", b"not a trace\n" * 50)):
            (self.scratch / name).write_bytes(data)
            _, output = self.replay(self.scratch / name, status=2)
            self.assertEqual(output.count("\n"), 1, output)
            self.assertIn("no strace output", output)
        _, output = self.replay(self.scratch / "nosuch", status=2)
        self.assertIn("nosuch", output)

    def test_no_times_no_speed(self):
        (self.scratch / "a").write_text("1 close(3) = 0\n", encoding="utf-8")
        _, output = self.replay(self.scratch / "a", "--speed=1", status=2)
        self.assertIn("no times", output)

    def test_a_wrong_errno_is_a_difference(self):
        (self.scratch / "a").write_text(
            '1 stat("/a", {st_mode=S_IFREG|0644, ...}) = 0\n1 rmdir("/a") = -1 EBUSY (Busy)\n', encoding="utf-8"
        )
        report, output = self.replay(self.scratch / "a", status=1)
        self.assertEqual(len(report["differences"]), 1)
        self.assertIn("ENOTDIR, and EBUSY in the trace", output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
