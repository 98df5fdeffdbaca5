// page.js - puts the page together: texts, tables, figures, and the choices between them.
"use strict";

const SHOWN = { tables: 4, heat: 3, partitions: 4, events: 500 };

function h(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name === "onclick" || name === "onchange") node[name] = value;
    else if (value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined));
  return node;
}

// ---- figures ----

function save(figure) {
  const url = URL.createObjectURL(new Blob([svgText(figure)], { type: "image/svg+xml" }));
  const link = h("a", { href: url, download: `${figure.id}.svg` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function figureNode(figure) {
  const button = h("a", { href: `#${figure.id}`, download: `${figure.id}.svg`, "aria-label": `Save ${figure.title} as SVG`,
    onclick: (event) => { event.preventDefault(); save(figure); } }, "save as SVG");
  const part = { [HALF]: "half", [THIRD]: "third" }[figure.width];
  return h("figure", { id: figure.id, class: part, style: `width:${figure.width}px` },
    h("figcaption", {}, h("span", {}, figure.title), button), figure.svg, figure.note ? h("p", { class: "note" }, figure.note) : null);
}

function figures(list, kind) {
  return h("div", { class: kind ? `grid ${kind}` : "grid" }, list.filter(Boolean).map(figureNode));
}

// ---- choices ----

let groups = 0;

// Radio buttons above what they choose. What is behind has the same size for each choice.
function choice(label, names, show, titleOf = (n) => n) {
  const body = h("div");
  const choose = (name) => body.replaceChildren(...[show(name)].flat());
  choose(names[0]);
  if (names.length < 2) return [body];
  const group = `choice-${++groups}`;
  const inputs = names.map((name, i) => h("label", {},
    h("input", { type: "radio", name: group, value: name, checked: i === 0 ? "" : undefined, onchange: () => choose(name) }), titleOf(name)));
  return [h("div", { class: "controls" }, h("fieldset", {}, h("legend", {}, label), inputs)), body];
}

function select(label, names, show, titleOf = (n) => n) {
  const body = h("div");
  const choose = (name) => body.replaceChildren(...[show(name)].flat());
  choose(names[0]);
  const input = h("select", { onchange: () => choose(names[input.selectedIndex]) }, names.map((n) => h("option", {}, titleOf(n))));
  return names.length < 2 ? [body] : [h("div", { class: "controls" }, h("label", {}, `${label} `, input)), body];
}

const tenantTitle = (tenant) => tenant || "all requests";

// ---- expectations ----

function bounds(e) {
  const low = number(e.at_least), high = number(e.at_most);
  if (Number.isNaN(low)) return `at most ${formatNumber(high)}`;
  if (Number.isNaN(high)) return `at least ${formatNumber(low)}`;
  return `${formatNumber(low)} to ${formatNumber(high)}`;
}

const VERDICTS = { fails: "✗ fails", unsure: "? unsure", holds: "✓ holds" };

function interval(v) {
  if (v.runs === 1) return "one run: no interval";
  return v.equal ? `in all ${v.runs} runs` : `${formatNumber(number(v.low))} to ${formatNumber(number(v.high))}`;
}

const unsureText = (e) => `Cannot be told with ${plural(e.runs, "run")}: mean within, interval beyond; run more seeds.`;

function expectationRow(e) {
  const verdict = verdictOf(e);
  return h("tr", {},
    h("td", { class: `verdict ${verdict}` }, VERDICTS[verdict]),
    h("td", {}, e.subject, e.why ? h("div", { class: "why" }, e.why) : null, verdict === "unsure" ? h("div", { class: "why" }, unsureText(e)) : null),
    h("td", { class: "number" }, formatNumber(number(e.mean)), e.runs > 0 ? h("div", { class: "why" }, interval(e)) : null),
    h("td", { class: "number" }, bounds(e)));
}

function expectations(s) {
  const order = Object.keys(VERDICTS), rank = (e) => order.indexOf(verdictOf(e));
  const all = [...s.result.expectations].sort((a, b) => rank(a) - rank(b));
  if (all.length === 0) return h("p", { class: "note" }, "The scenario expects nothing.");
  return h("table", { class: "expectations" },
    h("thead", {}, h("tr", {}, h("th", {}, "verdict"), h("th", {}, "policy: measure"), h("th", { class: "number" }, "mean, 95 % interval"), h("th", { class: "number" }, "must be"))),
    h("tbody", {}, all.map(expectationRow)));
}

// ---- policies ----

function policyKey(style) {
  return svgNode("svg", { width: 34, height: 14, "aria-hidden": "true" },
    svgNode("line", { x1: 0, x2: 34, y1: 7, y2: 7, stroke: style.color, "stroke-width": 2, "stroke-dasharray": style.dash }),
    symbolNode(style.symbol, 17, 7, style.color));
}

function policyTags(s, p) {
  const named = (list) => list?.find((e) => e.policy === p.name);
  const unsteady = named(s.result.unsteady);
  return [
    p.ablation ? "one mechanism off" : "",
    named(s.result.exceeding) ? "exceeds a limit or the optimum" : "",
    named(s.result.equal) ? "changes nothing" : "",
    named(s.result.uncalled) ? "was never called" : "",
    unsteady ? `not steady after the warm-up in ${unsteady.runs} of ${plural(unsteady.checked, "run")}` : "",
  ].filter(Boolean);
}

function policyTable(s) {
  return h("table", { class: "policies" }, h("tbody", {}, s.policies.map((p) => h("tr", {},
    h("td", {}, policyKey(s.style.get(p.name)), p.name, policyTags(s, p).map((tag) => h("span", { class: "tag" }, tag))),
    h("td", {}, p.about || "")))));
}

const isCount = (m) => m.better === "neither";

function comparison(s, point, tenant) {
  const draw = (list) => list.map((m) => measureFigure(s, point, tenant, m)).filter(Boolean);
  const judged = draw(s.result.measures.filter((m) => !isCount(m)));
  const counts = draw(s.result.measures.filter(isCount));
  return [figures(judged, "thirds"), counts.length > 0 ? h("h4", {}, "Counts") : "", figures(counts, "thirds")];
}

function comparisonSection(s) {
  const inner = (point) => select("Requests of", s.tenantsInValues, (tenant) => comparison(s, point, tenant), tenantTitle);
  return [
    h("h3", {}, "Every measure"),
    h("p", { class: "note" }, "Each symbol is a mean over seeds, with its 95 % interval (Student's t), cut at the bounds of the measure. A dashed line is the " +
      `target. ≠: the paired difference to ${s.policies[0].name} is significant at 0.05 after Holm's correction over all measures. A measure without a value in this scenario is not shown.`),
    ...select("Point of the sweep", s.points, inner, (p) => p || "as written"),
  ];
}

function sweepSection(s) {
  if (s.points.length < 2) return [];
  const measures = s.result.measures.filter((m) => sweepFigure(s, "", m) !== null);
  measures.sort((a, b) => (b.name === "throttle_fraction") - (a.name === "throttle_fraction"));
  return [h("h3", {}, "Across the sweep"), ...select("Measure", measures, (m) => figures([sweepFigure(s, "", m)]), (m) => m.name)];
}

// ---- series ----

function loadFigures(s, point, tenant) {
  return [admittedFigure(s, point, tenant), ...runsAt(s, point).map((run) => loadFigure(s, run, tenant))];
}

// More was wanted in some slot than the table has a second.
function isExceeded(table, run) {
  return table.offered.some((v, i) => v / (run.samples.slot_ns / 1e9) > 1.1 * table.rate[i]);
}

function classicFigures(s, point) {
  const runs = sampledAt(s, point);
  if (runs.length === 0) return { burst: [], division: [] };
  const tables = busyTables(runs[0]).filter((t) => t.rate[0] > 0);
  const names = [...new Set(tables.map((t) => t.table))].slice(0, SHOWN.tables);
  const division = names.map((name) => divisionFigure(s, runs[0], name)).filter(Boolean);
  const burst = [];
  for (const t of tables.filter((u) => isExceeded(u, runs[0])).slice(0, 2)) {
    const same = runs.map((run) => [run, run.samples.tables.find((u) => u.table === t.table && u.kind === t.kind)]);
    const top = Math.max(...same.flatMap(([run, u]) => [...u.rate, ...u.offered.map((v) => v / (run.samples.slot_ns / 1e9))]));
    burst.push(...same.map(([run, u]) => burstFigure(s, run, u, top)));
  }
  return { burst, division };
}

function classicSection(s, point) {
  const { burst, division } = classicFigures(s, point);
  return [
    burst.length > 0 ? [h("h3", {}, "Burst above the provisioned line"), figures(burst)] : [],
    division.length > 0 ? [h("h3", {}, "Equal division and demand"), figures(division)] : [],
  ];
}

function levelFigures(s, run) {
  const limits = busyTables(run).filter((t) => t.limited).slice(0, SHOWN.tables).map((t) => limitFigure(s, run, t));
  const hot = run.samples.partitions.slice(0, SHOWN.partitions).map((p) => partitionFigure(s, run, p));
  return [limits, hot, [nodesFigure(s, run, "read"), nodesFigure(s, run, "write")], [queueFigure(s, run)]];
}

function heatFigures(s, run) {
  const names = [...new Set(busyTables(run).map((t) => t.table))].slice(0, SHOWN.heat);
  return names.map((name) => heatFigure(s, run, name, heatMaximum(s, run.point, names)));
}

function eventTable(run) {
  const all = readEvents(run);
  if (all.length === 0) return h("p", { class: "note" }, "The controller decided nothing.");
  return h("details", {}, h("summary", {}, `${plural(all.length, "decision")} of the controller`), h("div", { class: "scroll", tabindex: "0" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { class: "number" }, "time (s)"), h("th", {}, "event"), h("th", {}, "partition"), h("th", {}, "why"))),
    h("tbody", {}, all.slice(0, SHOWN.events).map((e) => h("tr", {}, h("td", { class: "number" }, e.at), h("td", {}, e.kind), h("td", {}, `${e.table}/${e.partition}`), h("td", {}, e.why)))))));
}

