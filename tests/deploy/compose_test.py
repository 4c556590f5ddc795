#!/usr/bin/python3
"""The containerized load test for real: builds the image, runs it alone with
nothing that it does not need, brings deploy/compose.yaml up with podman, and asks
the Prometheus inside for everything that dashboards and rules ask for.

No image registry is needed: the base image is made here (mmdebstrap), and
Prometheus's image too, from Debian's package, under the name that the compose
file uses. Grafana is left out: it is in no package. Everything that podman
stores lies in ${XDG_CACHE_HOME:-~/.cache}/vfsd-test, apart from the machine's
own images; the base image is kept there for the next run.
"""

import datetime
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

import dashboard
import harness
import prometheus

COMPOSE = harness.ROOT / "deploy/compose.yaml"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "vfsd-test"
BASE = "docker.io/library/debian:bookworm-slim"
BASE_DAYS = 14  # Then it is made anew, with Debian's updates.
PROJECT = "vfsd-test"
SERVICES = ("server", "load", "prometheus")
IMAGE = "localhost/vfsd:latest"

PROMETHEUS_IMAGE = f"""
FROM {BASE}
RUN apt-get update && apt-get install -y --no-install-recommends prometheus && rm -rf /var/lib/apt/lists/* \
    && mkdir /prometheus && chown nobody:nogroup /prometheus
USER 65534:65534
ENTRYPOINT ["/usr/bin/prometheus"]
"""

# A container's limits must lie below the ones this machine gives, and where
# there is no systemd podman has to manage cgroups itself.
CONTAINERS_CONF = """
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_config_dir = "{cni}"
"""

STORAGE_CONF = """
[storage]
driver = "overlay"
graphroot = "{graph}"
runroot = "{run}"
"""


