"""Starts the real programs for tests that run them, and reads their metrics.

Standard library only. Programs are found in the folder that VFSD_BIN names
(ctest sets it), else in build/release/bin. VFSD_TEST_ARGUMENTS is appended to
the arguments of every server, so that a test can be run again on a server that
runs another way (--fast-paths=none). Everything listens on the loopback
interface, on ports that the system picks.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from typing import Callable, Mapping, Optional, Sequence, TypeVar

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto"

# Generous, for sanitizer builds on a busy machine; nothing waits this long.
DEADLINE_SECONDS = 120.0

_T = TypeVar("_T")


class Failure(AssertionError):
    """What a test program did wrong, with the end of its log."""


def program(name: str) -> str:
    """The path of vfsd, vfsload or vfsctl."""
    folder = pathlib.Path(os.environ.get("VFSD_BIN", ROOT / "build/release/bin"))
    path = folder / name
    if not path.exists():
        raise Failure(f"{path} is not built (VFSD_BIN names the folder of the programs)")
    return str(path)


def is_sanitized(name: str) -> bool:
    """Whether the program is a sanitizer's build, whose memory tells nothing."""
    libraries = subprocess.run(["ldd", program(name)], capture_output=True, text=True, check=True).stdout
    return "libasan" in libraries or "libtsan" in libraries


def packages(section: str) -> list[str]:
    """The packages of a section of deploy/packages.txt."""
    installer = ROOT / "deploy/install-packages.sh"
    return subprocess.run([installer, "--list", section], capture_output=True, text=True, check=True).stdout.split()


def wait_until(what: str, probe: Callable[[], Optional[_T]], seconds: float = DEADLINE_SECONDS) -> _T:
    """Calls probe until it returns something true; Failure after the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        result = probe()
        if result:
            return result
        if time.monotonic() > deadline:
            raise Failure(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.05)


class Process:
    """A program that runs while the with-block does; its log is kept.

    Leaving the block sends SIGTERM and expects the exit status 0, so that a
    sanitizer's finding at the end fails the test too.
    """

    def __init__(self, command: Sequence[str], expected_status: Optional[int] = 0):
        self.command = list(command)
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="vfsd-test-"))
        self.log_path = self.scratch / "log"
        self._expected_status = expected_status
        self._process: Optional[subprocess.Popen[bytes]] = None

    def __enter__(self):
        with open(self.log_path, "wb") as log:
            self._process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            self.started()
        except BaseException:
            self._process.kill()
            self._process.wait()
            self._remove()
            raise
        return self

    def __exit__(self, kind, value, trace):
        status = None
        try:
            status = self.stop()
        finally:
            log = self.log()
            self._remove()
        if kind is None and self._expected_status is not None and status != self._expected_status:
            raise Failure(f"{self.command[0]} ended with {status}\n{log}")
        if kind is not None:
            print(f"--- log of {self.command[0]}\n{log}")

    def started(self) -> None:
        """Waits until the program does its work; subclasses know how."""

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log(self, characters: int = 8000) -> str:
        """The end of what the program has printed."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")[-characters:]

    def wait(self, seconds: float = DEADLINE_SECONDS) -> int:
        """Waits for the program to end by itself; returns its exit status."""
        assert self._process
        return self._process.wait(seconds)

    def stop(self) -> int:
        """SIGTERM if it still runs; returns its exit status (-9: had to be killed)."""
        assert self._process
        if self.running():
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _remove(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)


class Server(Process):
    """A vfsd, ready to serve inside the with-block.

    target and metrics are the addresses of its first --listen and of /metrics.
    """

    def __init__(self, *arguments: str, listen: Sequence[str] = ("127.0.0.1:0",)):
        super().__init__([])
        self._ready_path = self.scratch / "ready.json"
        self.command = [program("vfsd"), "--metrics", "127.0.0.1:0", "--ready-file", str(self._ready_path)]
        for address in listen:
            self.command += ["--listen", address]
        self.command += arguments
        self.command += os.environ.get("VFSD_TEST_ARGUMENTS", "").split()
        self.target = ""
        self.metrics = ""
        self.ready: dict = {}

    def started(self) -> None:
        def ready() -> bool:
            if not self.running():
                raise Failure(f"vfsd did not start: {' '.join(self.command)}\n{self.log()}")
            return self._ready_path.exists()

        wait_until("vfsd's ready file", ready)
        # It is written atomically, so it is whole once it is there.
        self.ready = json.loads(self._ready_path.read_text(encoding="utf-8"))
        self.target = self.ready["listen"][0]
        self.metrics = self.ready["metrics"]


class Metrics:
    """One scrape: values by metric name and labels."""

    _LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$")
    _LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:\\.|[^"\\])*)"')

    def __init__(self, text: str):
        self.text = text
        self._values: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            match = self._LINE.match(line)
            if not match:
                raise Failure(f"not Prometheus's text format: {line}")
            labels = dict(self._LABEL.findall(match.group(2) or ""))
            self._values.setdefault(match.group(1), []).append((labels, float(match.group(3))))

    def series(self) -> list[tuple[str, list[Mapping[str, str]]]]:
        """The labels of all series, by metric name."""
        return [(name, [labels for labels, _ in values]) for name, values in sorted(self._values.items())]

    def sum(self, name: str, **labels: str) -> float:
        """The sum over the series of name that have these labels; there must be one."""
        series = [
            value
            for given, value in self._values.get(name, [])
            if all(given.get(key) == wanted for key, wanted in labels.items())
        ]
        if not series:
            raise Failure(f"no series {name}{labels or ''}")
        return sum(series)

    def by(self, name: str, label: str) -> dict[str, float]:
        """The series of name, summed by the values of one label."""
        sums: dict[str, float] = {}
        for labels, value in self._values.get(name, []):
            sums[labels.get(label, "")] = sums.get(labels.get(label, ""), 0.0) + value
        return sums


def get(url: str) -> str:
    """The body of an HTTP answer, past any proxy that the environment names."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=10) as answer:
        return answer.read().decode("utf-8")


def scrape(address: str) -> Metrics:
    """The metrics page at host:port."""
    return Metrics(get(f"http://{address}/metrics"))


def free_port() -> int:
    """A TCP port of the loopback interface that was free a moment ago; for
    programs that cannot pick one themselves and tell it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