function loadSection(s) {
  const { point } = s;
  const runs = runsAt(s, point);
  if (runs.length === 0) return [h("p", { class: "note" }, "No run of this scenario has time series.")];
  return [
    h("h3", {}, "Load over time"),
    h("p", { class: "note" }, `From one run of each policy, seed ${runs[0].seed}${point ? `, at ${point}` : ""}. The fair optimum is the max-min allocation that knows all demand of a window.`),
    ...select("Requests of", s.tenants, (tenant) => figures(loadFigures(s, point, tenant)), tenantTitle),
    classicSection(s, point),
  ];
}

function lagFigures(s) {
  const tables = new Set(runsAt(s, s.point).flatMap((run) => Object.keys(run.series.indexes)));
  return [...tables].map((table) => lagFigure(s, s.point, table));
}

function indexSection(s) {
  const list = lagFigures(s);
  return list.length > 0 ? [h("h3", {}, "Global indexes"), figures(list)] : [];
}

function shardsFigures(s) {
  const tables = new Set(runsAt(s, s.point).flatMap((run) => Object.keys(run.series.shards ?? {})));
  return [...tables].map((table) => shardsFigure(s, s.point, table));
}

function shardsSection(s) {
  const list = shardsFigures(s);
  return list.length > 0 ? [h("h3", {}, "Shards"), figures(list)] : [];
}

