// data.js - the results that the page was given, and how numbers are written.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);

// JSON has no numbers for these: see json_write_decimal.
function number(value) {
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  return typeof value === "number" ? value : NaN;
}

const fixed = d3.format(",.4~g"), tiny = d3.format(".3~e"), large = d3.format(",.0f"), huge = d3.format(".4~s");

function formatNumber(value) {
  if (Number.isNaN(value)) return "no value";
  if (!Number.isFinite(value)) return value > 0 ? "never" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-4) return tiny(value);
  if (size >= 1e6) return huge(value).replace("G", "B");
  return size >= 10000 ? large(value) : fixed(value);
}

const SI = d3.format("~s");

function axisNumber(value) {
  return Math.abs(value) >= 1000 ? SI(value).replace("G", "B") : formatNumber(value);
}

function plural(count, one, many) {
  return `${large(count)} ${count === 1 ? one : many ?? `${one}s`}`;
}

function slug(text) {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "all";
}

// Results of the version before have no verdict.
const verdictOf = (e) => e.verdict ?? (e.holds ? "holds" : "fails");

// A scenario of the page, with its results where figures look for them.
function readScenario(raw) {
  const { result } = raw;
  const runs = raw.runs.filter((r) => r.series);
  for (const run of runs) run.samples ??= run.levels; // results of the version before
  const values = new Map();
  for (const v of result.values) {
    values.set([v.point, v.policy, v.tenant, v.measure].join("\u0000"), {
      mean: number(v.mean), low: number(v.low), high: number(v.high), runs: v.runs,
      difference: v.difference && { low: number(v.difference.low), high: number(v.difference.high), p: number(v.difference.p_adjusted) },
    });
  }
  const points = [...new Set(result.values.map((v) => v.point))];
  const ran = new Set(result.values.map((v) => v.policy));
  const policies = result.policies.filter((p) => ran.has(p.name));
  return {
    point: runs.length > 0 ? runs[0].point : points[0], // that time series are of
    name: result.scenario, id: slug(result.scenario), result, points, policies, runs,
    leftOut: raw.left_out,
    tenants: runs.length > 0 ? Object.keys(runs[0].series.tenants) : [""],
    tenantsInValues: [...new Set(result.values.map((v) => v.tenant))],
    value: (point, policy, tenant, measure) => values.get([point, policy, tenant, measure].join("\u0000")),
    run: (policy, point) => runs.find((r) => r.policy === policy && r.point === point),
    style: new Map(policies.map((p, i) => [p.name, styleOf(i)])),
  };
}

// ---- how policies and refusals look: never by colour alone ----

const DASHES = ["none", "7 3", "2 3", "9 3 2 3", "14 4", "5 2 1 2 1 2"];
const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye"];

function styleOf(i) {
  return { color: `var(--series-${i % 6})`, dash: DASHES[i % 6], symbol: SYMBOLS[i % 6] };
}

// In the order in which they are stacked. `hatch`: the angles of its lines.
const REASONS = [
  { name: "key-range", text: "partition maximum", hatch: [45], color: "var(--refused-0)" },
  { name: "allocation", text: "allocation", hatch: [135], color: "var(--refused-1)" },
  { name: "node", text: "node", hatch: [0], color: "var(--refused-2)" },
  { name: "member", text: "member of the group", hatch: [90], color: "var(--refused-3)" },
  { name: "table", text: "table limit", hatch: [45, 135], color: "var(--refused-4)" },
  { name: "index", text: "global index", hatch: [135, 90], color: "var(--refused-8)" },
  { name: "overload", text: "too much work", hatch: [45, 90], color: "var(--refused-7)" },
  { name: "limit", text: "rate limiter", hatch: [45], color: "var(--refused-4)" },
  { name: "writes", text: "rate limiter: written too often", hatch: [135], color: "var(--refused-1)" },
  { name: "client", text: "by the client itself", hatch: [0, 90], color: "var(--refused-5)" },
  { name: "failed", text: "not served", hatch: [], color: "var(--refused-6)" },
];

// ---- series ----

// Units a second, slot by slot: what was admitted, then what was refused for these reasons.
function loadLayers(run, tenant, reasons) {
  const s = run.series.tenants[tenant];
  const perSecond = (mcu) => mcu / 1000 / (run.series.slot_ns / 1e9);
  const layers = [{ name: "admitted", text: "admitted", values: s.admitted.map(perSecond) }];
  for (const reason of reasons)
    layers.push({ ...reason, text: `refused: ${reason.text}`, values: s.refused[reason.name].map(perSecond) });
  return { layers, offered: s.offered.map(perSecond), fair: s.fair.map(perSecond), limit: s.limit === undefined ? null : s.limit / 1000 };
}

function slotTimes(count, slotNs) {
  return d3.range(count).map((i) => ((i + 0.5) * slotNs) / 1e9);
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

// Tables of a run that were offered anything, the busiest first.
function busyTables(run) {
  const tables = run.samples.tables.filter((t) => sum(t.offered) > 0);
  return tables.sort((a, b) => sum(b.offered) - sum(a.offered));
}

// A line of text for each event: "12.000 s split items/3: why".
function readEvents(run) {
  return run.events.split("\n").filter(Boolean).map((line) => {
    const m = /^(\S+) s (\S+) (.*)\/(\d+): (.*)$/s.exec(line);
    return m ? { at: m[1], kind: m[2], table: m[3], partition: m[4], why: m[5] } : { at: "", kind: line, table: "", partition: "", why: "" };
  });
}
