#!/usr/bin/python3
"""The systemd unit: valid, hardened, and not so hard that vfsd could not run: every
system call that it makes is one that the unit allows."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness

UNIT = harness.ROOT / "deploy/systemd/vfsd.service"
ARGUMENTS = harness.ROOT / "deploy/systemd/vfsd.conf"
# systemd-analyze's measure, 0 (best) to 10.
MOST_EXPOSURE = 1.5


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", "--no-pager", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def settings(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)


def calls_of(group: str) -> set[str]:
    """The system calls of one of systemd's groups."""
    calls = set()
    for line in analyze("syscall-filter", group).stdout.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            calls |= calls_of(word)
        elif word and not word.startswith("#"):
            calls.add(word)
    return calls


def allowed_calls() -> set[str]:
    allowed = set(calls_of("@default"))
    for line in settings("SystemCallFilter"):
        denied = line.startswith("~")
        for group in line.removeprefix("~").split():
            allowed = allowed - calls_of(group) if denied else allowed | calls_of(group)
    return allowed


class Unit(unittest.TestCase):
    def with_programs(self, scratch: str) -> pathlib.Path:
        """The unit, but for where the program is."""
        path = pathlib.Path(scratch) / "vfsd.service"
        text = UNIT.read_text(encoding="utf-8")
        self.assertIn("/usr/local/bin/vfsd", text)
        path.write_text(text.replace("/usr/local/bin/vfsd ", harness.program("vfsd") + " "), encoding="utf-8")
        return path

    def test_systemd_accepts_it(self):
        with tempfile.TemporaryDirectory() as scratch:
            ran = analyze("verify", "--man=no", str(self.with_programs(scratch)))
        self.assertEqual((ran.returncode, ran.stdout + ran.stderr), (0, ""))

    def test_a_mistake_in_it_is_found(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = self.with_programs(scratch)
            path.write_text(path.read_text(encoding="utf-8").replace("ProtectSystem", "ProtectSistem"), encoding="utf-8")
            ran = analyze("verify", "--man=no", str(path))
        self.assertIn("ProtectSistem", ran.stdout + ran.stderr)

    def test_it_is_hardened(self):
        ran = analyze("security", "--offline=true", f"--threshold={int(MOST_EXPOSURE * 10)}", str(UNIT))
        (overall,) = re.findall(r"Overall exposure level for vfsd.service: ([\d.]+)", ran.stdout)
        print(f"exposure {overall} of 10, at most {MOST_EXPOSURE}")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertLessEqual(float(overall), MOST_EXPOSURE)

    def test_vfsd_knows_the_arguments(self):
        (arguments,) = re.findall(r"^VFSD_ARGUMENTS=(.*)$", ARGUMENTS.read_text(encoding="utf-8"), re.MULTILINE)
        (command,) = settings("ExecStart")
        known = subprocess.run(
            [harness.program("vfsd"), "--help"], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        for argument in re.findall(r"--[\w-]+", arguments + command):
            self.assertIn(argument + " ", known)

    def test_every_system_call_of_vfsd_is_allowed(self):
        if not shutil.which("strace"):
            self.skipTest("no strace")
        allowed = allowed_calls()
        self.assertGreater(len(allowed), 200)
        self.assertNotIn("mount", allowed)
        with tempfile.TemporaryDirectory() as scratch:
            made = self.calls_made(pathlib.Path(scratch))
        self.assertIn("openat", made)
        # strace calls it by another name than the kernel's table.
        names = {"pread": "pread64", "pwrite": "pwrite64"}
        forbidden = {names.get(call, call) for call in made} - allowed
        self.assertEqual(forbidden, set())
        print(f"{len(made)} kinds of system calls, all allowed")

    def calls_made(self, scratch: pathlib.Path) -> set[str]:
        """Those of a server that imports, serves, is scraped, and drains."""
        trace, ready = scratch / "trace", scratch / "ready"
        server = subprocess.Popen(
            ["strace", "--follow-forks", "--quiet=all", "--output", str(trace), "--seccomp-bpf",
             "--trace=all", harness.program("vfsd"), "--listen=127.0.0.1:0", "--metrics=127.0.0.1:0",
             f"--import={harness.PROTO}", f"--ready-file={ready}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            harness.wait_until("vfsd under strace", ready.exists)
            facts = json.loads(ready.read_text(encoding="utf-8"))
            for batch in ("1", "100"):
                subprocess.run(
                    [harness.program("vfsload"), "run", "--quiet", f"--target={facts['listen'][0]}", "--warmup=0s",
                     "--duration=1s", "--scenario=build", f"--batch={batch}"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=harness.DEADLINE_SECONDS,
                )  # fmt: skip
            harness.scrape(facts["metrics"])
            os.kill(facts["pid"], signal.SIGTERM)
            self.assertEqual(server.wait(harness.DEADLINE_SECONDS), 0)
        finally:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()
        # What came before execve belongs to strace, not to the unit's process.
        return set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(encoding="utf-8", errors="replace"), re.MULTILINE))


if __name__ == "__main__":
    unittest.main(verbosity=2)