function latencySection(s) {
  const list = (tenant) => [latencyFigure(s, s.point, tenant, false), latencyFigure(s, s.point, tenant, true)];
  if (runsAt(s, s.point).length === 0) return [];
  return [h("h3", {}, "Latency"), ...select("Requests of", s.tenants, (tenant) => figures(list(tenant)), tenantTitle)];
}

function levelSection(s) {
  const { point } = s;
  const runs = sampledAt(s, point);
  if (runs.length === 0) return [];
  const seconds = runs[0].samples.slot_ns / 1e9;
  const byPolicy = (show) => choice("Policy", runs.map((r) => r.policy), (policy) => show(runs.find((r) => r.policy === policy)));
  return [
    h("h3", {}, "Balances over time"),
    h("p", { class: "note" }, `At the end of each ${seconds === 1 ? "second" : `${formatNumber(seconds)} seconds`}. The partitions are those with most demand.`),
    ...byPolicy((run) => levelFigures(s, run).map((row) => figures(row))),
    h("h3", {}, "Key space"),
    leftOut(runs[0]), ...byPolicy((run) => [figures(heatFigures(s, run)), eventTable(run)]),
  ];
}

function leftOut(run) {
  const partitions = run.samples.partitions_left_out;
  const tables = new Set(busyTables(run).map((t) => t.table)).size + run.samples.tables_left_out;
  const notes = [
    tables > SHOWN.heat ? `The busiest ${SHOWN.heat} of ${tables} tables are drawn.` : "",
    partitions > 0 ? `${plural(partitions, "partition")} made later than the others are not drawn.` : "",
  ].filter(Boolean);
  return notes.length > 0 ? h("p", { class: "note" }, notes.join(" ")) : null;
}

