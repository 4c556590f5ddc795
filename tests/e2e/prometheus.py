"""A real Prometheus that scrapes the programs under test, and what it knows.

Standard library only; the prometheus binary is Debian's.
"""

import json
import math
import pathlib
import shutil
import urllib.parse
from typing import Mapping, Sequence

import harness

SHIPPED_CONFIG = harness.ROOT / "deploy/prometheus/prometheus.yml"
SHIPPED_RULES = harness.ROOT / "deploy/prometheus/rules"

# What the shipped configuration calls the programs, inside the compose network.
_SHIPPED_TARGETS = {"vfsd": '"server:9151"', "vfsload": '"load:9152", "closed:9152", "ab:9152"'}

Series = list[tuple[Mapping[str, str], float]]


def query(base: str, expression: str) -> Series:
    """Evaluates expression now at the Prometheus with this base URL."""
    answer = json.loads(harness.get(f"{base}/api/v1/query?" + urllib.parse.urlencode({"query": expression})))
    if answer["status"] != "success":
        raise harness.Failure(f"{expression}: {answer}")
    if answer["data"]["resultType"] == "scalar":
        return [({}, float(answer["data"]["result"][1]))]
    return [(series["metric"], float(series["value"][1])) for series in answer["data"]["result"]]


def has_numbers(series: Series) -> bool:
    """Whether something would be drawn: a quantile of nothing is NaN."""
    return any(not math.isnan(value) for _, value in series)


class Prometheus(harness.Process):
    """A Prometheus with the shipped configuration and rules, but for the addresses
    (of each job one, or several)."""

    def __init__(self, targets: Mapping[str, Sequence[str]]):
        super().__init__([])
        self._data = pathlib.Path(self.scratch / "data")
        config = SHIPPED_CONFIG.read_text(encoding="utf-8")
        for job, shipped in _SHIPPED_TARGETS.items():
            if shipped not in config:
                raise harness.Failure(f"{SHIPPED_CONFIG} has no target {shipped}")
            config = config.replace(shipped, ", ".join(f'"{target}"' for target in targets[job]))
        config_path = self.scratch / "prometheus.yml"
        config_path.write_text(config, encoding="utf-8")
        shutil.copytree(SHIPPED_RULES, self.scratch / "rules")
        port = harness.free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.command = [
            "prometheus",
            f"--config.file={config_path}",
            f"--storage.tsdb.path={self._data}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]

    def started(self) -> None:
        def ready() -> bool:
            if not self.running():
                raise harness.Failure(f"prometheus did not start\n{self.log()}")
            try:
                return "Ready" in harness.get(f"{self.base}/-/ready")
            except OSError:
                return False

        harness.wait_until("Prometheus", ready)
