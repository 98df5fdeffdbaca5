// figures.js - one function for each kind of figure.
"use strict";

// ---- comparison ----

// Where a measure's axis ends: all means, intervals and the target are inside.
function measureDomain(rows, target) {
  const all = rows.flatMap((r) => [r.mean, r.low, r.high]).concat(target).filter(Number.isFinite);
  const low = Math.min(0, ...all), high = Math.max(...all);
  return high > low ? [low, high + (high - low) * 0.02] : [low, low + 1];
}

// Three ticks, or fewer if their labels have no room side by side.
function fittingTicks([low, high], room) {
  for (let count = 3; ; count--) {
    const ticks = d3.ticks(low, high, count);
    const widest = Math.max(...ticks.map((t) => axisNumber(t).length));
    if (count === 1 || ticks.length < 2 || (ticks[1] - ticks[0]) / (high - low) * room >= LETTER * (widest + 1)) return ticks;
  }
}

// All policies by one measure: the mean and its 95 % interval.
function measureFigure(s, point, tenant, m) {
  const target = number(m.target);
  const rows = s.policies.map((p) => ({ policy: p.name, ...s.style.get(p.name), ...(s.value(point, p.name, tenant, m.name) ?? { mean: NaN }) }));
  if (rows.every((r) => Number.isNaN(r.mean))) return null;
  const domain = measureDomain(rows, target);
  const shown = rows.filter((r) => Number.isFinite(r.mean));
  const differs = (r) => r.difference && r.difference.p < 0.05;
  const marginLeft = Math.min(120, 14 + LETTER * Math.max(...rows.map((r) => r.policy.length)));
  const marginRight = 84;
  const ticks = fittingTicks(domain, THIRD - marginLeft - marginRight);
  const better = m.better === "neither" ? "" : `${m.better} is better`;
  return chart({
    id: `${s.id}-measure-${m.name}${tenant ? `-${slug(tenant)}` : ""}${point ? `-${slug(point)}` : ""}`,
    title: m.name, note: m.definition + (better ? `; ${better}` : ""),
    width: THIRD, height: 50 + 24 * rows.length, marginTop: 8, marginLeft, marginRight,
    x: axis(m.unit === "1" ? "ratio" : m.unit, { domain, ticks, tickFormat: axisNumber }),
    y: { domain: rows.map((r) => r.policy), label: null, tickSize: 0, padding: 0.3 },
    marks: [
      Plot.gridX({ stroke: "var(--grid)", strokeOpacity: 1, ticks }),
      Plot.ruleX([domain[0]], { stroke: "var(--axis)" }),
      Number.isFinite(target) ? Plot.ruleX([target], { stroke: "var(--good)", strokeDasharray: "3 2", strokeWidth: 1.4 }) : null,
      Plot.ruleY(shown.filter((r) => r.high > r.low), { y: "policy", x1: "low", x2: "high", stroke: "color", strokeWidth: 2, className: "interval" }),
      Plot.tickX(shown.filter((r) => r.high > r.low).flatMap((r) => [{ ...r, x: r.low }, { ...r, x: r.high }]), { x: "x", y: "policy", stroke: "color", inset: 5 }),
      Plot.dot(shown, { x: "mean", y: "policy", symbol: "symbol", fill: "color", r: 4.2, className: "mean" }),
      Plot.text(rows.filter((r) => !Number.isNaN(r.mean)), {
        x: domain[1], y: "policy", text: (r) => formatNumber(r.mean) + (differs(r) ? " ≠" : ""), textAnchor: "start",
        dx: 10, fill: "currentColor", fontSize: 11.5, className: "value",
      }),
    ],
    color: { type: "identity" }, symbol: { type: "identity" },
  });
}