// ---- the page ----

function precision({ until }) {
  if (!until) return "";
  const wider = until.reached ? "" : ` for ${until.wider.join("; ")}`;
  return `precision of ${formatNumber(until.relative_half_width * 100)} % ${until.reached ? "reached" : "not reached"}${wider}`;
}

function facts(s) {
  const r = s.result;
  const seeds = Math.max(1, ...r.values.map((v) => v.runs));
  return [plural(s.policies.length, "policy", "policies"), plural(seeds, "seed"), plural(r.runs, "run"),
    `${formatNumber(r.duration_ns / 1e9)} s of virtual time each`, `fidelity ${r.fidelity}`, precision(r)].filter(Boolean).join(" · ");
}

function scenarioBody(s) {
  return h("div", {}, h("p", {}, s.result.about), h("p", { class: "facts" }, facts(s)),
    h("h3", {}, "Expectations"), expectations(s), h("h3", {}, "Policies"), policyTable(s),
    loadSection(s), indexSection(s), shardsSection(s), comparisonSection(s), sweepSection(s), latencySection(s), levelSection(s),
    s.leftOut > 0 ? h("p", { class: "note" }, `The time series of ${plural(s.leftOut, "further run")} are in the directory, and not in this page.`) : null);
}

// One of many: drawn when it is opened, or printed, so that a page of many opens at once.
function scenarioNode(s) {
  const node = h("details", { id: s.id, class: "scenario" }, h("summary", {}, h("h2", {}, s.name), verdict(s)));
  const draw = () => node.children.length > 1 || node.append(scenarioBody(s));
  node.addEventListener("toggle", () => node.open && draw());
  addEventListener("beforeprint", () => { draw(); node.open = true; });
  return node;
}

// A link to a scenario, or to a figure of it, opens the scenario.
function openLinked() {
  const id = decodeURIComponent(location.hash.slice(1));
  const node = [...document.querySelectorAll(".scenario")].find((n) => n.id === id || id.startsWith(`${n.id}-`));
  if (!node) return;
  node.open = true;
  setTimeout(() => (document.getElementById(id) ?? node).scrollIntoView());
}

const worst = (failed, unsure) => (failed > 0 ? "fails" : unsure > 0 ? "unsure" : "holds");

function verdict(s) {
  const { expected, failed, unsure = 0 } = s.result;
  const texts = {
    holds: `✓ all ${expected} hold`, unsure: `? ${unsure} of ${expected} unsure`,
    fails: `✗ ${failed} of ${expected} ${failed === 1 ? "fails" : "fail"}`,
  };
  const word = worst(failed, unsure);
  return h("span", { class: `verdict ${word}` }, expected === 0 ? "nothing expected" : texts[word]);
}

const OVERVIEW = [["throttle_fraction", "throttled"], ["false_throttle", "falsely"], ["goodput_ratio", "goodput"], ["latency_p99", "p99 (ms)"]];

