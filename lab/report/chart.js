// chart.js - what all figures share: axes, legends, hatches, saving as SVG.
"use strict";

const WIDE = 920, HALF = 450, THIRD = 292;
const LEGEND_ROW = 18, LEGEND_GAP = 16, LEGEND_LEFT = 2, LETTER = 6.3;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";

function svgNode(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// ---- hatches ----

let hatches = 0;

// A hatch is part of the figure that uses it, so that a saved figure is whole.
function hatch(reason) {
  const id = `hatch-${++hatches}`;
  const lines = reason.hatch.map((angle) => svgNode("line", {
    x1: 0, y1: 3, x2: 6, y2: 3, stroke: reason.color, "stroke-width": 1.6, transform: `rotate(${angle} 3 3)`,
  }));
  const ground = svgNode("rect", { width: 6, height: 6, fill: reason.color, "fill-opacity": lines.length > 0 ? 0.22 : 0.75 });
  const pattern = svgNode("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, ground, ...lines);
  return { fill: `url(#${id})`, pattern };
}

function defsMark(patterns) {
  return () => svgNode("defs", {}, ...patterns);
}

// ---- legends ----

// Items of a legend, cut into rows that fit.
function legendRows(items, width) {
  const rows = [];
  let used = Infinity;
  for (const item of items) {
    const needs = 30 + item.text.length * LETTER + LEGEND_GAP;
    if (used + needs > width + LEGEND_GAP) {
      rows.push([]);
      used = 0;
    }
    rows.at(-1).push({ ...item, x: used });
    used += needs;
  }
  return rows;
}

function legendSwatch(item) {
  if (item.fill) return [svgNode("rect", { x: 0, y: -6, width: 22, height: 11, fill: item.fill, stroke: item.edge ?? "none" })];
  const parts = [svgNode("line", {
    x1: 0, x2: 22, stroke: item.color, "stroke-width": item.thick ?? 1.8, "stroke-dasharray": item.dash ?? "none",
  })];
  if (item.symbol) parts.push(symbolNode(item.symbol, 11, 0, item.color));
  return parts;
}

function symbolNode(symbol, x, y, color) {
  const kind = d3[`symbol${symbol[0].toUpperCase()}${symbol.slice(1)}`];
  return svgNode("path", { d: d3.symbol(kind, 34)(), transform: `translate(${x},${y})`, fill: color });
}

function legendMark(rows) {
  return () => {
    const group = svgNode("g", { class: "legend", "font-size": 11.5, "text-anchor": "start" });
    rows.forEach((row, r) => {
      for (const item of row) {
        group.append(svgNode("g", { transform: `translate(${LEGEND_LEFT + item.x},${10 + r * LEGEND_ROW})` },
          ...legendSwatch(item), svgNode("text", { x: 28, y: 0, dy: "0.32em", fill: "currentColor" }, item.text)));
      }
    });
    return group;
  };
}

// The name of the y axis, between legend and frame.
function yLabelMark(text, top) {
  return () => svgNode("text", { x: 2, y: top - 12, fill: "var(--muted)", "text-anchor": "start", "font-size": 11 }, text);
}

// ---- charts ----

function axis(label, more) {
  return { label, labelArrow: "none", ...more };
}

const timeAxis = (end) => axis("time (s)", { domain: [0, end], labelAnchor: "right" });
const unitAxis = (more) => axis("units per second", { tickFormat: axisNumber, nice: true, ticks: 5, ...more });

const charts = new Map(); // by the figure's id: for scripts that read figures

// A figure: { id, title, note, svg }.
function chart({ id, title, note, width, height, legend = [], marks, ...options }) {
  const marginLeft = options.marginLeft ?? 58;
  const marginRight = options.marginRight ?? 14;
  const rows = legendRows(legend, width - marginRight - LEGEND_LEFT);
  const label = options.y?.label;
  const top = rows.length * LEGEND_ROW + (options.marginTop ?? (label ? 30 : 12));
  const svg = Plot.plot({
    width, height: height + top, marginBottom: 36, ...options,
    marginLeft, marginRight, marginTop: top, y: { ...options.y, label: null },
    style: { fontFamily: FONT, fontSize: "11px", background: "none" },
    marks: [...marks, legendMark(rows), label ? yLabelMark(label, top) : null],
  });
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", title);
  charts.set(id, svg);
  return { id, title, note, svg, width };
}

const grid = () => Plot.gridY({ stroke: "var(--grid)", strokeOpacity: 1 });
const zero = () => Plot.ruleY([0], { stroke: "var(--axis)" });

// From the begin of the first slot to the end of the last one: times are the middles of slots.
function withEnds(times) {
  const half = times.length > 1 ? (times[1] - times[0]) / 2 : times[0];
  return times.length === 0 ? [] : [times[0] - half, ...times, times.at(-1) + half];
}

const atSlot = (values) => (t, i) => values[Math.min(Math.max(i - 1, 0), values.length - 1)];

function area(times, below, above, fill) {
  return Plot.areaY(withEnds(times), { x: (t) => t, y1: atSlot(below), y2: atSlot(above), fill, curve: "step" });
}

function line(times, values, style, more) {
  return Plot.lineY(withEnds(times), {
    x: (t) => t, curve: "step", y: atSlot(values), stroke: style.color, strokeWidth: style.thick ?? 1.6,
    strokeDasharray: style.dash, clip: true, ...more,
  });
}

// A few symbols on a line, so that lines differ without colour.
function symbols(times, values, style, offset) {
  const step = Math.max(1, Math.floor(times.length / 9));
  const at = d3.range(Math.min(offset % step, times.length - 1), times.length, step);
  return Plot.dot(at, { x: (i) => times[i], y: (i) => values[i], symbol: style.symbol, r: 3.2, fill: style.color });
}

// ---- files ----

const PAPER = new Map(); // the colours of the light page, by variable

function readPaperColors() {
  for (const rule of document.styleSheets[0].cssRules) {
    if (rule.selectorText !== ":root") continue;
    for (const name of rule.style) PAPER.set(name, rule.style.getPropertyValue(name).trim());
  }
}

// The figure as a file of its own: colours of the light page, and no style from outside.
function svgText(figure) {
  const svg = figure.svg.cloneNode(true);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.prepend(svgNode("title", {}, figure.title));
  svg.style.color = "var(--text)";
  svg.style.background = "var(--paper)";
  const text = new XMLSerializer().serializeToString(svg);
  return text.replace(/var\((--[\w-]+)(?:,[^)]*)?\)/g, (all, name) => PAPER.get(name) ?? "none");
}
