#!/usr/bin/python3
"""Holds that shell and Python scripts parse, pass shellcheck and can be run."""

import os
import pathlib
import shutil
import subprocess
import sys

import lint


def _run(command: list[str]) -> list[str]:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return []
    return [line for line in (result.stdout + result.stderr).splitlines() if line] or ["failed"]


def check(root: pathlib.Path) -> list[str]:
    findings = []
    for path in lint.files(root):
        text = lint.text_of(path)
        if text is None:
            continue
        name = path.relative_to(root).as_posix()
        first = text.split("\n", 1)[0]
        if first.startswith("#!") and root == lint.ROOT and not os.access(path, os.X_OK):
            findings.append(f"{name}:1: has a #! line but may not be executed")
        if path.suffix == ".sh" or (first.startswith("#!") and first.endswith("sh")):
            found = _run(["bash", "-n", str(path)]) or _run(
                ["shellcheck", "--format=gcc", "--external-sources", str(path)]
            )
            if not found and first.endswith("bash") and "set -euo pipefail" not in text:
                found = [f"{name}:1: does not say set -euo pipefail"]
            findings += [line.replace(f"{root}/", "") for line in found]
        elif path.suffix == ".py":
            try:
                compile(text, name, "exec")
            except SyntaxError as error:
                findings.append(f"{name}:{error.lineno}: {error.msg}")
    return findings


SAMPLES = [
    lint.Sample({"a.sh": '#!/usr/bin/env bash\nset -euo pipefail\nprintf "%s\\n" "$1"\n'}, None),
    lint.Sample({"a.sh": "#!/usr/bin/env bash\nset -euo pipefail\nif true\n"}, "a.sh"),
    lint.Sample({"a": "#!/usr/bin/env bash\nset -euo pipefail\nrm $1/x\n"}, "SC2086"),
    lint.Sample({"a.sh": '#!/usr/bin/env bash\nprintf "%s\\n" "$1"\n'}, "set -euo pipefail"),
    lint.Sample({"a.py": "def f(:\n"}, "a.py:1"),
]

if __name__ == "__main__":
    for tool in ("bash", "shellcheck"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is missing; deploy/install-packages.sh test installs it")
    lint.run(check, SAMPLES, "See shellcheck.net for the SC numbers.")
