"use strict";
// A figure: title, caption, keys, a drawing that follows the width, its data as CSV, JSON and table.

// Eight hues can be told apart; beyond them lines differ by their dashes.
const COLOURS = 8;
const colour = index => `var(--c${index % COLOURS})`;
const DASHES = ["", "9 3", "2 3", "9 3 2 3", "5 5"];
const dash = index => DASHES[Math.floor(index / COLOURS) % DASHES.length];
const PUBLISHED_DASH = "6 4";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && key !== "list" && key !== "style") made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

const plain = value => typeof value === "number" && !Number.isInteger(value) ? +value.toPrecision(6) : value;

function csv(rows, columns) {
  const field = value => {
    const text = value === null || value === undefined ? "" : String(plain(value));
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows.map(row => columns.map(name => row[name]))].map(line => line.map(field).join(",")).join("\r\n") + "\r\n";
}

function download(name, type, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function table(rows, columns) {
  const isNumber = name => rows.every(row => row[name] === null || row[name] === undefined || typeof row[name] === "number");
  const kinds = columns.map(name => isNumber(name) ? "number" : "");
  const head = element("tr", {}, ...columns.map((name, i) => element("th", { scope: "col", className: kinds[i] }, name.replaceAll("_", " "))));
  const line = row => element("tr", {}, ...columns.map((name, i) => element("td", { className: kinds[i] }, String(plain(row[name]) ?? ""))));
  return element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "data" },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows.map(line))));
}

const drawings = [];
const observer = new ResizeObserver(entries => entries.forEach(entry => entry.target.redraw?.()));

// `draw(width)` gives the drawing; `keys` are [name, colour, dashes].
function figure(parent, { id, title, caption, rows, columns, keys = [], draw }) {
  if (!rows.length) return;
  const names = columns ?? Object.keys(rows[0]);
  const chart = element("div", { className: "chart", role: "img", "aria-label": `${title}. The data stands in the table below.` });
  const key = ([name, hue, dashes]) => {
    const item = element("li");
    item.innerHTML = `<svg width="26" height="10" aria-hidden="true"><line x1="0" y1="5" x2="26" y2="5" stroke="${hue}" stroke-width="3"${dashes ? ` stroke-dasharray="${dashes}"` : ""}/></svg>`;
    item.append(name);
    return item;
  };
  const details = element("details", {}, element("summary", {}, `Table (${rows.length} rows)`));
  details.addEventListener("toggle", () => { if (details.open && !details.querySelector("table")) details.append(table(rows, names)); });
  const button = (label, type, ending, text) => element("button", {
    type: "button", title: `Save the data of this plot as ${label}`, onclick: () => download(`${id}.${ending}`, type, text()),
  }, label);
  parent.append(element("figure", { className: "plot", id },
    element("h3", {}, title),
    element("figcaption", {}, caption),
    keys.length ? element("ul", { className: "keys" }, ...keys.map(key)) : null,
    chart,
    element("div", { className: "tools" },
      button("CSV", "text/csv", "csv", () => csv(rows, names)),
      button("JSON", "application/json", "json", () => JSON.stringify(rows, null, 1))),
    details));
  let width = 0;
  chart.redraw = () => {
    const now = Math.floor(chart.clientWidth);
    if (now > 0 && now !== width) {
      width = now;
      chart.replaceChildren(draw(width));
    }
  };
  chart.redraw();
  observer.observe(chart);
  drawings.push(chart);
}