function overview(all) {
  return h("table", { class: "overview" },
    h("caption", { class: "note", style: "text-align:left" }, "Figures are means of the first policy of each scenario."),
    h("thead", {}, h("tr", {}, h("th", {}, "scenario"), h("th", {}, "expectations"), OVERVIEW.map(([, title]) => h("th", { class: "number" }, title)))),
    h("tbody", {}, all.map((s) => h("tr", {}, h("td", {}, h("a", { href: `#${s.id}` }, s.name), h("div", { class: "why" }, s.result.about)), h("td", {}, verdict(s)),
      OVERVIEW.map(([m]) => h("td", { class: "number" }, formatNumber(s.value(s.points[0], s.policies[0].name, "", m)?.mean ?? NaN)))))));
}

function headline(all) {
  const total = (name) => sum(all.map((s) => s.result[name] ?? 0));
  const failed = total("failed"), unsure = total("unsure"), expected = total("expected");
  const word = worst(failed, unsure);
  const texts = {
    holds: expected === 1 ? "✓ The expectation holds." : `✓ All ${expected} expectations hold.`,
    unsure: `? None fails, but ${unsure} of ${plural(expected, "expectation")} cannot be told: run more seeds.`,
    fails: `✗ ${failed} of ${plural(expected, "expectation")} ${failed === 1 ? "fails" : "fail"}.`,
  };
  return h("p", { class: `verdict ${word}` }, expected === 0 ? "Nothing was expected." : texts[word]);
}

function pageNode(all) {
  const many = all.length > 1;
  const failed = all.filter((s) => s.result.expectations.some((e) => !e.holds));
  return h("main", { id: "main" }, h("h1", {}, many ? `${plural(all.length, "scenario")} of admission control` : all[0].name),
    headline(all), many ? overview(all) : null, many && failed.length > 0 ? h("h3", {}, "What does not hold") : null,
    many ? failed.map((s) => [h("p", {}, h("a", { href: `#${s.id}` }, s.name)), h("table", {}, h("tbody", {}, s.result.expectations.filter((e) => !e.holds).map(expectationRow)))]) : null,
    many ? h("h3", {}, "Scenarios") : null, many ? all.map(scenarioNode) : scenarioBody(all[0]),
    h("footer", {}, `weir lab ${DATA.version}. Charts: Observable Plot and D3.`, h("details", {}, h("summary", {}, "Licences of the chart libraries"), h("pre", {}, DATA.licences))));
}

// Each figure that the page can show, for files.
function* allFigures(s) {
  for (const point of s.points)
    for (const tenant of s.tenantsInValues) for (const m of s.result.measures) yield measureFigure(s, point, tenant, m);
  if (s.points.length > 1) for (const m of s.result.measures) yield sweepFigure(s, "", m);
  if (runsAt(s, s.point).length === 0) return;
  for (const tenant of s.tenants) {
    yield* loadFigures(s, s.point, tenant);
    yield latencyFigure(s, s.point, tenant, false);
    yield latencyFigure(s, s.point, tenant, true);
  }
  yield* lagFigures(s);
  yield* shardsFigures(s);
  const { burst, division } = classicFigures(s, s.point);
  yield* burst;
  yield* division;
  for (const run of sampledAt(s, s.point)) {
    yield* levelFigures(s, run).flat();
    yield* heatFigures(s, run);
  }
}

function base64(text) {
  let bytes = "";
  for (const b of new TextEncoder().encode(text)) bytes += String.fromCharCode(b);
  return btoa(bytes);
}

// `weir lab report --svg` opens the page with #svg, and reads the files from this element.
function filesNode(all) {
  const lines = [];
  for (const s of all) for (const figure of allFigures(s)) if (figure) lines.push(`${figure.id}.svg ${base64(svgText(figure))}\n`);
  return h("pre", { id: "svg-files" }, lines.join(""));
}

readPaperColors();
const scenarios = DATA.scenarios.map(readScenario);
document.title = scenarios.length === 1 ? `weir lab: ${scenarios[0].name}` : "weir lab: scenarios";
document.body.prepend(location.hash === "#svg" ? filesNode(scenarios) : pageNode(scenarios));
addEventListener("hashchange", openLinked);
openLinked();