// One measure over the points of a sweep.
function sweepFigure(s, tenant, m) {
  const rows = s.points.flatMap((point, i) => s.policies.map((p) => ({ i, policy: p.name, ...s.style.get(p.name), ...(s.value(point, p.name, tenant, m.name) ?? { mean: NaN }) })))
    .filter((r) => Number.isFinite(r.mean));
  if (rows.length === 0) return null;
  const aside = (p) => 5 * (s.policies.findIndex((q) => q.name === p) - (s.policies.length - 1) / 2); // intervals side by side
  const of = (p) => rows.filter((r) => r.policy === p.name);
  const short = s.points.length <= 12 && s.points.every((p) => p.length <= 24);
  return chart({
    id: `${s.id}-sweep-${m.name}${tenant ? `-${slug(tenant)}` : ""}`, title: `${m.name} across the sweep`,
    note: short ? "" : `Points are numbered in the order of the sweep: 1 is ${s.points[0]}, ${s.points.length} is ${s.points.at(-1)}.`,
    width: WIDE, height: 280, legend: policyLegend(s),
    x: { type: "point", domain: d3.range(s.points.length), label: "point of the sweep", labelArrow: "none", padding: 0.5,
      tickFormat: (i) => (short ? s.points[i] : s.points.length <= 40 || i % 10 === 9 ? `${i + 1}` : "") },
    y: axis(m.unit === "1" ? "ratio" : m.unit, { zero: true, nice: true, tickFormat: axisNumber, ticks: 5 }),
    marks: [
      grid(), zero(),
      ...s.policies.map((p) => Plot.lineY(of(p),
        { x: "i", y: "mean", dx: aside(p.name), stroke: s.style.get(p.name).color, strokeDasharray: s.style.get(p.name).dash })),
      ...s.policies.map((p) => Plot.ruleX(of(p), { x: "i", y1: "low", y2: "high", dx: aside(p.name), stroke: "color", strokeWidth: 1.5 })),
      ...s.policies.map((p) => Plot.dot(of(p), { x: "i", y: "mean", dx: aside(p.name), symbol: "symbol", fill: "color", r: 3.6 })),
    ],
    color: { type: "identity" }, symbol: { type: "identity" },
  });
}

function policyLegend(s, policies) {
  return (policies ?? s.policies).map((p) => ({ text: p.name, ...s.style.get(p.name) }));
}

// ---- load over time ----

function stack(layers) {
  let below = layers[0].values.map(() => 0);
  return layers.map((layer) => {
    const above = below.map((v, i) => v + layer.values[i]);
    const stacked = { ...layer, below, above };
    below = above;
    return stacked;
  });
}

const runsAt = (s, point) => s.policies.map((p) => s.run(p.name, point)).filter(Boolean);
// Not every fidelity has samples.
const sampledAt = (s, point) => runsAt(s, point).filter((run) => run.samples);

function loadMaximum(s, point, tenant) {
  return Math.max(1e-9, ...runsAt(s, point).map((r) => {
    const load = loadLayers(r, tenant, []);
    return Math.max(...load.offered, ...load.fair, load.limit ?? 0);
  }));
}

// The same for all policies, so that their figures have the same legend.
function reasonsOf(s, point, tenant) {
  const refused = runsAt(s, point).map((r) => r.series.tenants[tenant].refused);
  return REASONS.filter((reason) => refused.some((r) => r[reason.name]?.some((v) => v > 0)));
}

// Offered = admitted + refused, by reason.
function loadFigure(s, run, tenant) {
  const { layers, offered, fair, limit } = loadLayers(run, tenant, reasonsOf(s, run.point, tenant));
  const times = slotTimes(offered.length, run.series.slot_ns);
  const patterns = [];
  const stacked = stack(layers).map((layer) => {
    if (layer.name === "admitted") return { ...layer, fill: "var(--admitted)" };
    const h = hatch(layer);
    patterns.push(h.pattern);
    return { ...layer, fill: h.fill };
  });
  const styles = { offered: { color: "var(--offered)", thick: 1.2 }, optimum: { color: "var(--optimum)", dash: "5 3", thick: 1.6 } };
  const styleOfLimit = { color: "var(--series-2)", dash: "6 3", thick: 1.8 };
  return chart({
    id: `${s.id}-load-${slug(run.policy)}${tenant ? `-${slug(tenant)}` : ""}`,
    title: `${run.policy}: offered, admitted, refused${tenant ? `, ${tenant}` : ""}`,
    width: HALF, height: 240,
    legend: [
      { text: "offered", ...styles.offered },
      limit === null ? { text: "fair optimum", ...styles.optimum } : { text: "its limit", ...styleOfLimit },
      ...stacked.map((l) => ({ text: l.text, fill: l.fill, edge: l.color })),
    ],
    x: timeAxis(s.result.duration_ns / 1e9), y: unitAxis({ domain: [0, loadMaximum(s, run.point, tenant)] }),
    marks: [
      defsMark(patterns), grid(),
      ...stacked.map((l) => area(times, l.below, l.above, l.fill)),
      line(times, offered, styles.offered),
      limit === null ? line(times, fair, styles.optimum) : Plot.ruleY([limit], { stroke: styleOfLimit.color, strokeDasharray: styleOfLimit.dash, strokeWidth: styleOfLimit.thick }), zero(),
    ],
  });
}

