#!/usr/bin/python3
"""The README is true: its examples run, what it names exists."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import harness

README = harness.ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


def block(language: str, holding: str) -> str:
    """The code block of a language that holds a word."""
    found = [b for b in re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL) if holding in b]
    if len(found) != 1:
        raise harness.Failure(f"README.md: {len(found)} blocks of '{language}' hold '{holding}'")
    return found[0]


class Readme(unittest.TestCase):
    def test_the_python_example_runs(self):
        protoc = block("", "protoc -I proto")
        example = block("python", "OpenSession")
        with harness.Server() as server, tempfile.TemporaryDirectory() as scratch:
            (pathlib.Path(scratch) / "stubs").mkdir()
            (pathlib.Path(scratch) / "proto").symlink_to(harness.PROTO)
            subprocess.run(["bash", "-euc", protoc], cwd=scratch, check=True)
            example = example.replace("127.0.0.1:9150", server.target)
            ran = subprocess.run([sys.executable, "-c", example], cwd=scratch, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("vfsd", ran.stdout)
        self.assertIn("StatusCode.NOT_FOUND", ran.stdout)

    def test_the_cxx_example_runs(self):
        with harness.Server() as server:
            ran = subprocess.run(
                [harness.program("readme_example")],
                env=os.environ | {"VFSD_TARGET": server.target},
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("vfsd", ran.stdout)
        self.assertIn("ENOENT", ran.stdout)

    def test_the_examples_by_hand_run(self):
        commands = [line for line in block("", "vfsctl stat").splitlines() if line]
        tree = "/usr/include"
        self.assertIn(f"vfsd --import {tree}:{tree}", TEXT)
        with tempfile.TemporaryDirectory() as scratch:
            pathlib.Path(scratch).chmod(0o755)  # The anonymous caller must get in.
            (pathlib.Path(scratch) / "stdio.h").write_text("x", encoding="utf-8")
            with harness.Server("--import", f"{scratch}:{tree}") as server:
                for command in commands:
                    name, *arguments = command.split()
                    name = harness.program(pathlib.Path(name).name)
                    ran = subprocess.run(
                        [name, f"--target={server.target}", *arguments], capture_output=True, text=True, check=False
                    )
                    self.assertEqual(ran.returncode, 0, f"{command}\n{ran.stderr}")
                    self.assertTrue(ran.stdout)

    def test_default_addresses_are_those_of_the_programs(self):
        for program in ("vfsd", "vfsctl", "vfsload"):
            command = [harness.program(program)] + (["run"] if program == "vfsload" else []) + ["--help"]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            self.assertIn("127.0.0.1:9150", text, program)

    def test_what_it_names_exists(self):
        for name in re.findall(r"`((?:proto|server|client|deploy|tests|\.ci)/[\w./-]*)`|\]\(([\w./-]+)\)", TEXT):
            path = harness.ROOT / (name[0] or name[1])
            self.assertTrue(path.exists(), path)
        for switch in ("release-empty", "open-consume", "permanent", "empty-path"):
            self.assertIn(f"`{switch}`", TEXT)


if __name__ == "__main__":
    unittest.main(verbosity=2)
