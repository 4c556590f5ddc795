#!/usr/bin/python3
"""Holds that the project stands alone and is finished.

It names no path, host or tool of the machine it happened to be written on, and
holds no notes of work left undone.
"""

import pathlib
import re

import lint

# Spelled in parts, so that this file does not find itself.
_HOSTS = (
    "deb." "debian.org",
    "security." "debian.org",
    "snapshot." "debian.org",
    "registry." "npmjs.org",
    "deb." "nodesource.com",
    "files." "pythonhosted.org",
    "pypi" ".org",
    "proxy." "golang.org",
)
_RULES = (
    (re.compile(r"(?<![\w.$}/-])/wo" r"rk(?![\w-])"), "a path of one machine"),
    (re.compile(r"(?<![\w.$}])/tmp/w" r"/"), "a path of one machine"),
    (re.compile(r"(?<![\w.$}])/(ro" r"ot|home/\w+)/"), "a path of one machine"),
    (re.compile(r"\.\./sha" r"red\b"), "a path outside the project"),
    (re.compile(r"\bccs" r"lot\b"), "a tool of one machine"),
    (re.compile("|".join(map(re.escape, _HOSTS))), "a package host; the machine's own settings name it"),
    (re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b"), "work left undone"),
)


def check(root: pathlib.Path) -> list[str]:
    findings = []
    for path in lint.files(root):
        text = lint.text_of(path)
        if text is None:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, what in _RULES:
                match = pattern.search(line)
                if match:
                    name = path.relative_to(root).as_posix()
                    findings.append(f"{name}:{number}: '{match.group(0)}': {what}")
    return findings


SAMPLES = [
    lint.Sample({"a.md": "Do the network, see src/wo" "rk/x, then $HOME/work and a.b/work.\n"}, None),
    lint.Sample({"a.sh": "cd /wo" "rk/main\n"}, "a path of one machine"),
    lint.Sample({"a.md": "see ../sha" "red/design.md\n"}, "outside the project"),
    lint.Sample({"a.cmake": "set(L /usr/local/bin/ccs" "lot)\n"}, "a tool of one machine"),
    lint.Sample({"a.sh": "curl http://deb." "debian.org/\n"}, "a package host"),
    lint.Sample({"a.cc": "// TO" "DO: later\n"}, "work left undone"),
    lint.Sample({"a.cc": "auto p = \"/ro" "ot/x\";\n"}, "a path of one machine"),
]

if __name__ == "__main__":
    lint.run(check, SAMPLES, "Say it without the place it was written at.")