// What each policy admits of the same demand: static shares against GAC, with and without a mechanism.
function admittedFigure(s, point, tenant) {
  const runs = runsAt(s, point);
  if (runs.length === 0) return null;
  const loads = runs.map((run) => loadLayers(run, tenant, []));
  const times = slotTimes(loads[0].offered.length, runs[0].series.slot_ns);
  const style = (run) => s.style.get(run.policy);
  return chart({
    id: `${s.id}-admitted${tenant ? `-${slug(tenant)}` : ""}`,
    title: `Admitted by each policy of the same demand${tenant ? `, ${tenant}` : ""}`,
    width: WIDE, height: 280,
    legend: [{ text: "offered", fill: "var(--grid)", edge: "var(--axis)" }, ...policyLegend(s, runs.map((r) => ({ name: r.policy })))],
    x: timeAxis(s.result.duration_ns / 1e9), y: unitAxis({ domain: [0, loadMaximum(s, point, tenant)] }),
    marks: [
      grid(), area(times, times.map(() => 0), loads[0].offered, "var(--grid)"),
      line(times, loads[0].offered, { color: "var(--axis)", thick: 1 }),
      ...runs.map((run, i) => line(times, loads[i].layers[0].values, style(run))),
      ...runs.map((run, i) => symbols(times, loads[i].layers[0].values, style(run), i * 3)), zero(),
    ],
    symbol: { type: "identity" },
  });
}

// ---- figures of the design texts ----

// A table beside its provisioned throughput: what is above the line was saved up before, or is not served.
function burstFigure(s, run, table, top) {
  const seconds = run.samples.slot_ns / 1e9;
  const times = slotTimes(table.rate.length, run.samples.slot_ns);
  const admitted = table.admitted.map((v) => v / seconds), offered = table.offered.map((v) => v / seconds);
  const below = admitted.map((v, i) => Math.min(v, table.rate[i]));
  const h = hatch({ hatch: [45], color: "var(--series-1)" });
  const style = { color: "var(--offered)", thick: 1.2 };
  return chart({
    id: `${s.id}-burst-${slug(table.table)}-${table.kind}-${slug(run.policy)}`,
    title: `${run.policy}: ${table.kind}s of ${table.table}`,
    width: HALF, height: 220,
    legend: [
      { text: "provisioned", color: "var(--series-2)", dash: "6 3", thick: 1.8 }, { text: "offered", ...style },
      { text: "admitted within", fill: "var(--admitted)" }, { text: "admitted above", fill: h.fill, edge: "var(--series-1)" },
    ],
    x: timeAxis(s.result.duration_ns / 1e9), y: unitAxis({ domain: [0, top] }),
    marks: [
      defsMark([h.pattern]), grid(), area(times, times.map(() => 0), below, "var(--admitted)"), area(times, below, admitted, h.fill),
      line(times, offered, style),
      line(times, table.rate, { color: "var(--series-2)", dash: "6 3", thick: 1.8 }), zero(),
    ],
  });
}

