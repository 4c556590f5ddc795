"""The npm packages of a package-lock.json, installed once and kept for the next
run in ${XDG_CACHE_HOME:-~/.cache}/vfsd-test, apart from the sources."""

import hashlib
import os
import pathlib
import shutil
import subprocess

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "vfsd-test/node"


class Unavailable(Exception):
    """Why there are no packages: no npm here, or nothing to get them from."""


def installed(folder: pathlib.Path) -> pathlib.Path:
    """Where node_modules for folder/package-lock.json is."""
    lock = (folder / "package-lock.json").read_bytes()
    target = CACHE / hashlib.sha256(lock + (folder / "package.json").read_bytes()).hexdigest()[:16]
    if (target / "complete").exists():
        return target
    if not shutil.which("npm") or not shutil.which("node"):
        raise Unavailable("there is no npm; deploy/install-packages.sh test installs it")
    target.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(folder / name, target / name)
    ran = subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-fund", "--no-audit"],
        cwd=target, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if ran.returncode != 0:
        raise Unavailable(f"npm ci failed in {target}:\n{ran.stdout}{ran.stderr}")
    (target / "complete").touch()
    return target


def node(packages: pathlib.Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """Runs node with these packages."""
    return subprocess.run(
        ["node", *arguments],
        input=stdin,
        env=os.environ | {"NODE_PATH": str(packages / "node_modules")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
