#!/usr/bin/python3
"""The compose file and the image's recipe as files: what is pinned, confined and
waited for, and that they say what the programs know. compose_test.py runs them."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

import harness
import node_packages

SCHEMAS = pathlib.Path(__file__).resolve().parent / "schemas"
COMPOSE = harness.ROOT / "deploy/compose.yaml"
DOCKERFILE = (harness.ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")

# Who waits until whom is healthy.
WAITS = {
    "server": set(),
    "load": {"server"},
    "closed": {"server"},
    "ab": {"server"},
    "prometheus": {"server"},
    "grafana": {"prometheus"},
}


class ComposeFile(unittest.TestCase):
    def setUp(self):
        self.text = COMPOSE.read_text(encoding="utf-8")
        self.compose = yaml.safe_load(self.text)
        self.services = self.compose["services"]

    def test_every_service_is_pinned_confined_and_waits(self):
        self.assertEqual(set(self.services), set(WAITS))
        for name, service in self.services.items():
            self.assertTrue(service["read_only"], name)
            self.assertEqual(service["cap_drop"], ["ALL"], name)
            self.assertEqual(service["security_opt"], ["no-new-privileges:true"], name)
            if "build" not in service:
                self.assertRegex(service["image"], r":v?\d+\.\d+\.\d+$")
            waits = service.get("depends_on", {})
            self.assertEqual(set(waits), WAITS[name], name)
            for other in waits:
                self.assertEqual(waits[other], {"condition": "service_healthy"}, name)
                self.assertIn("healthcheck", self.services[other], name)
            for port in service.get("ports", []):
                self.assertTrue(port.startswith("127.0.0.1:"), port)

    def test_only_the_default_load_runs_without_a_profile(self):
        self.assertEqual({n: s["profiles"] for n, s in self.services.items() if "profiles" in s}, {"closed": ["closed"], "ab": ["ab"]})

    def test_every_setting_is_in_the_list_at_the_top(self):
        top = self.text[: self.text.index("\nname:")]
        listed = set(re.findall(r"\b(?:VFS|PROM|GRAF)\w*[A-Z]\b", top))
        used = set(re.findall(r"(?<!\$)\$\{(\w+)", self.text[len(top) :]))
        self.assertEqual(used - listed, set())
        self.assertEqual(listed - used, set())

    def test_prometheus_finds_every_load(self):
        scrape = yaml.safe_load((harness.ROOT / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8"))
        targets = {j["job_name"]: j["static_configs"][0]["targets"] for j in scrape["scrape_configs"]}
        self.assertEqual(targets, {"vfsd": ["server:9151"], "vfsload": ["load:9152", "closed:9152", "ab:9152"]})
        for target in sum(targets.values(), []):
            self.assertIn(target.split(":")[0], self.services)

    def test_it_fits_the_published_schema(self):
        try:
            packages = node_packages.installed(SCHEMAS)
        except node_packages.Unavailable as why:
            print(f"skipped: {why}")
            self.skipTest(str(why))

        def complaints(compose):
            ran = node_packages.node(packages, str(SCHEMAS / "check.js"), "compose", stdin=json.dumps([compose]))
            return ran.stdout + ran.stderr

        # The newest schema on npm is older than the project's name in the file.
        self.compose.pop("name")
        self.assertEqual(complaints(self.compose), "")
        self.services["server"]["read_onyl"] = True
        self.assertIn("additional properties", complaints(self.compose))

    def ab(self, target: str, metrics: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """The A/B's script, with the settings that Compose would put in, on a server
        of this test."""
        script = self.services["ab"]["command"][-1]
        script = re.sub(r"(?<!\$)\$\{(\w+):-([^}]*)\}", lambda m: settings.get(m[1], m[2]), script).replace("$$", "$")
        for there, here in (("server:9150", target), ("server:9151", metrics), ("0.0.0.0:9152", "127.0.0.1:0")):
            script = script.replace(there, here)
        with tempfile.TemporaryDirectory() as scratch:
            for program in ("vfsctl", "vfsload"):
                (pathlib.Path(scratch) / program).symlink_to(harness.program(program))
            return subprocess.run(
                ["sh", "-euc", script],
                env=os.environ | {"PATH": f"{scratch}:{os.environ['PATH']}"},
                capture_output=True, text=True, check=False, timeout=harness.DEADLINE_SECONDS,
            )  # fmt: skip

    def test_the_ab_switches_and_passes_the_exit_status_on(self):
        with harness.Server("--import", str(harness.PROTO)) as server:
            ran = self.ab(
                server.target, server.metrics,
                VFSLOAD_AB="release-empty", VFSLOAD_AB_ROUNDS="1", VFSLOAD_AB_SLICE="1s", VFSLOAD_BATCH="100",
            )  # fmt: skip
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertRegex(ran.stdout, r"(?s)fast paths: none.*openneg.*fast paths: release-empty.*openneg")
            page = harness.scrape(server.metrics)
            self.assertEqual(page.by("vfs_fast_path_enabled", "fast_path")["permanent"], 1)
            # Half the opens of files that are not there took it.
            self.assertGreater(page.sum("vfs_fast_path_hits_total", fast_path="release-empty"), 0)
            self.assertLess(
                page.sum("vfs_fast_path_hits_total", fast_path="release-empty"),
                page.sum("vfs_ops_total", op="open", result="ENOENT"),
            )
            ran = self.ab(server.target, server.metrics, VFSLOAD_SCENARIO="no-such-scenario")
            self.assertEqual(ran.returncode, 2, ran.stdout + ran.stderr)
            # Whatever happens, it leaves the server as it should be.
            self.assertEqual(set(harness.scrape(server.metrics).by("vfs_fast_path_enabled", "fast_path").values()), {1})


class Recipe(unittest.TestCase):
    def test_the_version_is_the_project_s(self):
        (version,) = re.findall(r"^ARG VERSION=(.*)$", DOCKERFILE, re.MULTILINE)
        cmake = (harness.ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertRegex(cmake, rf"project\(vfsd[^)]*VERSION {re.escape(version)}\b")

    def test_it_runs_as_a_number_and_says_how_it_is(self):
        self.assertRegex(DOCKERFILE, r"(?m)^USER [1-9]\d*:[1-9]\d*$")
        self.assertRegex(DOCKERFILE, r"(?m)^STOPSIGNAL SIGTERM$")
        self.assertIn("HEALTHCHECK", DOCKERFILE)
        for label in ("title", "description", "version", "revision", "base.name"):
            self.assertIn(f"org.opencontainers.image.{label}=", DOCKERFILE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
