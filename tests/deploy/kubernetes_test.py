#!/usr/bin/python3
"""The Kubernetes manifests, as files and as kustomize renders them: they fit the
published schemas of Kubernetes and of the Prometheus operator, and what must go
together does. No cluster is asked."""

import copy
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import yaml

import harness
import node_packages

FOLDER = harness.ROOT / "deploy/kubernetes"
HERE = pathlib.Path(__file__).resolve().parent
SCHEMAS = HERE / "schemas"
OVERLAY = HERE / "kubernetes"
KUSTOMIZE_KINDS = {"Kustomization", "Component"}


def from_files() -> list[dict]:
    """All objects of the files, without what kustomize adds."""
    found = []
    for path in sorted(FOLDER.rglob("*.yaml")):
        found += [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one["kind"] not in KUSTOMIZE_KINDS]
    return found


def rendered() -> list[dict] | None:
    """What a user's overlay comes to; None: this machine cannot render it."""
    commands = [["kustomize", "build"], ["kubectl", "kustomize"]]
    for command in commands:
        if not shutil.which(command[0]):
            continue
        ran = subprocess.run(
            [*command, str(OVERLAY)], capture_output=True, text=True, check=False, timeout=60,
            env=os.environ | {"KUBECONFIG": "/dev/null"},
        )  # fmt: skip
        # Kubectl before 1.21 brings a kustomize that knows no components.
        if ran.returncode == 0:
            return list(yaml.safe_load_all(ran.stdout))
        if "Component" not in ran.stderr and "components" not in ran.stderr:
            raise harness.Failure(f"{' '.join(command)}: {ran.stderr}")
    return None


def only(objects: list[dict], kind: str) -> dict:
    (found,) = [one for one in objects if one["kind"] == kind]
    return found


