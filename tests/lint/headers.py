#!/usr/bin/python3
"""Holds the shape of headers: an opening comment, a guard, one noun a file."""

import pathlib
import re

import lint

_VAGUE = {"util", "utils", "helper", "helpers", "misc", "common", "manager", "stuff", "types"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _finding(stem: str, text: str, of_product: bool) -> str | None:
    lines = text.splitlines()
    if not lines or not lines[0].startswith("// "):
        return "does not open with a comment that says what it is for"
    if not re.search(r"^#pragma once$", text, re.MULTILINE) and not re.search(
        r"^#ifndef (\w+)\n#define \1$", text, re.MULTILINE
    ):
        return "has no #pragma once"
    if re.search(r"^\s*using namespace\b", text, re.MULTILINE):
        return "opens a namespace for everyone who includes it"
    if set(stem.split("_")) & _VAGUE:
        return f"'{stem}' names no noun"
    # errno.h, path_walk.h and unary_methods.h have the root of a word in a name
    # that they declare: Errno, WalkPath, AddUnary.
    code = _COMMENT.sub("", text).lower()
    if of_product and not any(word[:4] in code for word in stem.lower().split("_")):
        return f"declares nothing that its name, {stem}, says"
    return None


def check(root: pathlib.Path) -> list[str]:
    findings = []
    for path in lint.files(root, (".h",)):
        name = path.relative_to(root).as_posix()
        finding = _finding(path.stem, lint.text_of(path) or "", not name.startswith("tests/"))
        if finding:
            findings.append(f"{name}:1: {finding}")
    return findings


SAMPLES = [
    lint.Sample({"path_walk.h": "// Walks paths.\n#pragma once\nclass PathWalk;\n"}, None),
    lint.Sample({"path_walk.h": "// Walks paths.\n#pragma once\nvoid WalkPath();\n"}, None),
    lint.Sample({"walk.h": "#pragma once\nclass Walk;\n"}, "does not open"),
    lint.Sample({"walk.h": "// Walks.\nclass Walk;\n"}, "#pragma once"),
    lint.Sample({"walk.h": "// Walks.\n#pragma once\nusing namespace std;\nclass Walk;\n"}, "namespace"),
    lint.Sample({"path_utils.h": "// Paths.\n#pragma once\nclass PathUtils;\n"}, "names no noun"),
    lint.Sample({"walk.h": "// Walk.\n#pragma once\nclass Inode;  // no walk\n"}, "declares nothing"),
]

if __name__ == "__main__":
    lint.run(check, SAMPLES, "One noun a file, and its header says what it is for.")