// The demand of each partition beside an equal part of the table's throughput.
function divisionFigure(s, run, name) {
  const parts = run.samples.heat.filter((p) => p.table === name && p.ranges.length > 0);
  const first = parts.filter((p) => p.first === 0).sort((a, b) => a.ranges[0][1] - b.ranges[0][1]);
  if (first.length < 2) return null;
  const seconds = (run.samples.slots * run.samples.slot_ns) / 1e9;
  const demand = first.map(() => 0);
  for (const p of parts) { // parts of a split partition count for the partition that was split
    const at = d3.bisector((q) => q.ranges[0][1]).right(first, p.ranges[0][1]) - 1;
    demand[Math.max(0, at)] += sum(p.offered) / seconds;
  }
  const rates = run.samples.tables.filter((t) => t.table === name && sum(t.offered) > 0).map((t) => t.rate[0]);
  const equal = sum(rates) / first.length;
  const h = hatch({ hatch: [45], color: "var(--series-1)" });
  return chart({
    id: `${s.id}-division-${slug(name)}`, title: `Demand of each partition of ${name}`,
    note: `${rates.length > 1 ? "Reads and writes together. " : ""}${plural(demand.filter((v) => v > equal).length, "partition")} of ${demand.length} have a demand above an equal part of the table's throughput, ${formatNumber(equal)} units per second.`,
    width: HALF, height: 220,
    legend: [{ text: "equal part", color: "var(--series-2)", dash: "6 3" }, { text: "demand within", fill: "var(--admitted)" }, { text: "demand above", fill: h.fill, edge: "var(--series-1)" }],
    x: axis("partition, in the order of hashes", { type: "band", domain: d3.range(demand.length), ticks: 0, tickFormat: (i) => (demand.length <= 20 || i % 16 === 15 || i === 0 ? i + 1 : ""), tickSize: 0, padding: demand.length > 100 ? 0 : 0.15 }),
    y: unitAxis({ domain: [0, Math.max(...demand, equal)] }),
    marks: [
      defsMark([h.pattern]), grid(),
      Plot.rectY(demand, { x: (d, i) => i, y1: 0, y2: (d) => Math.min(d, equal), fill: "var(--admitted)" }),
      Plot.rectY(demand, { x: (d, i) => i, y1: equal, y2: (d) => Math.max(d, equal), fill: h.fill }),
      Plot.ruleY([equal], { stroke: "var(--series-2)", strokeWidth: 1.8, strokeDasharray: "6 3" }), zero(),
    ],
  });
}

// ---- latency ----

const TAIL = [1, 0.1, 0.01, 0.001, 0.0001, 0.00001];

const LATENCY = (run, tenant) => run.series.tenants[tenant].latency.map(([part, ns]) => ({ part: part / 100000, ms: ns / 1e6 }));

