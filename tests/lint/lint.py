"""What the lints share: the project's files, and a run that tests itself first.

A lint is a function check(root) that returns findings ("path:line: text") for
the tree under root. Before it looks at the real tree, it must find what is
wrong with each of its bad samples and nothing in its good ones: a lint that
cannot fail is worth nothing.
"""

import os
import pathlib
import sys
import tempfile
from typing import Callable, Iterable, NamedTuple, Optional

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Folders that hold no sources of ours.
_SKIPPED = {".git", "build", "__pycache__", "node_modules"}


class Sample(NamedTuple):
    """A small tree and what the lint must say about it."""

    files: dict[str, str]
    finding: Optional[str]  # Part of a finding; None: there must be none.


def files(root: pathlib.Path, suffixes: Iterable[str] = ("",)) -> list[pathlib.Path]:
    """The project's files under root whose names end so, sorted."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED)
        for name in sorted(names):
            if name.endswith(tuple(suffixes)) and name not in _SKIPPED:
                found.append(pathlib.Path(folder) / name)
    return found


def cxx_files(root: pathlib.Path) -> list[pathlib.Path]:
    """Our C++ files."""
    return files(root, (".h", ".cc"))


def text_of(path: pathlib.Path) -> Optional[str]:
    """The file's text, or None if it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return None


def _self_test(check: Callable[[pathlib.Path], list[str]], samples: list[Sample]) -> None:
    if not any(sample.finding for sample in samples):
        sys.exit("self-test: no bad sample")
    for sample in samples:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in sample.files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            findings = check(root)
        if sample.finding is None and findings:
            sys.exit(f"self-test: a good sample has findings: {sample.files}\n  {findings}")
        if sample.finding is not None and not any(sample.finding in f for f in findings):
            sys.exit(
                f"self-test: expected a finding with '{sample.finding}' in {sample.files}\n"
                f"  got {findings}"
            )


def run(check: Callable[[pathlib.Path], list[str]], samples: list[Sample], advice: str) -> None:
    """Tests the lint itself, then lints the project; ends the process."""
    _self_test(check, samples)
    print(f"self-test: {len(samples)} samples judged right")
    findings = check(ROOT)
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings. {advice}")
        sys.exit(1)
    print("no findings")
    sys.exit(0)
