#!/usr/bin/env python3
"""`weir lab report`, opened in headless Chromium: no error, no request to elsewhere, figures that show what
result.json and the runs say, in light, dark and print; figures as files; a page of several scenarios.

    tests/lab/report_test.py --weir FILE [--shots DIR]

--shots keeps pictures of the page. Exit code 77, skipped: there is no Chromium, or this weir was built without the
chart libraries."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import browser

SKIPPED = 77
RUN_S = 300
WEIR = SHOTS = None
ROOM = None  # a TemporaryDirectory
SVG = "{http://www.w3.org/2000/svg}"

# Splits, refusals by the partition maximum, the limit at routers, and an expectation that fails.
SCENARIO = """
name: small
about: A small scenario with <markup> & splits.
duration: 20s
warm: 2s
seeds: 3
cluster: {nodes: 4, routers: 2, gac: 1}
tables:
  - {name: items, rcu: 3000, wcu: 3000, partitions: 3}
workloads:
  - {name: base, table: items, keys: uniform, key_count: 20000, mix: "read:0:update:1", rate: 300}
  - {name: extra, table: items, start: 4s, keys: uniform, key_count: 20000, mix: "read:0:update:1", rate: 3500}
policies:
  - {name: weir, about: the defaults}
  - {name: no-splits, about: no splits, ablation: true, set: {cluster.settings.control_split: "0"}}
  - {name: static-routers, set: {cluster.settings.gac: static}}
expect:
  - {measure: splits, at_least: 1, why: "the load is beyond the partitions"}
  - {policy: no-splits, measure: splits, at_most: 0}
  - {measure: goodput_ratio, at_least: 5, why: "cannot be </script> so that one fails"}
sweep:
  - {path: workloads.extra.rate, values: ["1000", "3500"]}