function latencyFigure(s, point, tenant, tail) {
  const runs = runsAt(s, point).filter((r) => LATENCY(r, tenant).at(-1).ms > 0);
  if (runs.length === 0) return null;
  const rows = runs.map((run) => LATENCY(run, tenant).filter((d) => d.ms > 0 && (!tail || d.part < 1)));
  const y = (d) => (tail ? 1 - d.part : 100 * d.part);
  const style = (i) => s.style.get(runs[i].policy);
  const slowest = Math.max(...rows.flat().map((d) => d.ms)), fastest = Math.min(...rows.flat().map((d) => d.ms));
  return chart({
    id: `${s.id}-latency-${tail ? "tail" : "cdf"}${tenant ? `-${slug(tenant)}` : ""}`,
    title: (tail ? "Tail of latency" : "Latency of admitted requests") + (tenant ? `, ${tenant}` : ""),
    width: HALF, height: 260, legend: policyLegend(s, runs.map((r) => ({ name: r.policy }))),
    x: axis("latency (ms)", { type: "log", domain: [fastest * 0.9, Math.max(slowest * 1.1, fastest * 2)], ticks: 5, tickFormat: "~g" }),
    y: tail ? axis("part of requests that are slower", { type: "log", domain: [TAIL.at(-1), 1], ticks: TAIL, tickFormat: "~%" }) : axis("requests answered within that time (%)", { domain: [0, 100], ticks: 5 }),
    marks: [
      tail ? Plot.gridY(TAIL, { stroke: "var(--grid)", strokeOpacity: 1 }) : grid(), Plot.gridX({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
      ...rows.map((r, i) => Plot.line(r, { x: "ms", y, stroke: style(i).color, strokeDasharray: style(i).dash, strokeWidth: 1.6, clip: true })),
      ...rows.map((r, i) => Plot.dot(r.filter((d, k) => k % 4 === i % 4), { x: "ms", y, symbol: style(i).symbol, fill: style(i).color, r: 3.2, clip: true })),
    ],
    symbol: { type: "identity" },
  });
}

// ---- global indexes ----

// How far the indexes of a table are behind its writes.
function lagFigure(s, point, table) {
  const runs = runsAt(s, point).filter((run) => run.series.indexes[table]);
  const rows = runs.map((run) => run.series.indexes[table].lag_ns.map((v) => v / 1e9));
  if (runs.length === 0) return null;
  const times = slotTimes(rows[0].length, runs[0].series.slot_ns);
  return chart({
    id: `${s.id}-lag-${slug(table)}`, title: `Lag of the indexes of ${table}`,
    note: "The greatest age, in each slot, of a change that an index lacks.",
    width: WIDE, height: 260, legend: policyLegend(s, runs.map((r) => ({ name: r.policy }))),
    x: timeAxis(s.result.duration_ns / 1e9), y: axis("seconds behind", { domain: [0, Math.max(1e-3, ...rows.flat())], nice: true, ticks: 5, tickFormat: axisNumber }),
    marks: [
      grid(), ...rows.map((r, i) => line(times, r, s.style.get(runs[i].policy))),
      ...rows.map((r, i) => symbols(times, r, s.style.get(runs[i].policy), i * 3)), zero(),
    ],
    symbol: { type: "identity" },
  });
}

// ---- shards ----

// How far the hottest key of a table, or the hottest bucket of the rate limiter, is spread.
function shardsFigure(s, point, table) {
  const runs = runsAt(s, point).filter((run) => run.series.shards?.[table]);
  if (runs.length === 0) return null;
  const rows = runs.map((run) => run.series.shards[table]);
  const times = slotTimes(rows[0].length, runs[0].series.slot_ns);
  return chart({
    id: `${s.id}-shards-${slug(table)}`, title: `Shards in ${table}`,
    note: "The most, in each slot, that a key or a bucket is spread over.",
    width: WIDE, height: 260, legend: policyLegend(s, runs.map((r) => ({ name: r.policy }))),
    x: timeAxis(s.result.duration_ns / 1e9), y: axis("shards", { domain: [0, Math.max(2, ...rows.flat())], nice: true, ticks: 5, tickFormat: axisNumber }),
    marks: [
      grid(), ...rows.map((r, i) => line(times, r, s.style.get(runs[i].policy))),
      ...rows.map((r, i) => symbols(times, r, s.style.get(runs[i].policy), i * 3)), zero(),
    ],
    symbol: { type: "identity" },
  });
}

// ---- balances ----

function limitFigure(s, run, table) {
  const times = slotTimes(table.bank.length, run.samples.slot_ns).map((t) => t + run.samples.slot_ns / 2e9);
  const bank = { color: "var(--series-0)", dash: "none", symbol: "circle" }, held = { color: "var(--series-1)", dash: "6 3", symbol: "square" };
  return chart({
    id: `${s.id}-limit-${slug(table.table)}-${table.kind}-${slug(run.policy)}`, title: `Limit of the table ${table.table}, ${table.kind}s`,
    width: HALF, height: 210, legend: [{ text: "bank of the ledger", ...bank }, { text: "tokens at routers", ...held }],
    x: timeAxis(s.result.duration_ns / 1e9), y: axis("units", { tickFormat: axisNumber, nice: true, zero: true, ticks: 5 }),
    marks: [grid(), zero(), line(times, table.bank, bank), line(times, table.held, held), symbols(times, table.bank, bank, 0), symbols(times, table.held, held, 3)],
    symbol: { type: "identity" },
  });
}

// The buckets of one partition, as parts of what they hold at most.
function partitionFigure(s, run, p) {
  const times = slotTimes(run.samples.slots, run.samples.slot_ns).slice(p.first).map((t) => t + run.samples.slot_ns / 2e9);
  const buckets = [
    { name: "allocation", most: p.capacities[1], color: "var(--series-0)", dash: "none", symbol: "circle" },
    { name: "burst", most: p.capacities[2], color: "var(--series-1)", dash: "6 3", symbol: "square" },
    { name: "cap", most: p.capacities[3], color: "var(--series-2)", dash: "2 3", symbol: "triangle" },
  ].filter((b) => b.most > 0).map((b) => ({ ...b, values: p[b.name].map((v) => Math.max(-100, (100 * v) / b.most)) }));
  return chart({
    id: `${s.id}-partition-${p.partition}-${p.kind}-${slug(run.policy)}`, title: `Partition ${p.partition} of ${p.table}, ${p.kind}s`,
    width: HALF, height: 210, legend: buckets.map((b) => ({ text: `${b.name} (${axisNumber(b.most)})`, ...b })),
    x: timeAxis(s.result.duration_ns / 1e9), y: axis("balance (% of what the bucket holds)", { domain: [Math.min(0, ...buckets.flatMap((b) => b.values)), 100], ticks: 5 }),
    marks: [grid(), zero(), ...buckets.map((b) => line(times, b.values, b)), ...buckets.map((b, i) => symbols(times, b.values, b, 2 * i))],
    symbol: { type: "identity" },
  });
}

const STEPS = d3.range(9);

function heatLegend(text) {
  return STEPS.map((i) => ({ text: text(i), fill: `var(--heat-${i})`, edge: "var(--line)" })).filter((item) => item.text !== null);
}

// Rectangles of one colour are one path: thousands of cells stay a small file.
function cellsMark(cells) {
  return (index, scales) => {
    const paths = STEPS.map(() => "");
    const at = (v) => Math.round(v * 10) / 10;
    for (const c of cells) {
      const x1 = at(scales.x(c.x1)), x2 = at(scales.x(c.x2)), y1 = at(scales.y(c.y1)), y2 = at(scales.y(c.y2));
      paths[c.step] += `M${x1} ${y1}H${x2}V${y2}H${x1}Z`;
    }
    const nodes = paths.map((d, i) => svgNode("path", { d, fill: `var(--heat-${i})`, class: `step-${i}` }));
    return svgNode("g", { "shape-rendering": "crispEdges", class: "cells" }, ...nodes);
  };
}

function nodesFigure(s, run, kind) {
  const nodes = run.samples.nodes, seconds = run.samples.slot_ns / 1e9;
  const cells = nodes.flatMap((n, row) => n[kind].map((v, i) => ({
    x1: i * seconds, x2: (i + 1) * seconds, y1: row, y2: row + 1, step: Math.max(0, Math.min(8, Math.floor(9 * (1 - v / n[`${kind}_capacity`])))),
  })));
  return chart({
    id: `${s.id}-nodes-${kind}-${slug(run.policy)}`, title: `Buckets of nodes, ${kind}s`,
    width: HALF, height: 70 + Math.min(260, Math.max(80, 16 * nodes.length)),
    legend: heatLegend((i) => (i % 4 === 0 ? ["full", "half full", "empty"][i / 4] : null)),
    x: timeAxis(s.result.duration_ns / 1e9),
    y: axis("node", { domain: [0, nodes.length], reverse: true, ticks: Math.min(nodes.length, 12), tickFormat: (v) => (v < nodes.length && Number.isInteger(v) ? nodes[v].node : ""), tickSize: 0, insetTop: 0 }),
    marks: [cellsMark(cells), Plot.frame({ stroke: "var(--line)" })],
  });
}

function queueFigure(s, run) {
  const nodes = run.samples.nodes;
  const times = slotTimes(run.samples.slots, run.samples.slot_ns).map((t) => t + run.samples.slot_ns / 2e9);
  const most = times.map((t, i) => Math.max(...nodes.map((n) => n.queue_ms[i])));
  const mean = times.map((t, i) => d3.mean(nodes, (n) => n.queue_ms[i]));
  const styles = [{ color: "var(--series-1)", dash: "none", symbol: "square" }, { color: "var(--series-0)", dash: "6 3", symbol: "circle" }];
  return chart({
    id: `${s.id}-queue-${slug(run.policy)}`, title: "Work that waits at nodes", width: HALF, height: 210,
    legend: [{ text: "longest queue", ...styles[0] }, { text: "mean of all nodes", ...styles[1] }],
    x: timeAxis(s.result.duration_ns / 1e9), y: axis("ms of processor time", { domain: [0, Math.max(1, ...most)], nice: true, ticks: 5, tickFormat: axisNumber }),
    marks: [grid(), line(times, most, styles[0]), line(times, mean, styles[1]), symbols(times, most, styles[0], 0), symbols(times, mean, styles[1], 3), zero()],
    symbol: { type: "identity" },
  });
}

// ---- key space ----

const HASHES = 2 ** 32;

// The cells of a partition: its range may shrink at a split and grow at a merge.
function* heatCells(p, slots) {
  for (let i = 0, r = 0; p.ranges.length > 0 && i + p.first < slots; i++) {
    while (r + 1 < p.ranges.length && p.ranges[r + 1][0] <= i + p.first) r++;
    const [, lo, hi] = p.ranges[r];
    yield { slot: i + p.first, lo: lo / HASHES, hi: hi / HASHES, offered: p.offered[i] };
  }
}

// The most that any partition of these tables was offered in a slot, a second.
function heatMaximum(s, point, names) {
  return Math.max(1e-9, ...sampledAt(s, point).flatMap((run) => run.samples.heat.filter((p) => names.includes(p.table))
    .map((p) => d3.max(p.offered) / (run.samples.slot_ns / 1e9))));
}

function heatFigure(s, run, name, most) {
  const { slots } = run.samples, seconds = run.samples.slot_ns / 1e9;
  const parts = run.samples.heat.filter((p) => p.table === name);
  const all = parts.map((p) => [...heatCells(p, slots)]);
  const step = (rate) => Math.min(8, Math.floor(9 * Math.sqrt(rate / most)));
  const cells = all.flat().map((c) => ({ x1: c.slot * seconds, x2: (c.slot + 1) * seconds, y1: c.lo, y2: c.hi, step: step(c.offered / seconds) }));
  const end = (p) => (p.ranges.find((r) => r[1] === r[2]) ?? [slots])[0] * seconds; // of a merged one: its range is empty
  const splits = parts.filter((p) => p.first > 0 && p.ranges.length > 0).map((p) => ({ at: p.first * seconds, end: end(p), lo: p.ranges[0][1] / HASHES }));
  const bounds = parts.length > 80 ? [] : parts.filter((p) => p.first === 0 && p.ranges.length > 0 && p.ranges[0][1] > 0).map((p) => p.ranges[0][1] / HASHES);
  const from = (i) => formatNumber(Number((most * (i / 9) ** 2).toPrecision(2)));
  return chart({
    id: `${s.id}-heat-${slug(name)}-${slug(run.policy)}`, title: `Key space of ${name}: units per second offered to each partition`,
    note: `${plural(parts.filter((p) => end(p) === slots * seconds).length, "partition")} at the end, ${plural(splits.length, "split")}.${splits.length > 0 ? " A line that begins at a triangle is a new boundary." : ""}`,
    width: WIDE, height: 380, marginLeft: 58,
    legend: heatLegend((i) => (i % 2 === 0 ? `${i === 0 ? "0" : `from ${from(i)}`}` : null)).concat(splits.length > 0 ? [{ text: "split", color: "var(--series-1)", symbol: "triangle" }] : []),
    x: timeAxis(s.result.duration_ns / 1e9), y: axis("hash of the key (part of all hashes)", { domain: [0, 1], ticks: 5 }),
    marks: [
      cellsMark(cells),
      Plot.ruleY(bounds, { x1: 0, x2: slots * seconds, stroke: "var(--paper)", strokeWidth: 0.6 }),
      Plot.ruleY(splits, { y: "lo", x1: "at", x2: "end", stroke: "var(--series-1)", strokeWidth: 1 }),
      Plot.dot(splits, { x: "at", y: "lo", symbol: "triangle", fill: "var(--series-1)", r: 3.4, className: "splits" }),
    ],
  });
}
