#!/usr/bin/python3
"""deploy/packages.txt and its installer: one place a package, and clear answers
where it cannot install."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

SCRIPT = harness.ROOT / "deploy/install-packages.sh"
LIST = harness.ROOT / "deploy/packages.txt"
NOBODY = 65534


def install(*arguments: str, script: pathlib.Path = SCRIPT, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(script), *arguments], capture_output=True, text=True, check=False, timeout=60, **options
    )


class Packages(unittest.TestCase):
    def test_every_package_stands_in_one_section(self):
        packages = [line for line in LIST.read_text(encoding="utf-8").split() if re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", line)]
        listed = []
        for section in ("build", "runtime", "test", "bench", "clang", "containers"):
            of_section = install("--list", section).stdout.split()
            self.assertTrue(of_section, section)
            listed += of_section
        self.assertEqual(len(set(listed)), len(listed))
        self.assertLessEqual(set(listed), set(packages))

    def test_nothing_else_installs_packages(self):
        # Prometheus's stand-in image in compose_test.py is no part of the project.
        allowed = {SCRIPT, pathlib.Path(__file__).resolve(), harness.ROOT / "tests/deploy/compose_test.py"}
        for folder in ("deploy", "tests", ".ci"):
            for path in (harness.ROOT / folder).rglob("*"):
                if path.is_file() and path not in allowed and path.suffix != ".pyc":
                    self.assertNotIn("apt-get install", path.read_text(encoding="utf-8", errors="replace"), path)

    def test_installed_packages_need_neither_root_nor_time(self):
        options = {"user": NOBODY} if os.geteuid() == 0 else {}
        with tempfile.TemporaryDirectory() as scratch:
            self.assertEqual(self.copied(scratch, "dpkg\n", **options).returncode, 0)

    def test_a_missing_package_without_root_or_sudo_says_what_to_do(self):
        options = {"user": NOBODY} if os.geteuid() == 0 else {}
        with tempfile.TemporaryDirectory() as scratch:
            tools = self.tools(scratch, "bash", "sed", "awk", "grep", "dpkg-query", "apt-get", "dirname", "cat", "tr")
            ran = self.copied(scratch, "no-such-package-of-vfsd\n", env={"PATH": tools}, **options)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("as root, run: apt-get install no-such-package-of-vfsd", ran.stderr)

    def test_a_command_from_elsewhere_stands_for_its_package(self):
        options = {"user": NOBODY} if os.geteuid() == 0 else {}
        with tempfile.TemporaryDirectory() as scratch:
            ran = self.copied(scratch, "no-such-package-of-vfsd (bash)\n", **options)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        with tempfile.TemporaryDirectory() as scratch:
            tools = self.tools(scratch, "bash", "sed", "awk", "grep", "dpkg-query", "apt-get", "dirname", "cat", "tr")
            ran = self.copied(scratch, "no-such-package-of-vfsd (no-such-command)\n", env={"PATH": tools}, **options)
        self.assertIn("as root, run: apt-get install no-such-package-of-vfsd", ran.stderr)

    def test_another_system_is_told_to_use_the_image(self):
        with tempfile.TemporaryDirectory() as scratch:
            tools = self.tools(scratch, "bash", "sed", "awk", "grep", "dirname", "cat", "tr")
            ran = self.copied(scratch, "dpkg\n", env={"PATH": tools})
        self.assertEqual(ran.returncode, 1)
        self.assertIn("deploy/compose.yaml", ran.stderr)

    def test_bad_usage_is_told(self):
        for arguments in (["no-such-section"], ["--what"]):
            ran = install(*arguments)
            self.assertEqual(ran.returncode, 2)
            self.assertIn("Usage:", ran.stderr)

    def copied(self, scratch: str, packages: str, **options) -> subprocess.CompletedProcess[str]:
        """The installer with a list of its own, section [build]."""
        os.chmod(scratch, 0o755)
        shutil.copy(SCRIPT, scratch)
        (pathlib.Path(scratch) / "packages.txt").write_text("[build]\n" + packages, encoding="utf-8")
        return install("build", script=pathlib.Path(scratch) / SCRIPT.name, cwd="/", **options)

    def tools(self, scratch: str, *names: str) -> str:
        """A PATH with these programs only."""
        folder = pathlib.Path(scratch) / "tools"
        folder.mkdir()
        for name in names:
            (folder / name).symlink_to(shutil.which(name))
        return str(folder)


if __name__ == "__main__":
    unittest.main(verbosity=2)
