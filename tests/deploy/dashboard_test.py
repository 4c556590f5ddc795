#!/usr/bin/python3
"""The dashboards and their provisioning are well made: the rules of Grafana's
dashboard linter (each test names its rule), the published schema, and the checked-in
files are what the generator writes."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

import dashboard
import harness
import node_packages

GENERATOR = harness.ROOT / "deploy/grafana/generator"
DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
UIDS = {"server.json": "vfsd-server", "load.json": "vfsd-load", "fast-paths.json": "vfsd-fast-paths"}
UNITS = {"none", "ops", "reqps", "s", "bytes", "percentunit"}

# Where @grafana/schema has the types of each kind of panel.
PANEL_TYPES = {
    "timeseries": "timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen",
    "stat": "stat/panelcfg/x/StatPanelCfg_types.gen",
    "heatmap": "heatmap/panelcfg/x/HeatmapPanelCfg_types.gen",
    "table": "table/panelcfg/x/TablePanelCfg_types.gen",
    "state-timeline": "statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen",
}
WITH_FIELD_CONFIG = {"timeseries", "heatmap", "state-timeline"}
# The schema leaves what belongs to the data source of an annotation open.
OF_THE_DATA_SOURCE = ("expr", "step", "titleFormat")


class Dashboards(unittest.TestCase):
    def setUp(self):
        self.dashboards = dashboard.all_dashboards()

    def each_panel(self):
        for name, one in self.dashboards.items():
            for panel in dashboard.panels(one):
                yield f"{name}: {panel['title']}", panel

    def each_target(self):
        for where, panel in self.each_panel():
            for target in panel["targets"]:
                yield where, target

    def test_uids_are_stable_and_unique(self):
        # A uid is part of every link to a dashboard.
        self.assertEqual({name: one["uid"] for name, one in self.dashboards.items()}, UIDS)
        self.assertEqual(len(set(UIDS.values())), len(UIDS))
        for uid in UIDS.values():
            self.assertRegex(uid, r"^[a-z0-9-]{1,40}$")

    def test_nothing_depends_on_an_import(self):
        # Grafana does not resolve the __inputs of an exported dashboard when it
        # provisions one, and shows "No data".
        for name in self.dashboards:
            text = (dashboard.FOLDER / name).read_text(encoding="utf-8")
            for word in ("__inputs", "__requires", "${DS_"):
                self.assertNotIn(word, text)
            self.assertIsNone(self.dashboards[name]["id"])

    def test_uneditable_dashboard(self):
        for name, one in self.dashboards.items():
            self.assertFalse(one["editable"], name)

    def test_template_datasource_job_instance_rules(self):
        for name, one in self.dashboards.items():
            variables = {v["name"]: v for v in one["templating"]["list"]}
            self.assertEqual((variables["datasource"]["type"], variables["datasource"]["query"]), ("datasource", "prometheus"))
            for variable in ("job", "instance"):
                self.assertEqual(variables[variable]["datasource"], DATA_SOURCE, name)
                self.assertEqual(variables[variable]["type"], "query", name)
                self.assertTrue(variables[variable]["multi"], name)
                self.assertEqual(variables[variable]["allValue"], ".+", name)
                # At first all is chosen, so that there is something to see.
                self.assertEqual(variables[variable]["current"]["value"], "$__all", name)

    def test_template_on_time_change_reload_rule(self):
        for name, one in self.dashboards.items():
            for variable in one["templating"]["list"]:
                if variable["type"] == "query":
                    self.assertEqual(variable["refresh"], 2, (name, variable["name"]))

    def test_template_label_promql_rule(self):
        series = []
        for one in self.dashboards.values():
            for variable in one["templating"]["list"]:
                if variable["type"] == "query":
                    match = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
                    self.assertIsNotNone(match, variable)
                    series.append(dashboard.substituted(match.group(1)))
        self.assert_parse(series)

    def test_panel_datasource_rule(self):
        for where, panel in self.each_panel():
            self.assertEqual(panel["datasource"], DATA_SOURCE, where)
            for target in panel["targets"]:
                self.assertEqual(target["datasource"], DATA_SOURCE, where)

    def test_panel_title_description_rule(self):
        for where, panel in self.each_panel():
            self.assertTrue(panel["title"])
            self.assertGreaterEqual(len(panel["description"]), 12, where)
            self.assertTrue(panel["description"].endswith("."), where)
        for name, one in self.dashboards.items():
            titles = [panel["title"] for panel in dashboard.panels(one)]
            self.assertEqual(len(set(titles)), len(titles), name)
            self.assertTrue(one["description"], name)

    def test_panel_units_rule(self):
        for where, panel in self.each_panel():
            self.assertIn(panel["fieldConfig"]["defaults"]["unit"], UNITS, where)

    def test_panel_no_targets_rule(self):
        for where, panel in self.each_panel():
            self.assertTrue(panel["targets"], where)
            ids = [target["refId"] for target in panel["targets"]]
            self.assertEqual(len(set(ids)), len(ids), where)

    def test_target_promql_rule(self):
        self.assert_parse([e.text for e in dashboard.panel_expressions(self.dashboards.values())])
        self.assert_parse([e.text for e in dashboard.annotation_expressions(self.dashboards.values())])

    def assert_parse(self, expressions):
        rules = [{"record": f"x:y:{i}", "expr": text} for i, text in enumerate(expressions)]
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "rules.yml"
            path.write_text(yaml.safe_dump({"groups": [{"name": "x", "rules": rules}]}), encoding="utf-8")
            ran = subprocess.run(
                ["promtool", "check", "rules", str(path)], capture_output=True, text=True, check=False, timeout=60
            )
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_target_rate_interval_rule(self):
        for where, target in self.each_target():
            for function, window in re.findall(r"\b(rate|irate|increase)\([^\[]*\[([^\]]*)\]", target["expr"]):
                wanted = "$__range" if function == "increase" else "$__rate_interval"
                self.assertEqual(window, wanted, where)

    def test_target_job_and_instance_rules(self):
        for where, target in self.each_target():
            selectors = re.findall(r"\{([^}]*)\}", target["expr"])
            self.assertTrue(selectors, where)
            for selector in selectors:
                self.assertTrue(selector.startswith('job=~"$job",instance=~"$instance"'), (where, selector))
            # No metric without a selector.
            for metric in dashboard.metrics_in(target["expr"]):
                self.assertNotRegex(target["expr"], rf"(?<![\w:]){metric}(?![\w:{{])", where)

    def test_target_counter_agg_rule(self):
        for where, target in self.each_target():
            for counter in re.finditer(r"\w+_(total|bucket|count|sum)\{", target["expr"]):
                before = target["expr"][: counter.start()]
                self.assertRegex(before, r"\b(rate|irate|increase)\($", where)

    def test_panels_lie_on_the_grid_and_not_on_each_other(self):
        for name, one in self.dashboards.items():
            taken = {}
            for panel in one["panels"]:
                grid = panel["gridPos"]
                self.assertLessEqual(grid["x"] + grid["w"], 24, panel["title"])
                for x in range(grid["x"], grid["x"] + grid["w"]):
                    for y in range(grid["y"], grid["y"] + grid["h"]):
                        self.assertNotIn((x, y), taken, (name, panel["title"]))
                        taken[(x, y)] = panel["title"]
            ids = [panel["id"] for panel in one["panels"]]
            self.assertEqual(len(set(ids)), len(ids))

    def test_the_phase_of_the_load_is_marked(self):
        for name, one in self.dashboards.items():
            marked = {a["name"] for a in one["annotations"]["list"] if a["enable"]}
            self.assertEqual(marked, {"warmup", "measure"}, name)

    def test_provisioning_fits_the_compose_file(self):
        deploy = harness.ROOT / "deploy"
        compose = yaml.safe_load((deploy / "compose.yaml").read_text(encoding="utf-8"))
        sources = yaml.safe_load((deploy / "grafana/provisioning/datasources/prometheus.yaml").read_text(encoding="utf-8"))
        providers = yaml.safe_load((deploy / "grafana/provisioning/dashboards/vfsd.yaml").read_text(encoding="utf-8"))
        scrape = yaml.safe_load((deploy / "prometheus/prometheus.yml").read_text(encoding="utf-8"))
        (source,) = sources["datasources"]
        self.assertTrue(source["uid"])
        self.assertEqual(source["url"], "http://prometheus:9090")
        self.assertEqual(source["jsonData"]["timeInterval"], scrape["global"]["scrape_interval"])
        grafana = compose["services"]["grafana"]
        mounts = {v.split(":")[1]: v.split(":")[0] for v in grafana["volumes"]}
        folder = providers["providers"][0]["options"]["path"]
        self.assertEqual(mounts[folder], "./grafana/dashboards")
        self.assertIn("/etc/grafana/provisioning", mounts)
        home = pathlib.PurePath(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
        self.assertEqual(str(home.parent), folder)
        self.assertIn(home.name, UIDS)
        # Seen without a login step.
        self.assertEqual(grafana["environment"]["GF_AUTH_ANONYMOUS_ENABLED"], "true")
        self.assertEqual(grafana["environment"]["GF_AUTH_DISABLE_LOGIN_FORM"], "true")

    def test_the_schema_is_that_of_the_grafana_in_the_compose_file(self):
        compose = yaml.safe_load((harness.ROOT / "deploy/compose.yaml").read_text(encoding="utf-8"))
        version = compose["services"]["grafana"]["image"].split(":")[1]
        package = json.loads((GENERATOR / "package.json").read_text(encoding="utf-8"))
        self.assertEqual(package["devDependencies"]["@grafana/schema"], version)
        self.assertTrue(package["dependencies"]["@grafana/grafana-foundation-sdk"].startswith(version + "-"))


class Generated(unittest.TestCase):
    """What needs the generator's packages from npm."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.packages = node_packages.installed(GENERATOR)
        except node_packages.Unavailable as why:
            print(f"skipped: {why}")
            raise unittest.SkipTest(str(why)) from None

    def test_the_files_are_what_the_generator_writes(self):
        with tempfile.TemporaryDirectory() as scratch:
            ran = node_packages.node(self.packages, str(GENERATOR / "generate.js"), scratch)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            written = {path.name: path.read_bytes() for path in pathlib.Path(scratch).iterdir()}
        there = {path.name: path.read_bytes() for path in dashboard.FOLDER.iterdir()}
        self.assertEqual(set(written), set(there))
        for name, content in written.items():
            self.assertTrue(content == there[name], f"{name} differs: cd deploy/grafana/generator && npm ci && npm run generate")

    def test_the_generator_says_what_it_wants(self):
        ran = node_packages.node(self.packages, str(GENERATOR / "generate.js"))
        self.assertEqual(ran.returncode, 2)
        self.assertIn("Usage:", ran.stderr)

    def test_they_fit_grafana_s_published_schema(self):
        source = self.typescript(dashboard.all_dashboards())
        self.assertEqual(self.check(source), "")
        # A check that cannot fail is worth nothing.
        for good, bad in (
            ('"graphMode": "area"', '"graphMode": "aria"'),
            ('"unit": "ops"', '"unit": 5'),
            ('"graphTooltip": 1', '"graphToolTip": 1'),
            ('"showPoints": "never"', '"showPoints": "seldom"'),
        ):
            self.assertIn(good, source)
            self.assertIn("error TS", self.check(source.replace(good, bad)), bad)

    def typescript(self, dashboards):
        """The dashboards as constants of the schema's types. JSON has the values of
        the schema's enumerations, not their names: Plain says so."""
        raw = "./node_modules/@grafana/schema/dist/esm/raw/composable"
        lines = ["import type { Dashboard } from '@grafana/schema';"]
        lines += [f"import type * as {self.identifier(k)} from '{raw}/{v}';" for k, v in PANEL_TYPES.items()]
        lines.append(
            "type Plain<T> = T extends string ? `${T}` : T extends (infer U)[] ? Plain<U>[]"
            " : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;"
        )
        count = 0

        def constant(kind, value):
            nonlocal count
            count += 1
            lines.append(f"export const c{count}: Plain<{kind}> = {json.dumps(value)};")

        for one in dashboards.values():
            for annotation in one["annotations"]["list"]:
                for key in OF_THE_DATA_SOURCE:
                    annotation.pop(key)
            constant("Dashboard", one)
            for panel in dashboard.panels(one):
                kind = self.identifier(panel["type"])
                constant(f"Partial<{kind}.Options>", panel.get("options", {}))
                if panel["type"] in WITH_FIELD_CONFIG:
                    constant(f"Partial<{kind}.FieldConfig>", panel["fieldConfig"]["defaults"].get("custom", {}))
        return "\n".join(lines) + "\n"

    @staticmethod
    def identifier(kind):
        return kind.replace("-", "_")

    def check(self, source):
        """What TypeScript's compiler finds."""
        with tempfile.TemporaryDirectory(dir=self.packages) as scratch:
            folder = pathlib.Path(scratch)
            (folder / "node_modules").symlink_to(self.packages / "node_modules")
            (folder / "dashboards.ts").write_text(source, encoding="utf-8")
            compiler = self.packages / "node_modules/typescript/bin/tsc"
            ran = node_packages.node(
                self.packages, str(compiler), "--noEmit", "--strict", "--skipLibCheck", "--preserveSymlinks",
                "--module", "nodenext", "--moduleResolution", "nodenext", "--target", "es2022", str(folder / "dashboards.ts"),
            )  # fmt: skip
        return ran.stdout + ran.stderr


if __name__ == "__main__":
    unittest.main(verbosity=2)