def say(text: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def skip(reason: str) -> None:
    print(f"skipped: {reason}")
    sys.exit(77)


class Podman:
    """podman and podman-compose with a store and settings of their own."""

    def __init__(self, scratch: pathlib.Path, ports: dict[str, int]):
        (CACHE / "cni").mkdir(parents=True, exist_ok=True)
        containers_conf = scratch / "containers.conf"
        containers_conf.write_text(CONTAINERS_CONF.format(cni=CACHE / "cni"), encoding="utf-8")
        storage_conf = scratch / "storage.conf"
        storage_conf.write_text(
            STORAGE_CONF.format(graph=CACHE / "storage", run="/run/vfsd-test-storage"), encoding="utf-8"
        )
        self.environment = os.environ | {
            "CONTAINERS_CONF": str(containers_conf),
            "CONTAINERS_STORAGE_CONF": str(storage_conf),
            "BUILDAH_ISOLATION": "chroot",
            "VFSD_PORT": str(ports["server"]),
            "VFSD_METRICS_PORT": str(ports["metrics"]),
            "PROMETHEUS_PORT": str(ports["prometheus"]),
        }

    def run(self, *command: str, check: bool = True, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            command, env=self.environment, input=stdin, capture_output=True, text=True, check=False
        )
        if check and result.returncode != 0:
            raise harness.Failure(f"{' '.join(command)}: {result.returncode}\n{(result.stdout + result.stderr)[-6000:]}")
        return result

    def compose(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("podman-compose", "-p", PROJECT, "-f", str(COMPOSE), *arguments, check=check)

    def has_image(self, name: str) -> bool:
        return self.run("podman", "image", "exists", name, check=False).returncode == 0

    def container(self, service: str) -> str:
        found = self.run(
            "podman", "ps", "-a", "-q",
            "--filter", f"label=com.docker.compose.project={PROJECT}",
            "--filter", f"label=com.docker.compose.service={service}",
        ).stdout.split()
        if len(found) != 1:
            raise harness.Failure(f"{len(found)} containers of service {service}")
        return found[0]

    def inspect(self, service: str) -> dict:
        return json.loads(self.run("podman", "inspect", self.container(service)).stdout)[0]

    def wait_until_healthy(self, service: str) -> None:
        # Where systemd does not run the checks, somebody has to.
        def healthy() -> bool:
            if self.inspect(service)["State"]["Status"] != "running":
                raise harness.Failure(f"{service} ended\n{self.logs(service)}")
            return self.run("podman", "healthcheck", "run", self.container(service), check=False).returncode == 0

        try:
            harness.wait_until(f"{service} to be healthy", healthy)
        except harness.Failure as failure:
            raise harness.Failure(f"{failure}\n{self.logs(service)}") from None

    def logs(self, service: str) -> str:
        result = self.run("podman", "logs", "--tail", "60", self.container(service), check=False)
        return f"--- log of {service}\n{result.stdout}{result.stderr}"

    def down(self) -> None:
        self.compose("down", "--volumes", "--timeout", "20", check=False)
        # podman-compose 1.0 leaves the network.
        self.run("podman", "network", "rm", "--force", f"{PROJECT}_default", check=False)


def make_base(podman: Podman) -> None:
    archive = CACHE / "bookworm.tar"
    old = archive.exists() and time.time() - archive.stat().st_mtime > BASE_DAYS * 86400
    if not archive.exists() or old:
        say("making the base image with mmdebstrap")
        partial = CACHE / "bookworm.partial.tar"
        partial.unlink(missing_ok=True)
        podman.run("mmdebstrap", "--variant=minbase", "bookworm", str(partial))
        partial.rename(archive)
        old = True
    if old or not podman.has_image(BASE):
        podman.run("podman", "import", str(archive), BASE)


def make_prometheus(podman: Podman, name: str) -> None:
    say(f"making {name} from Debian's package")
    podman.run("podman", "build", "--pull=never", "-t", name, "-", stdin=PROMETHEUS_IMAGE)


def check_confined(podman: Podman) -> None:
    for service in SERVICES:
        facts = podman.inspect(service)
        assert facts["HostConfig"]["ReadonlyRootfs"], service
        assert not facts["EffectiveCaps"], (service, facts["EffectiveCaps"])
        assert facts["Config"]["User"].split(":")[0] not in ("", "0", "root"), service


def check_rates(base: str) -> None:
    for name in ("vfs_ops_total", "vfsload_ops_total"):
        expression = f"sum(rate({name}[5s]))"

        def flowing() -> bool:
            series = prometheus.query(base, expression)
            return bool(series) and series[0][1] > 0

        harness.wait_until(expression, flowing)
        say(f"{expression} = {prometheus.query(base, expression)[0][1]:.0f}")


def load_test(podman: Podman, ports: dict[str, int]) -> list[dashboard.Expression]:
    """Returns the expressions that this load gave no numbers for."""
    base = f"http://127.0.0.1:{ports['prometheus']}"
    say(f"bringing up {', '.join(SERVICES)}")
    podman.compose("up", "-d", *SERVICES)
    for service in SERVICES:
        podman.wait_until_healthy(service)
        say(f"{service} is healthy")
    check_confined(podman)
    check_rates(base)
    left = dashboard.still_empty(base, dashboard.everything(), 30)

    say("stopping the load")
    podman.run("podman", "stop", "--time", "30", podman.container("load"))
    load_status = podman.inspect("load")["State"]["ExitCode"]
    page = harness.scrape(f"127.0.0.1:{ports['metrics']}")
    harness.wait_until(
        "no open handle", lambda: harness.scrape(f"127.0.0.1:{ports['metrics']}").sum("vfs_open_handles") == 0
    )
    assert page.sum("vfs_ops_total") > 0
    if load_status != 0:
        raise harness.Failure(f"SIGTERM ended the load with {load_status}\n{podman.logs('load')}")
    return left


def ab_test(podman: Podman, ports: dict[str, int], left: list[dashboard.Expression]) -> None:
    """The A/B on the server that is there, seen by the Prometheus that is there."""
    say(f"{len(left)} expressions need batches or switched fast paths; running the A/B")
    podman.environment |= {"VFSLOAD_AB_SLICE": "8s", "VFSLOAD_AB": "release-empty"}
    podman.compose("up", "-d", "server", "ab")
    dashboard.assert_none_empty(f"http://127.0.0.1:{ports['prometheus']}", left, 120)
    say("every expression of dashboards and rules has given numbers")
    podman.run("podman", "stop", "--time", "30", podman.container("ab"))
    page = harness.scrape(f"127.0.0.1:{ports['metrics']}")
    enabled = page.by("vfs_fast_path_enabled", "fast_path")
    assert set(enabled.values()) == {1.0}, f"the A/B left the server with {enabled}\n{podman.logs('ab')}"
    podman.run("podman", "stop", "--time", "30", podman.container("server"))
    status = podman.inspect("server")["State"]["ExitCode"]
    if status != 0:
        raise harness.Failure(f"SIGTERM ended the server with {status}\n{podman.logs('server')}")


def exit_status_test(podman: Podman, scratch: pathlib.Path) -> None:
    """The load's exit status is the command's."""
    for scenario, wanted in (("openneg", 0), ("no-such-scenario", 2)):
        podman.down()
        podman.environment |= {"VFSLOAD_SCENARIO": scenario, "VFSLOAD_DURATION": "2s", "VFSLOAD_LINGER": "0s"}
        # podman-compose 1.0 does not wait for a healthy server.
        podman.compose("up", "-d", "server")
        podman.wait_until_healthy("server")
        # It leaves the server attached to its output, so that a pipe had no end.
        with open(scratch / "up.log", "w", encoding="utf-8") as log:
            ran = subprocess.run(
                ["podman-compose", "-p", PROJECT, "-f", str(COMPOSE), "up", "--exit-code-from", "load", "server", "load"],
                env=podman.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
                timeout=harness.DEADLINE_SECONDS,
            )  # fmt: skip
        told = (scratch / "up.log").read_text(encoding="utf-8", errors="replace")
        assert ran.returncode == wanted, f"{scenario}: {ran.returncode}\n{told[-4000:]}"
        say(f"up --exit-code-from load, scenario {scenario}: exit status {ran.returncode}")


def milliseconds(time_stamp: str) -> float:
    """Since 1970, of a line of vfsd's log."""
    return datetime.datetime.fromisoformat(time_stamp).timestamp() * 1000


def confined_run(podman: Podman, name: str, *options: str) -> str:
    """Runs the image alone with nothing that it does not need; returns its log."""
    podman.run(
        "podman", "run", "--detach", "--name", name, "--read-only", "--read-only-tmpfs=false", "--cap-drop=all",
        "--security-opt=no-new-privileges", "--user=12345:54321", "--network=none", *options,
        IMAGE, "vfsd", "--listen=127.0.0.1:9150", "--metrics=127.0.0.1:9151", "--import=/usr",
    )  # fmt: skip
    try:
        healthy = ("podman", "exec", name, "vfsctl", "--target=127.0.0.1:9150", "health")
        harness.wait_until(f"{name} to serve", lambda: podman.run(*healthy, check=False).returncode == 0)
        (facts,) = json.loads(podman.run("podman", "inspect", name).stdout)
        assert facts["HostConfig"]["ReadonlyRootfs"] and not facts["EffectiveCaps"], facts
        assert podman.run("podman", "exec", name, "id", "-u").stdout.strip() == "12345"
        ran = podman.run("podman", "exec", name, "sh", "-c", "echo x >/usr/local/x", check=False)
        assert ran.returncode != 0, "the root file system can be written"
        podman.run("podman", "stop", "--time", "30", name)
        (facts,) = json.loads(podman.run("podman", "inspect", name).stdout)
        assert facts["State"]["ExitCode"] == 0, facts["State"]
        logs = podman.run("podman", "logs", name)
        return logs.stdout + logs.stderr
    finally:
        podman.run("podman", "rm", "--force", name, check=False)


def image_test(podman: Podman) -> None:
    (image,) = json.loads(podman.run("podman", "image", "inspect", IMAGE).stdout)
    (base,) = json.loads(podman.run("podman", "image", "inspect", BASE).stdout)
    say(f"image: {image['Size'] / 1e6:.0f} MB, of which the base {base['Size'] / 1e6:.0f} MB")
    labels = image["Config"]["Labels"]
    for label in ("title", "description", "version", "revision", "base.name"):
        assert labels.get(f"org.opencontainers.image.{label}"), (label, labels)
    packages = podman.run("podman", "run", "--rm", "--network=none", IMAGE, "cat", "/usr/share/vfsd/packages").stdout
    recorded = dict(line.split() for line in packages.splitlines())
    for package in harness.packages("runtime"):
        assert package in recorded, package
    version = podman.run("podman", "run", "--rm", "--network=none", IMAGE, "vfsd", "--version").stdout
    assert labels["org.opencontainers.image.version"] in version, (labels, version)
    say(f"{len(recorded)} packages recorded, {version.strip()}")

    log = confined_run(podman, f"{PROJECT}-alone")
    lines = {word: line.split()[0] for word in ("starts", "serving") for line in log.splitlines() if word in line}
    took = milliseconds(lines["serving"]) - milliseconds(lines["starts"])
    (imported,) = [line for line in log.splitlines() if " imported " in line]
    say(f"start-up: {took:.0f} ms from its first line to serving ({imported.split(' info ')[1]})")

    cpu = str(min(os.sched_getaffinity(0)))
    for what, option in (("affinity", f"--cpuset-cpus={cpu}"), ("quota", "--cpus=1")):
        try:
            log = confined_run(podman, f"{PROJECT}-one-cpu", option)
        except harness.Failure as failure:
            # Some machines let nobody set these, root in a container included.
            if "cgroup" not in str(failure):
                raise
            say(f"one CPU by {what}: left out, this machine cannot set it: {str(failure).splitlines()[-1]}")
            continue
        assert "CPUs: 1; queues: 1" in log, log
        say(f"one CPU by {what}: the server runs its queues for one")


def main() -> None:
    if os.geteuid() != 0:
        skip("rootless podman needs settings that only the machine's owner can make; run it as root")
    for tool in ("podman", "podman-compose", "runc", "mmdebstrap"):
        if not shutil.which(tool) and not shutil.which(tool, path="/usr/sbin"):
            skip(f"{tool} is missing; deploy/install-packages.sh containers installs it")
    print("Grafana is left out: its image comes from a registry only, and it is in no package.")

    compose = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    CACHE.mkdir(parents=True, exist_ok=True)
    ports = {name: harness.free_port() for name in ("server", "metrics", "prometheus")}
    with open(CACHE / "lock", "w", encoding="utf-8") as lock, tempfile.TemporaryDirectory() as scratch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        podman = Podman(pathlib.Path(scratch), ports)
        podman.down()
        make_base(podman)
        make_prometheus(podman, compose["services"]["prometheus"]["image"])
        say("building the image")
        podman.compose("build", "server")
        try:
            image_test(podman)
            ab_test(podman, ports, load_test(podman, ports))
            exit_status_test(podman, pathlib.Path(scratch))
        except BaseException:
            for service in (*SERVICES, "ab"):
                try:
                    print(podman.logs(service))
                except harness.Failure:
                    pass
            raise
        finally:
            podman.down()
            # The build's layers serve the next run; older ones would pile up.
            podman.run("podman", "image", "prune", "--force", "--filter", "until=24h", check=False)
    say("done")


if __name__ == "__main__":
    main()