"""


def weir(*arguments, code=0):
    done = subprocess.run([WEIR, "lab", *map(str, arguments)], capture_output=True, text=True, timeout=RUN_S, check=False)
    if done.returncode != code:
        raise AssertionError(f"weir lab {arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def room(name):
    return pathlib.Path(ROOM.name) / name


def number(value):
    return float(value) if value is not None else float("nan")


class Report(unittest.TestCase):
    """One run of a scenario, and its page in a browser."""

    @classmethod
    def setUpClass(cls):
        scenario = room("small.yaml")
        scenario.write_text(SCENARIO)
        weir("run", scenario, "--out", room("small"), "--quiet", code=1)  # an expectation fails
        weir("sweep", scenario, "--out", room("suite/sweep"), "--seeds", 2, "--quiet", code=1)
        weir("run", scenario, "--out", room("suite/small"), "--seeds", 1, "--quiet", code=1)
        cls.told = weir("report", room("small"))
        cls.result = json.loads(room("small/result.json").read_text())
        cls.run_of = {p["name"]: json.loads(room(f"small/runs/{i + 1}-{p['name']}/0/1.json").read_text())
                      for i, p in enumerate(cls.result["policies"])}
        cls.page = browser.Page()
        cls.page.media()
        cls.page.open(room("small/report.html"))

    @classmethod
    def tearDownClass(cls):
        cls.page.__exit__()

    def shot(self, page, name):
        if SHOTS:
            page.screenshot(os.path.join(SHOTS, f"{name}.png"))

    def value(self, policy, measure, tenant=""):
        found = [v for v in self.result["values"]
                 if (v["policy"], v["measure"], v["tenant"]) == (policy, measure, tenant)]
        return found[0] if found else None

    def test_01_the_page_opens_without_an_error_and_asks_for_nothing_else(self):
        self.assertIn("report.html", self.told)
        self.assertEqual(self.page.console, [])
        self.assertEqual([url for url in self.page.requests if not url.endswith("/report.html")], [])
        self.assertEqual(self.page.run("document.title"), "weir lab: small")
        self.assertNotRegex(self.page.run("document.body.innerText"), r"undefined|NaN|\[object")
        self.shot(self.page, "light")

    def test_02_what_fails_comes_first_and_says_so_in_words(self):
        rows = self.page.run("[...document.querySelectorAll('.expectations tbody tr')].map((r) => r.innerText)")
        self.assertEqual(["fails" in r for r in rows], [True, False, False])
        self.assertIn("cannot be </script> so that one fails", rows[0])
        self.assertIn("at least 5", rows[0])
        self.assertIn("1 of 3 expectations fails", self.page.run("document.querySelector('main').innerText"))

    def test_03_each_measure_of_each_policy_is_where_its_value_is(self):
        seen = 0
        for measure in self.result["measures"]:
            name = measure["name"]
            values = [(p["name"], self.value(p["name"], name)) for p in self.result["policies"]]
            shown = [(p, v) for p, v in values if v and isinstance(v["mean"], (int, float))]
            there = self.page.run(f"charts.has('small-measure-{name}')")
            self.assertEqual(there, any(v for _, v in values), name)
            if not there:
                continue
            places = self.page.run(f"""(() => {{
                const svg = charts.get('small-measure-{name}'), x = svg.scale('x'), y = svg.scale('y');
                return [...svg.querySelectorAll('.mean path')].map((dot) => {{
                    const at = /translate\\(([-0-9.e]+),([-0-9.e]+)\\)/.exec(dot.getAttribute('transform'));
                    const row = y.domain.findIndex((p) => Math.abs(y.apply(p) - at[2]) < 1);
                    return [y.domain[row], x.invert(Number(at[1])), (x.domain[1] - x.domain[0]) / 1000];
                }});
            }})()""")
            self.assertEqual([p for p, _, _ in places], [p for p, _ in shown], name)
            for (_, place, step), (_, v) in zip(places, shown):
                self.assertAlmostEqual(place, v["mean"], delta=step, msg=name)
                seen += 1
        self.assertGreater(seen, 60)

    def test_04_what_is_written_beside_a_symbol_is_its_mean(self):
        texts = self.page.run("[...charts.get('small-measure-admitted_rate').querySelectorAll('.value text')]"
                              ".map((t) => t.textContent)")
        for text, policy in zip(texts, self.result["policies"]):
            mean = self.value(policy["name"], "admitted_rate")["mean"]
            self.assertAlmostEqual(float(re.sub(r"[,≠ ]", "", text)), mean, delta=mean / 1000)

    def test_05_the_areas_of_the_load_are_what_the_run_counted(self):
        for policy, run in self.run_of.items():
            series = run["series"]
            offered = series["tenants"][""]["offered"]
            tops = self.page.run(f"""(() => {{
                const svg = charts.get('small-load-{policy}'), y = svg.scale('y');
                return [...svg.querySelectorAll('g[aria-label=area] path')].map((path) => {{
                    const ys = [...path.getAttribute('d').matchAll(/[ML,][-0-9.]+,([-0-9.]+)/g)].map((m) => Number(m[1]));
                    return y.invert(Math.min(...ys));
                }});
            }})()""")
            self.assertGreaterEqual(len(tops), 2, policy)
            most = max(offered) / 1000 / (series["slot_ns"] / 1e9)
            self.assertAlmostEqual(max(tops), most, delta=most / 50, msg=policy)
            self.assertEqual(max(tops), tops[-1], policy)  # the last one is on top of the others
            admitted = max(series["tenants"][""]["admitted"]) / 1000 / (series["slot_ns"] / 1e9)
            self.assertAlmostEqual(tops[0], admitted, delta=admitted / 50, msg=policy)

    def test_06_a_split_divides_the_key_space_where_the_controller_split_it(self):
        heat = self.run_of["weir"]["samples"]["heat"]
        splits = [p for p in heat if p["first"] > 0]
        self.assertGreater(len(splits), 0)
        self.assertEqual(self.run_of["weir"]["events"].count(" s split "), len(splits))
        places = self.page.run("""(() => {
            const svg = charts.get('small-heat-items-weir'), x = svg.scale('x'), y = svg.scale('y');
            return [...svg.querySelectorAll('.splits path')].map((dot) => {
                const at = /translate\\(([-0-9.e]+),([-0-9.e]+)\\)/.exec(dot.getAttribute('transform'));
                return [x.invert(Number(at[1])), y.invert(Number(at[2]))];
            });
        })()""")
        wanted = sorted((p["first"], p["ranges"][0][1] / 2**32) for p in splits)
        for (at, hash_), (first, split) in zip(sorted(places), wanted):
            self.assertAlmostEqual(at, first, delta=0.1)
            self.assertAlmostEqual(hash_, split, delta=0.01)
        self.assertEqual(len(places), len(wanted))
        cells = self.page.run("[...charts.get('small-heat-items-weir').querySelectorAll('.cells path')]"
                              ".map((p) => (p.getAttribute('d').match(/M/g) ?? []).length).reduce((a, b) => a + b)")
        self.assertEqual(cells, sum(len(p["offered"]) for p in heat))

    def test_07_the_latencies_are_those_of_the_run(self):
        last = self.page.run("""(() => {
            const svg = charts.get('small-latency-cdf'), x = svg.scale('x');
            return [...svg.querySelectorAll('g[aria-label=line] path')].map((p) =>
                x.invert(Number(/([-0-9.]+),[-0-9.]+$/.exec(p.getAttribute('d'))[1])));
        })()""")
        wanted = [run["series"]["tenants"][""]["latency"][-1][1] / 1e6 for run in self.run_of.values()]
        for shown, ms in zip(last, wanted):
            self.assertAlmostEqual(shown, ms, delta=ms / 50)
        self.assertEqual(len(last), 3)

    def test_08_choices_change_figures_and_not_the_layout(self):
        before = self.page.run("document.documentElement.scrollHeight")
        self.page.run("document.querySelectorAll('select')[0].selectedIndex = 1")
        self.page.run("document.querySelectorAll('select')[0].onchange()")
        self.assertTrue(self.page.run("document.getElementById('small-load-weir-base') !== null"))
        heat = "[...document.querySelectorAll('input[type=radio][value=\"no-splits\"]')].at(-1)"
        self.page.run(f"{heat}.click()")
        self.assertTrue(self.page.run("document.getElementById('small-heat-items-no-splits') !== null"))
        self.assertTrue(self.page.run("document.getElementById('small-heat-items-weir') === null"))
        self.assertLess(abs(self.page.run("document.documentElement.scrollHeight") - before), 60)
        self.assertEqual(self.page.console, [])

    def test_09_the_keyboard_reaches_all_choices_and_each_figure_and_shows_where_it_is(self):
        kinds = "a[href], select, summary, input"
        unreachable = self.page.run(f"[...document.querySelectorAll('{kinds}')].filter((n) => n.tabIndex < 0).length")
        self.assertEqual(unreachable, 0)
        outline = self.page.run("""(() => {
            const link = document.querySelector('figcaption a');
            link.focus({ focusVisible: true });
            return getComputedStyle(link).outlineStyle;
        })()""")
        self.assertEqual(outline, "solid")
        unnamed = self.page.run("[...document.querySelectorAll('figure svg')].filter((s) => !s.getAttribute('aria-label')).length")
        self.assertEqual(unnamed, 0)

    def test_10_a_figure_is_saved_as_a_file_that_needs_no_style_sheet(self):
        text = self.page.run("svgText({ title: 'T', svg: charts.get('small-load-weir') })")
        self.assertNotIn("var(", text)
        root = ElementTree.fromstring(text)
        self.assertEqual(root.tag, f"{SVG}svg")
        self.assertIn("#a9c6de", text)  # admitted, in the colour of the light page

    def test_11_dark_pages_are_dark_and_every_text_can_be_read(self):
        self.page.media(dark=True)
        ground, texts = self.page.run("""[getComputedStyle(document.documentElement).backgroundColor,
            [...document.querySelectorAll('h1, p, td, th, figcaption span, svg text')].map((n) => getComputedStyle(n)[
                n.namespaceURI.endsWith('svg') ? 'fill' : 'color'])]""")
        self.shot(self.page, "dark")
        self.page.media()
        def light(color):
            parts = [int(c) / 255 for c in re.findall(r"\d+", color)[:3]]
            return sum(w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
                       for w, c in zip((0.2126, 0.7152, 0.0722), parts))
        self.assertLess(light(ground), 0.05)
        for color in set(texts):
            self.assertGreater((light(color) + 0.05) / (light(ground) + 0.05), 4.5, color)

    def test_12_a_printed_page_has_all_figures_on_white_and_no_buttons(self):
        self.page.media("print", dark=True)
        ground, links = self.page.run("""[getComputedStyle(document.documentElement).backgroundColor,
            [...document.querySelectorAll('figcaption a')].filter((n) => getComputedStyle(n).display !== 'none').length]""")
        path = room("page.pdf")
        self.page.pdf(path)
        self.page.media()
        self.assertEqual(ground, "rgb(255, 255, 255)")
        self.assertEqual(links, 0)
        self.assertGreater(path.stat().st_size, 50000)
        if SHOTS:
            (pathlib.Path(SHOTS) / "print.pdf").write_bytes(path.read_bytes())

    def test_13_figures_are_written_as_files(self):
        told = weir("report", room("small"), "--svg", room("figures"))
        files = sorted(room("figures").iterdir())
        self.assertIn(f"{len(files)} figures", told)
        names = {f.name for f in files}
        for name in ("small-load-weir", "small-heat-items-no-splits", "small-admitted", "small-measure-goodput_ratio",
                     "small-latency-cdf", "small-division-items", "small-burst-items-write-weir", "small-nodes-write-weir",
                     "small-limit-items-write-weir"):
            self.assertIn(f"{name}.svg", names)
        for file in files:
            root = ElementTree.parse(file).getroot()
            self.assertEqual(root.tag, f"{SVG}svg")
            self.assertNotIn("var(", file.read_text())
            self.assertGreater(len(list(root.iter())), 10, file.name)

    def test_14_several_scenarios_are_one_page_with_an_overview(self):
        weir("report", room("suite"), "--out", room("suite.html"))
        with browser.Page() as page:
            page.media()
            page.open(room("suite.html"))
            self.assertEqual(page.run("document.querySelector('h1').innerText"), "2 scenarios of admission control")
            self.assertEqual(page.run("document.querySelectorAll('.overview tbody tr').length"), 2)
            self.assertEqual(page.run("document.querySelectorAll('figure').length"), 0)  # closed
            self.shot(page, "overview")
            page.run("for (const d of document.querySelectorAll('.scenario')) d.open = true")
            page.run("new Promise((done) => setTimeout(done))")
            self.assertEqual(page.run("document.querySelectorAll('.scenario figure').length > 60"), True)
            dots = page.run("charts.get('small-sweep-throttle_fraction').querySelectorAll('g[aria-label=dot] path').length")
            self.assertEqual(dots, 6)  # three policies at two points
            self.assertEqual(page.console, [])
            self.assertEqual(len([url for url in page.requests if url.startswith("http")]), 0)
            self.shot(page, "suite")

    def test_15_what_cannot_be_reported_is_told(self):
        self.assertIn("is not a directory of", weir("report", room("figures"), code=1))
        self.assertIn("expects one directory", weir("report", code=2))
        environment = {**os.environ, "PATH": "/nowhere", "CHROMIUM": ""}
        done = subprocess.run([WEIR, "lab", "report", room("small"), "--svg", room("none")], capture_output=True, text=True,
                              env=environment, timeout=RUN_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("needs Chromium or Chrome", done.stderr)
        self.assertFalse(room("none").exists())

    def test_16_results_of_the_version_before_have_the_same_figures(self):
        shutil.copytree(room("small"), room("former"))
        for file in room("former").glob("runs/*/*/*.json"):
            file.write_text(file.read_text().replace('"samples":', '"levels":'))
        weir("report", room("former"))
        ids = "[...document.querySelectorAll('figure, svg')].map((f) => f.id)"
        found = []
        for name in ("small", "former"):
            with browser.Page() as page:
                page.open(room(f"{name}/report.html"))
                self.assertEqual(page.console, [])
                found.append(page.run(ids))
        self.assertEqual(*found)

    def test_17_what_cannot_be_told_and_what_is_not_steady_is_named(self):
        shutil.copytree(room("small"), room("unsure"))
        for file in room("unsure").glob("runs/1-weir/*/*.json"):
            run = json.loads(file.read_text())
            run["expectations"][0] = run["seed"]  # 1, 2, 3: at least 1
            run["steadiness"] = {"change": 0.1, "p": 0, "steady": run["seed"] != 2}
            file.write_text(json.dumps(run))
        weir("report", room("unsure"))
        with browser.Page() as page:
            page.open(room("unsure/report.html"))
            self.assertEqual(page.console, [])
            rows = page.run("[...document.querySelectorAll('.expectations tbody tr')].map((r) => r.innerText)")
            self.assertEqual(["unsure" in r for r in rows], [False, True, False])
            self.assertIn("Cannot be told with 3 runs", rows[1])
            self.assertIn("0 to 4.484", rows[1])
            self.assertIn("in all 3 runs", rows[2])
            tags = page.run("document.querySelector('.policies').innerText")
            self.assertIn("not steady after the warm-up in 1 of 3 runs", tags)
            self.shot(page, "unsure")


def main():
    global WEIR, SHOTS, ROOM
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--shots")
    a, rest = parser.parse_known_args()
    WEIR, SHOTS = os.path.abspath(a.weir), a.shots
    if browser.find() is None:
        print("skipped: there is no Chromium")
        return SKIPPED
    done = subprocess.run([WEIR, "lab", "report", "/nowhere"], capture_output=True, text=True, check=False)
    if "without the chart libraries" in done.stderr:
        print("skipped: this weir was built without the chart libraries")
        return SKIPPED
    if SHOTS:
        os.makedirs(SHOTS, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="weir-report.") as name:
        ROOM = tempfile.TemporaryDirectory(prefix="results.", dir=name)
        ended = unittest.main(argv=[sys.argv[0], *rest], exit=False)
    return 0 if ended.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
