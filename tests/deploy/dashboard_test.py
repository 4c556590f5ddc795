#!/usr/bin/python3
"""The dashboard and its provisioning are well made: what Grafana needs to show
it at once (the checks of Grafana's dashboard linter that matter here)."""

import re
import unittest

import yaml

import dashboard
import harness

UNITS = {"none", "ops", "reqps", "s", "bytes", "percentunit", "short"}


class Dashboard(unittest.TestCase):
    def setUp(self):
        self.dashboard = dashboard.load()
        self.panels = list(dashboard.panels(self.dashboard))

    def test_is_provisioned_not_exported(self):
        # Grafana does not resolve the __inputs of an exported dashboard when it
        # provisions one, and shows "No data".
        text = dashboard.PATH.read_text(encoding="utf-8")
        self.assertNotIn("__inputs", text)
        self.assertNotIn("${DS_", text)
        self.assertIsNone(self.dashboard["id"])
        self.assertRegex(self.dashboard["uid"], r"^[a-z0-9-]{1,40}$")
        self.assertFalse(self.dashboard["editable"])

    def test_data_source_is_a_variable(self):
        variables = {v["name"]: v for v in self.dashboard["templating"]["list"]}
        self.assertEqual(variables["datasource"]["type"], "datasource")
        self.assertEqual(variables["datasource"]["query"], "prometheus")
        for panel in self.panels:
            wanted = {"type": "prometheus", "uid": "${datasource}"}
            self.assertEqual(panel["datasource"], wanted, panel["title"])
            for target in panel["targets"]:
                self.assertEqual(target["datasource"], wanted, panel["title"])

    def test_panels_say_what_they_show_and_in_which_unit(self):
        titles = [panel["title"] for panel in self.panels]
        for panel in self.panels:
            self.assertTrue(panel["title"])
            self.assertGreater(len(panel["description"]), 20, panel["title"])
            self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS, panel["title"])
            self.assertTrue(panel["targets"], panel["title"])
            for target in panel["targets"]:
                self.assertTrue(target["legendFormat"], panel["title"])
        self.assertEqual(len(set(titles)), len(titles))

    def test_panels_lie_on_the_grid_and_not_on_each_other(self):
        taken = {}
        for panel in self.dashboard["panels"]:
            grid = panel["gridPos"]
            self.assertLessEqual(grid["x"] + grid["w"], 24, panel["title"])
            for x in range(grid["x"], grid["x"] + grid["w"]):
                for y in range(grid["y"], grid["y"] + grid["h"]):
                    self.assertNotIn((x, y), taken, panel["title"])
                    taken[(x, y)] = panel["title"]
        ids = [panel["id"] for panel in self.dashboard["panels"]]
        self.assertEqual(len(set(ids)), len(ids))

    def test_counters_are_rates_over_grafana_s_window(self):
        for panel in self.panels:
            for target in panel["targets"]:
                expression = target["expr"]
                for window in re.findall(r"\[([^\]]*)\]", expression):
                    self.assertEqual(window, "$__rate_interval", expression)
                for counter in re.finditer(r"\w+_total\{", expression):
                    before = expression[: counter.start()]
                    self.assertTrue(before.endswith("rate("), expression)
                self.assertIn("job=", expression)

    def test_provisioning_fits_the_compose_file(self):
        deploy = harness.ROOT / "deploy"
        compose = yaml.safe_load((deploy / "compose.yaml").read_text(encoding="utf-8"))
        sources = yaml.safe_load((deploy / "grafana/provisioning/datasources/prometheus.yaml").read_text(encoding="utf-8"))
        providers = yaml.safe_load((deploy / "grafana/provisioning/dashboards/vfsd.yaml").read_text(encoding="utf-8"))
        scrape = yaml.safe_load((deploy / "prometheus/prometheus.yml").read_text(encoding="utf-8"))
        (source,) = sources["datasources"]
        self.assertTrue(source["uid"])
        self.assertEqual(source["url"], "http://prometheus:9090")
        self.assertIn("prometheus", compose["services"])
        self.assertEqual(source["jsonData"]["timeInterval"], scrape["global"]["scrape_interval"])
        mounts = {v.split(":")[1] for v in compose["services"]["grafana"]["volumes"]}
        self.assertIn(providers["providers"][0]["options"]["path"], mounts)
        home = compose["services"]["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
        self.assertEqual(home, providers["providers"][0]["options"]["path"] + "/vfsd.json")
        self.assertIn("/etc/grafana/provisioning", mounts)

    def test_every_service_is_pinned_confined_and_waits(self):
        text = (harness.ROOT / "deploy/compose.yaml").read_text(encoding="utf-8")
        services = yaml.safe_load(text)["services"]
        self.assertEqual(list(services), ["server", "load", "prometheus", "grafana"])
        before = None
        for name, service in services.items():
            self.assertTrue(service["read_only"], name)
            self.assertEqual(service["cap_drop"], ["ALL"], name)
            self.assertEqual(service["security_opt"], ["no-new-privileges:true"], name)
            self.assertIn("healthcheck", service, name)
            if "build" not in service:
                self.assertRegex(service["image"], r":v?\d+\.\d+\.\d+$")
            if before:
                self.assertEqual(service["depends_on"], {before: {"condition": "service_healthy"}})
            for port in service.get("ports", []):
                self.assertTrue(port.startswith("127.0.0.1:"), port)
            before = name


if __name__ == "__main__":
    unittest.main(verbosity=2)
