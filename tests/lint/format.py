#!/usr/bin/python3
"""Holds the formatting of .clang-format in all C++ files."""

import pathlib
import shutil
import subprocess
import sys

import lint

CLANG_FORMAT = "clang-format-19"


def check(root: pathlib.Path) -> list[str]:
    paths = lint.cxx_files(root)
    if not paths:
        return []
    result = subprocess.run(
        [CLANG_FORMAT, f"--style=file:{lint.ROOT / '.clang-format'}", "--dry-run", "-Werror", *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
    )
    findings = [line for line in result.stderr.splitlines() if ": error: " in line]
    if result.returncode != 0 and not findings:
        findings = [result.stderr.strip() or f"{CLANG_FORMAT} failed"]
    return [finding.replace(f"{root}/", "") for finding in findings]


SAMPLES = [
    lint.Sample({"a.h": "// A.\n#pragma once\n\nint A();\n"}, None),
    lint.Sample({"a.cc": "int   A( );\n"}, "a.cc:1"),
]

if __name__ == "__main__":
    if not shutil.which(CLANG_FORMAT):
        sys.exit(f"{CLANG_FORMAT} is missing; deploy/install-packages.sh test installs it")
    lint.run(check, SAMPLES, f"Run: {CLANG_FORMAT} -i FILE…")
