"use strict";
// A figure: title, caption, keys, a drawing that follows the width, its data as CSV, JSON and table.

const COLOURS = 12;
const colour = index => `var(--c${index % COLOURS})`;

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

// `draw(width)` gives the drawing; `keys` are [name, colour, dashed].
function figure(parent, { id, title, caption, rows, columns, keys = [], draw }) {
  if (!rows.length) return;
  const names = columns ?? Object.keys(rows[0]);
  const chart = element("div", { className: "chart", role: "img", "aria-label": `${title}. The data stands in the table below.` });
  const key = ([name, hue, dashed]) => {
    const item = element("li");
    item.innerHTML = `<svg width="26" height="10" aria-hidden="true"><line x1="0" y1="5" x2="26" y2="5" stroke="${hue}" stroke-width="3"${dashed ? ' stroke-dasharray="5 4"' : ""}/></svg>`;
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

// Lines on logarithmic scales. Rows have name, x, y and, if published, `published: true`; the same `hue` gets the same colour.
function lines(parent, { id, title, caption, rows, xLabel, yLabel, isBytes = false, isBinary = isBytes, base = null, yType = "log" }) {
  const hues = [...new Set(rows.map(row => row.hue ?? row.name))];
  const hueOf = row => colour(hues.indexOf(row.hue ?? row.name));
  const keys = d3.groups(rows, row => row.name).map(([name, group]) => [name, hueOf(group[0]), group[0].published]);
  const sorted = d3.sort(rows, row => row.x);
  const draw = width => {
    const ticks = isBinary ? binary(d3.extent(rows, row => row.x), width < 500 ? 5 : 9) : undefined;
    const mark = (published, options) => Plot.line(sorted.filter(row => !!row.published === published), { x: "x", y: "y", z: "name", stroke: hueOf, ...options });
    return Plot.plot({
      width, height: Math.min(460, Math.max(300, width * 0.55)), marginLeft: 56, marginRight: 24, marginBottom: 46, marginTop: 30, style: LETTERS,
      x: { type: "log", base: isBinary ? 2 : 10, label: xLabel, labelAnchor: "center", labelArrow: "none", ticks, tickFormat: isBytes ? bytes : isBinary ? String : short },
      y: { type: yType, label: yLabel, grid: true, tickFormat: short, ticks: yType === "log" ? 5 : 6 },
      marks: [
        base === null ? null : Plot.ruleY([base], { stroke: "currentColor", strokeDasharray: "2 3" }),
        mark(true, { strokeDasharray: "6 4", strokeWidth: 1.5 }),
        mark(false, { strokeWidth: 2.2 }),
        Plot.dot(sorted, { x: "x", y: "y", fill: row => row.published ? "var(--paper)" : hueOf(row), stroke: hueOf, r: 2.8 }),
        Plot.tip(sorted, Plot.pointer({ x: "x", y: "y", title: row => `${row.name}\n${isBytes ? bytes(row.x) : row.x}: ${short(row.y)}${row.low === undefined ? "" : ` (${short(row.low)} to ${short(row.high)})`}` })),
      ],
    });
  };
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
      width, height: 64 + 30 * new Set(part.map(row => row.y)).size + (facet ? 18 : 0), marginLeft: Math.min(150, 24 + 7 * longest), marginBottom: 46, marginTop: facet ? 26 : 8, style: LETTERS,
      x: { type: "band", label: xLabel, labelAnchor: "center", labelArrow: "none", tickFormat: xFormat, tickRotate: narrow ? -45 : 0 },
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
    x: { type: "log", label: xLabel, labelAnchor: "center", labelArrow: "none", grid: true, tickFormat: short, ticks: 5 },
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

// Effects with their intervals around "no difference".
function effects(parent, id, rows) {
  const draw = width => Plot.plot({
    width, height: 50 + 40 * rows.length, marginLeft: 12, marginRight: 24, marginBottom: 44, marginTop: 10, style: LETTERS,
    x: { type: "log", label: "times", labelAnchor: "center", labelArrow: "none", grid: true, tickFormat: short, ticks: 5, domain: padded(rows.flatMap(row => [row.low, row.high, 1])) },
    y: { type: "band", axis: null, domain: rows.map(row => row.name) },
    marks: [
      Plot.ruleX([1], { stroke: "currentColor", strokeDasharray: "2 3" }),
      Plot.ruleY(rows, { x1: "low", x2: "high", y: "name", stroke: "var(--c0)", strokeWidth: 4, strokeOpacity: 0.5, dy: 7 }),
      Plot.dot(rows, { x: "estimate", y: "name", fill: "var(--c0)", r: 4.5, dy: 7 }),
      Plot.text(rows, { y: "name", text: row => `${row.name}: ${short(row.estimate)} times`, frameAnchor: "left", dy: -9, fill: "currentColor", stroke: "var(--paper)", strokeWidth: 4, lineWidth: width / 13, textOverflow: "ellipsis" }),
    ],
  });
  figure(parent, { id, title: "Effects with their 95% intervals", caption: "Right of the dotted line the first is faster, or takes longer, as its name says; an interval that crosses the line shows no difference.", rows, draw });
}

function padded(values) {
  const [low, high] = d3.extent(values.filter(value => value > 0));
  return [low / 1.15, high * 1.15];
}