const LETTERS = { fontSize: "12px", fontFamily: "inherit", background: "transparent" };
const UNITS = ["B", "KiB", "MiB", "GiB"];
function bytes(count) {
  const power = Math.min(3, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${+(count / 1024 ** power).toPrecision(3)} ${UNITS[power]}`;
}
const binary = ([low, high], most = 8) => {
  const from = Math.ceil(Math.log2(low)), to = Math.floor(Math.log2(high)), step = Math.max(1, Math.ceil((to - from + 1) / most));
  return d3.range(from, to + 1, step).map(power => 2 ** power);
};
const short = value => value >= 1e9 ? `${+(value / 1e9).toPrecision(3)}G` : value >= 1e6 ? `${+(value / 1e6).toPrecision(3)}M`
  : value >= 1e3 ? `${+(value / 1e3).toPrecision(3)}k` : value < 0.001 && value > 0 ? value.toExponential(0) : String(+value.toPrecision(3));

// Lines on logarithmic scales. Rows have name, x, y, low and high if there is an interval, `published: true` if they are
// published, and `note` if a point is to be marked; the same `hue` gets the same colour. `facet` names a column: one drawing for
// each of its values, one below the other.
function lines(parent, { id, title, caption, rows, xLabel, yLabel, isBytes = false, isBinary = isBytes, base = null, xType = "log", yType = "log", facet = null }) {
  const hues = [...new Set(rows.map(row => row.hue ?? row.name))];
  const place = row => hues.indexOf(row.hue ?? row.name);
  const hueOf = row => colour(place(row));
  const dashOf = row => row.published ? PUBLISHED_DASH : dash(place(row));
  const keys = d3.groups(rows, row => row.name).map(([name, group]) => [name, hueOf(group[0]), dashOf(group[0])]);
  const sorted = d3.sort(rows, row => row.x);
  const facets = facet ? [...new Set(rows.map(row => row[facet]))] : [null];
  const extent = d3.extent(rows.flatMap(row => [row.y, row.low ?? row.y, row.high ?? row.y]));
  const one = (width, value) => {
    const shown = facet ? sorted.filter(row => row[facet] === value) : sorted;
    const ticks = xType === "linear" ? [...new Set(rows.map(row => row.x))] : isBinary ? binary(d3.extent(rows, row => row.x), width < 500 ? 5 : 9) : undefined;
    // One mark for each name: a mark has one pattern of dashes.
    const marks = d3.groups(shown, row => row.name).map(([, group]) => Plot.line(group, {
      x: "x", y: "y", stroke: hueOf(group[0]), strokeWidth: group[0].published ? 1.5 : 2.2, strokeDasharray: dashOf(group[0]) || null }));
    return Plot.plot({
      width, height: Math.min(460, Math.max(300, width * 0.55)) * (facet ? 0.8 : 1), marginLeft: 56, marginRight: 24, marginBottom: 48, marginTop: 34, style: LETTERS,
      x: { type: xType, ...(xType === "log" ? { base: isBinary ? 2 : 10 } : {}), domain: d3.extent(rows, row => row.x), label: xLabel, labelOffset: 40, labelAnchor: "center", labelArrow: "none", ticks, tickFormat: isBytes ? bytes : isBinary || xType === "linear" ? String : short },
      y: { type: yType, domain: facet && yType === "log" ? extent : undefined, label: yLabel, grid: true, tickFormat: short, ticks: yType === "log" ? 5 : 6 },
      marks: [
        base === null ? null : Plot.ruleY([base], { stroke: "currentColor", strokeDasharray: "2 3" }),
        Plot.ruleX(shown.filter(row => row.low !== undefined), { x: "x", y1: "low", y2: "high", stroke: hueOf, strokeWidth: 5, strokeOpacity: 0.35 }),
        ...marks,
        Plot.dot(shown, { x: "x", y: "y", fill: row => row.published ? "var(--paper)" : hueOf(row), stroke: hueOf, r: 2.8 }),
        Plot.dot(shown.filter(row => row.note), { x: "x", y: "y", stroke: hueOf, symbol: "times", r: 7, strokeWidth: 2 }),
        Plot.tip(shown, Plot.pointer({ x: "x", y: "y", title: row => `${row.name}\n${isBytes ? bytes(row.x) : row.x}: ${short(row.y)}${row.low === undefined ? "" : ` (${short(row.low)} to ${short(row.high)})`}${row.note ? `\n${row.note}` : ""}` })),
      ],
    });
  };
  const draw = width => facet ? element("div", {}, ...facets.flatMap(value => [element("h4", {}, value), one(width, value)])) : one(width, null);
  figure(parent, { id, title, caption, rows: rows.map(({ hue, ...row }) => ({ ...row, published: row.published ? "published" : "measured" })), keys, draw });
}

// A heat map of rows with x, y, value (names or numbers in x and y), and a word for the unit.
function heat(parent, { id, title, caption, rows, xLabel, yLabel, xFormat = String, diverging = false, unit, facet = null }) {
  const facets = facet ? [...new Set(rows.map(row => row[facet]))] : [null];
  const longest = d3.max(rows, row => String(row.y).length);
  const draw = width => element("div", {}, ...facets.map(name => {
    const part = facet ? rows.filter(row => row[facet] === name) : rows;
    const limit = Math.max(1, d3.max(part, row => Math.abs(Math.log2(row.value))));
    const xs = [...new Set(part.map(row => row.x))], narrow = width / xs.length < 44;
    return Plot.plot({
      width, height: 64 + 30 * new Set(part.map(row => row.y)).size + (facet ? 18 : 0), marginLeft: Math.min(150, 24 + 7 * longest), marginBottom: 48, marginTop: facet ? 26 : 8, style: LETTERS,
      x: { type: "band", label: xLabel, labelOffset: 40, labelAnchor: "center", labelArrow: "none", tickFormat: xFormat, tickRotate: narrow ? -45 : 0 },
      y: { type: "band", label: null, ariaLabel: yLabel, padding: 0.04, domain: [...new Set(part.map(row => row.y))] },
      color: diverging ? { type: "diverging", domain: [-limit, limit], scheme: "BrBG" } : { type: "linear", scheme: "YlGnBu" },
      marks: [
        facet ? Plot.text([name], { frameAnchor: "top-left", dy: -20, fontWeight: 600, fontSize: 12 }) : null,
        Plot.cell(part, { x: "x", y: "y", fill: row => diverging ? Math.log2(row.value) : Math.log10(row.value), inset: 0.5, title: row => `${row.y}, ${xFormat(row.x)}: ${short(row.value)} ${unit}` }),
        narrow ? null : Plot.text(part, { x: "x", y: "y", text: row => short(+row.value.toPrecision(2)), fill: row => textOn(part, row, diverging, limit), fontSize: 11 }),
      ],
    });
  }));
  figure(parent, { id, title, caption, rows, draw });
}

// Black or white, whichever the cell's colour lets one read.
function textOn(rows, row, diverging, limit) {
  if (diverging) return Math.abs(Math.log2(row.value)) / limit > 0.6 ? "#fff" : "#111";
  const [low, high] = d3.extent(rows, other => Math.log10(other.value));
  return (Math.log10(row.value) - low) / (high - low || 1) > 0.55 ? "#fff" : "#111";
}

// Every sample of some series, as a strip: rows have name and value (in medians of the series).
function strip(parent, { id, title, caption, rows, xLabel }) {
  const names = [...new Set(rows.map(row => row.name))];
  const draw = width => {
    const most = Math.floor(width * 0.45 / 6.8);
    return Plot.plot({
    width, height: 60 + 26 * names.length, marginLeft: 20 + 6.8 * Math.min(most, d3.max(names, name => name.length)), marginBottom: 44, marginTop: 8, style: LETTERS,
    x: { type: "log", label: xLabel, labelOffset: 40, labelAnchor: "center", labelArrow: "none", grid: true, tickFormat: short, ticks: 5 },
    y: { type: "band", label: null, tickFormat: name => name.length > most ? `${name.slice(0, most - 1)}…` : name },
    marks: [
      Plot.ruleX([10], { stroke: "var(--c1)", strokeDasharray: "4 3" }),
      Plot.tickX(rows, { x: "value", y: "name", stroke: "var(--c0)", strokeOpacity: 0.45 }),
      Plot.dot(rows.filter(row => row.value > 10), { x: "value", y: "name", fill: "var(--c1)", r: 4, title: row => `${row.name}: ${short(row.value)} medians` }),
    ],
    });
  };
  figure(parent, { id, title, caption, rows, draw });
}

// Effects with their intervals, a scale for each unit. Ratios are drawn around "no difference".
const isRatio = unit => /^times/.test(unit);
function effects(parent, id, rows) {
  const units = [...new Set(rows.map(row => row.unit))];
  const one = (width, unit) => {
    const shown = rows.filter(row => row.unit === unit);
    const ends = shown.flatMap(row => [row.low, row.high, row.estimate]);
    const isLog = ends.every(value => value > 0);
    return Plot.plot({
      width, height: 66 + 40 * shown.length, marginLeft: 12, marginRight: 24, marginBottom: 44, marginTop: 26, style: LETTERS,
      x: { type: isLog ? "log" : "linear", label: unit, labelAnchor: "center", labelArrow: "none", grid: true, tickFormat: short, ticks: width < 500 ? 3 : 5,
        domain: isLog ? padded(isRatio(unit) ? [...ends, 1] : ends) : d3.nice(...d3.extent([...ends, 0]), 5) },
      y: { type: "band", axis: null, domain: shown.map(row => row.name) },
      marks: [
        Plot.text([unit], { frameAnchor: "top-left", dy: -20, fontWeight: 600, fontSize: 12 }),
        isRatio(unit) ? Plot.ruleX([1], { stroke: "currentColor", strokeDasharray: "2 3" }) : isLog ? null : Plot.ruleX([0], { stroke: "currentColor", strokeDasharray: "2 3" }),
        Plot.ruleY(shown, { x1: "low", x2: "high", y: "name", stroke: "var(--c0)", strokeWidth: 4, strokeOpacity: 0.5, dy: 7 }),
        Plot.dot(shown, { x: "estimate", y: "name", fill: "var(--c0)", r: 4.5, dy: 7 }),
        Plot.text(shown, { y: "name", text: row => `${row.name}: ${short(row.estimate)}${row.p === undefined ? "" : `, p = ${row.p.toPrecision(2)}`}`, frameAnchor: "left", dy: -9, fill: "currentColor", stroke: "var(--paper)", strokeWidth: 4, lineWidth: width / 13, textOverflow: "ellipsis" }),
      ],
    });
  };
  const draw = width => element("div", {}, ...units.map(unit => one(width, unit)));
  figure(parent, { id, title: "The numbers behind the answers", caption: "A bar is the interval: of 95% where there were at least eight rounds, else from the least to the greatest round. Ratios have a dotted line at 1; an interval that crosses it shows no difference. p is corrected for the number of factors tested (Holm).", rows, columns: ["name", "unit", "estimate", "low", "high", "rounds", "p"], draw });
}

// Every delay of a hunt: rows have condition, medians, kind and name; conditions without one are kept.
function hunt(parent, { id, title, caption, rows, conditions, xLabel }) {
  const kinds = [...new Set(rows.map(row => row.kind))].sort();
  const draw = width => Plot.plot({
    width, height: 70 + 46 * conditions.length, marginLeft: Math.min(140, width * 0.34), marginRight: 24, marginBottom: 44, marginTop: 10, style: LETTERS,
    x: { type: "log", label: xLabel, labelOffset: 40, labelAnchor: "center", labelArrow: "none", grid: true, tickFormat: short, ticks: width < 500 ? 3 : 5, domain: padded([1, 10, ...rows.map(row => row.medians)]) },
    y: { type: "band", label: null, domain: conditions },
    marks: [
      Plot.ruleX([10], { stroke: "var(--c1)", strokeDasharray: "4 3" }),
      ...kinds.map((kind, index) => Plot.dot(rows.filter(row => row.kind === kind), { x: "medians", y: "condition", dy: 12 * (index - (kinds.length - 1) / 2),
        stroke: colour(index), fill: row => row.medians > 10 ? colour(index) : "none", r: row => row.medians > 10 ? 5 : 2.5 })),
      Plot.tip(rows, Plot.pointer({ x: "medians", y: "condition", title: row => `${row.name}\n${short(row.medians)} medians` })),
    ],
  });
  figure(parent, { id, title, caption, rows, columns: ["condition", "name", "kind", "medians"], keys: kinds.map((kind, index) => [kind, colour(index), ""]), draw });
}

// What else the machine did during a run.
function load(parent, id, rows) {
  const names = [...new Set(rows.map(row => row.name))];
  const draw = width => Plot.plot({
    width, height: 190, marginLeft: 44, marginRight: 24, marginBottom: 44, marginTop: 24, style: LETTERS,
    x: { label: "seconds since the run began", labelAnchor: "center", labelArrow: "none" },
    y: { label: "% of the processors", grid: true, ticks: 4 },
    marks: names.map((name, index) => Plot.line(rows.filter(row => row.name === name), { x: "x", y: "y", curve: "step-before", stroke: colour(index), strokeWidth: 1.6 })),
  });
  figure(parent, { id, title: "What others took of the machine during the run", caption: "Times are results only where both are near nothing.", rows, keys: names.map((name, index) => [name, colour(index), ""]), draw });
}

function padded(values) {
  const [low, high] = d3.extent(values.filter(value => value > 0));
  return [low / 1.15, high * 1.15];
}