class Manifests(unittest.TestCase):
    def setUp(self):
        self.objects = from_files()

    def test_every_file_is_named_by_its_kustomization(self):
        for path in FOLDER.rglob("kustomization.yaml"):
            there = {one.name for one in path.parent.glob("*.yaml")} - {path.name}
            named = yaml.safe_load(path.read_text(encoding="utf-8"))["resources"]
            self.assertEqual(set(named), there, path)

    def test_pods_are_confined(self):
        for kind in ("Deployment", "Job"):
            pod = only(self.objects, kind)["spec"]["template"]["spec"]
            self.assertTrue(pod["securityContext"]["runAsNonRoot"], kind)
            self.assertGreater(pod["securityContext"]["runAsUser"], 0, kind)
            self.assertEqual(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault", kind)
            self.assertFalse(pod["automountServiceAccountToken"], kind)
            for container in pod["containers"]:
                self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"], kind)
                self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"], kind)
                self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]}, kind)
                self.assertIn("memory", container["resources"]["limits"], kind)
                self.assertEqual(set(container["resources"]["requests"]), {"cpu", "memory"}, kind)

    def test_probes_are_grpc_on_the_port_that_vfsd_serves(self):
        container = only(self.objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertEqual(container[probe]["grpc"]["port"], ports["grpc"], probe)
        self.assertIn(f"--listen=0.0.0.0:{ports['grpc']}", container["args"])
        self.assertIn(f"--metrics=0.0.0.0:{ports['metrics']}", container["args"])

    def test_it_has_time_to_drain(self):
        pod = only(self.objects, "Deployment")["spec"]["template"]["spec"]
        container = pod["containers"][0]
        (drain,) = [int(a.split("=")[1].rstrip("s")) for a in container["args"] if a.startswith("--drain-timeout=")]
        wait = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
        self.assertGreater(pod["terminationGracePeriodSeconds"], drain + wait)

    def test_selectors_select_the_pods(self):
        labels = only(self.objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
        selectors = [
            only(self.objects, "Deployment")["spec"]["selector"]["matchLabels"],
            only(self.objects, "Service")["spec"]["selector"],
            only(self.objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
            only(self.objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        ]
        for selector in selectors:
            self.assertLessEqual(selector.items(), labels.items())
        # The load client is one of the clients that the policy lets in.
        load = only(self.objects, "Job")["spec"]["template"]["metadata"]["labels"]
        admitted = only(self.objects, "NetworkPolicy")["spec"]["ingress"][0]["from"][0]["podSelector"]["matchLabels"]
        self.assertLessEqual(admitted.items(), load.items())

    def test_the_programs_know_their_arguments(self):
        for kind, program in (("Deployment", "vfsd"), ("Job", "vfsload")):
            container = only(self.objects, kind)["spec"]["template"]["spec"]["containers"][0]
            self.assertEqual(container["command"][0], program)
            known = subprocess.run(
                [harness.program(program), *container["command"][1:], "--help"],
                capture_output=True, text=True, check=True, timeout=60,
            ).stdout  # fmt: skip
            for argument in container["args"]:
                self.assertIn(argument.split("=")[0] + " ", known)

    def test_an_overlay_renders(self):
        objects = rendered()
        if objects is None:
            print("skipped: no kubectl (1.21 or later) or kustomize here; the files themselves are checked")
            self.skipTest("no kustomize")
        self.assertEqual(
            sorted(one["kind"] for one in objects),
            ["Deployment", "Job", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount", "ServiceMonitor"],
        )
        for one in objects:
            self.assertEqual(one["metadata"]["namespace"], "vfsd-test", one["kind"])
        for kind in ("Deployment", "Job"):
            container = only(objects, kind)["spec"]["template"]["spec"]["containers"][0]
            self.assertEqual(container["image"], "registry.example/vfsd:0.1.0")
        # The label that names the job in Prometheus, and so in dashboards and alerts.
        monitor = only(objects, "ServiceMonitor")["spec"]
        service = only(objects, "Service")
        self.assertEqual(service["metadata"]["labels"][monitor["jobLabel"]], "vfsd")
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())
        self.assertIn(monitor["endpoints"][0]["port"], [port["name"] for port in service["spec"]["ports"]])


class Schemas(unittest.TestCase):
    """What needs the schemas' packages from npm."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.packages = node_packages.installed(SCHEMAS)
        except node_packages.Unavailable as why:
            print(f"skipped: {why}")
            raise unittest.SkipTest(str(why)) from None

    def validate(self, what, objects):
        ran = node_packages.node(self.packages, str(SCHEMAS / "check.js"), what, stdin=json.dumps(objects))
        return ran.stdout + ran.stderr

    def unknown_fields(self, objects):
        """What TypeScript's compiler finds: the schemas allow fields that they do
        not know, their types do not."""
        lines = []
        for index, one in enumerate(objects):
            package = "@kubernetes-models/prometheus-operator" if "coreos" in one["apiVersion"] else "kubernetes-models"
            lines.append(f"import type {{ I{one['kind']} as T{index} }} from '{package}/{one['apiVersion']}/{one['kind']}';")
            lines.append(f"export const c{index}: T{index} = {json.dumps(one)};")
        with tempfile.TemporaryDirectory(dir=self.packages) as scratch:
            source = pathlib.Path(scratch) / "objects.ts"
            source.write_text("\n".join(lines), encoding="utf-8")
            ran = node_packages.node(
                self.packages, str(self.packages / "node_modules/typescript/bin/tsc"), "--noEmit", "--strict",
                "--skipLibCheck", "--module", "commonjs", "--moduleResolution", "node", "--target", "es2022", str(source),
            )  # fmt: skip
        return ran.stdout + ran.stderr

    def test_manifests_fit_the_published_schemas(self):
        objects = from_files()
        self.assertEqual(self.validate("kubernetes", objects), "")
        self.assertEqual(self.unknown_fields(objects), "")
        overlay = rendered()
        if overlay is not None:
            self.assertEqual(self.validate("kubernetes", overlay), "")
            self.assertEqual(self.unknown_fields(overlay), "")
        print(f"{len(objects)} objects as files, {len(overlay or [])} rendered")

    def test_a_mistake_is_found(self):
        # A check that cannot fail is worth nothing.
        wrong = copy.deepcopy(from_files())
        only(wrong, "Deployment")["spec"]["replicas"] = "two"
        del only(wrong, "NetworkPolicy")["spec"]["podSelector"]
        del only(wrong, "ServiceMonitor")["spec"]["endpoints"]
        found = self.validate("kubernetes", wrong)
        for word in ("replicas must be integer", "podSelector", "endpoints"):
            self.assertIn(word, found)
        wrong = copy.deepcopy(from_files())
        only(wrong, "Deployment")["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
        self.assertIn("readynessProbe", self.unknown_fields(wrong))


if __name__ == "__main__":
    unittest.main(verbosity=2)
