"use strict";
// Which plots an experiment has: its record's series beside the published figures. An experiment without an entry here
// gets plain lines over its first numeric factor.

const median = series => series.wall.median;
const perOperation = series => (series.operations > 0 ? series.operations : 1);
const gigabytes = series => series.bytes / median(series).estimate;

// A measured point: y from wall nanoseconds, with the ends of its interval.
function point(series, x, name, y) {
  const { estimate, low, high } = median(series);
  const ends = [y(low), y(high)].sort((a, b) => a - b);
  return { name, x, y: y(estimate), low: ends[0], high: ends[1] };
}

// Every series' speed against that of `base` with the same value of `factor`.
function speedups(record, factor, base, variants) {
  const bases = new Map(record.series.filter(s => s.variant === base).map(s => [s.factors[factor], median(s).estimate / perOperation(s)]));
  return record.series
    .filter(s => variants.includes(s.variant) && bases.has(s.factors[factor]))
    .map(s => ({ name: s.variant, x: s.factors[factor], y: bases.get(s.factors[factor]) / (median(s).estimate / perOperation(s)) }));
}

const variants = record => [...new Set(record.series.map(s => s.variant))];
const number = text => text === "" ? null : Number(text);

const EXPERIMENTS = {
  "comba"(parent, all, published) {
    // Modular products and the curve have no words of a factor; their figures are in the effects.
    const record = all && { ...all, series: all.series.filter(s => s.factors.words) };
    const words = published.comba.map(row => ({ ...row, x: Number(row.words_of_32_bits), y: Number(row.ms_per_million_products) })).filter(row => row.y > 0);
    const one = "Intel Core i7-2600";
    const names = { modified_comba: "serial", modified_comba_2x: "2x", modified_comba_mx: "Mx" };
    const theirs = words.filter(row => row.processor === one && row.algorithm !== "modified_comba_2x").map(row => ({
      name: `published ${names[row.algorithm]}, ${one}`, hue: row.algorithm === "modified_comba" ? "serial" : "pool Mx", x: row.x, y: row.y, note: row.note, published: true }));
    const shown = ["serial", "pool Mx", "openmp Mx", "spawned Mx", "vector comba", "rows", "gmp (system)", "flint"];
    const cores = record?.parameters.threads;
    const isTeam = s => [undefined, 1, cores].includes(s.factors.threads);
    const ours = (record?.series ?? []).filter(s => shown.includes(s.variant) && isTeam(s))
      .map(s => ({ ...point(s, s.factors.words, s.variant, ns => ns / perOperation(s)), hue: s.variant }));
    lines(parent, { id: "comba-time", title: "Time of one product", rows: [...d3.sort(ours, row => shown.indexOf(row.name)), ...theirs],
      caption: "Lower is faster; both scales are logarithmic. A cross marks figures that are drawn as printed, although they evidently belong to other variants.", isBinary: true, xLabel: "words of 32 bits in a factor", yLabel: "nanoseconds a product" });
    const team = record && { ...record, series: record.series.filter(isTeam) };
    const gains = record ? speedups(team, "words", "serial", ["pool", "openmp", "openmp clang", "spawned"].flatMap(name => [`${name} Mx`, `${name} 2x`])) : [];
    const serial = new Map(words.filter(row => row.algorithm === "modified_comba").map(row => [row.processor + row.x, row.y]));
    const published_gains = words.filter(row => row.algorithm === "modified_comba_mx" && serial.has(row.processor + row.x)).map(row => ({
      name: `published Mx, ${row.processor}`, hue: `published ${row.processor}`, part: "published", x: row.x, y: serial.get(row.processor + row.x) / row.y, note: row.note, published: true }));
    lines(parent, { id: "comba-gain", title: "Gain of threads inside one product, over serial", facet: "part", rows: [...gains.map(row => ({ ...row, part: "measured" })), ...published_gains], base: 1,
      caption: "Above the dotted line threads pay. Where a line crosses it is the crossover.", isBinary: true, xLabel: "words of 32 bits in a factor", yLabel: "times as fast as serial" });
    if (record) heat(parent, { id: "comba-map", title: "Everything against serial", diverging: true, unit: "times as fast", xLabel: "words of 32 bits in a factor", yLabel: "variant",
      caption: "Times as fast as serial Modified Comba on one thread (green: faster, brown: slower).",
      rows: speedups(team, "words", "serial", variants(record).filter(name => name !== "serial")).map(({ name, x, y }) => ({ x, y: name, value: y })) });
  },

  "s-des"(parent, record, published) {
    const hues = { serial_s: ["serial", "per block"], rayon_8_threads_s: ["rayon, 8 threads", "per block, rayon"] };
    const theirs = Object.entries(hues).flatMap(([column, [name, hue]]) => d3.groups(published.sdes_rayon, row => Number(row.input_bytes))
      .map(([x, rows]) => ({ name: `published ${name}, Apple M1 Pro`, hue, x, y: x / d3.median(rows, row => Number(row[column])) / 1e9, published: true })));
    const ours = (record?.series ?? []).filter(s => [1, record.parameters.threads].includes(s.factors.threads) && (s.factors.threads > 1) === s.variant.endsWith("rayon")).map(s => ({ ...point(s, s.bytes, s.variant, ns => s.bytes / ns), hue: s.variant }));
    lines(parent, { id: "s-des-rate", title: "Rate by size of the input", rows: [...ours, ...theirs], isBytes: true, xLabel: "bytes of input", yLabel: "GB/s",
      caption: "Higher is faster. `copy` is what moving the bytes alone takes." });
    if (!record) return;
    const bases = ["per block", "table", "shuffles"];
    const usual = { ...record, series: record.series.filter(s => [undefined, 1, record.parameters.threads].includes(s.factors.threads)) };
    const gains = bases.flatMap(base => speedups(usual, "bytes", base, [`${base}, rayon`]));
    lines(parent, { id: "s-des-gain", title: "Gain of threads, by the form of the cipher", rows: gains, base: 1, isBytes: true, xLabel: "bytes of input", yLabel: "times as fast as one thread",
      caption: "The faster the form, the later its threads pay." });
  },

  "many-files"(parent, record, published) {
    const grid = (record?.series ?? []).filter(s => s.factors.part === "grid" && typeof s.factors.file_bytes === "number");
    const best = (rows, key, value) => d3.rollups(rows, group => d3.least(group, value), key).map(([, row]) => row);
    const forms = { openmp_malloc: ["older form (OpenMP, a buffer per file)", "openmp-malloc"], pthread_fixed_buffer: ["newer form (pthread, 1 KB)", "published"] };
    const platforms = { xeon1: "first Xeon", xeon2: "second Xeon", phi: "many-core coprocessor" };
    const rows = published.many_files.filter(row => row.mean_ms !== "")
      .map(row => ({ files: Number(row.files), x: Number(row.file_bytes), y: number(row.mean_ms_without_anomaly) ?? Number(row.mean_ms), threads: Number(row.threads), platform: row.platform, implementation: row.implementation }));
    for (const files of [10, 100]) {
      const ours = best(grid.filter(s => s.factors.files === files), s => `${s.variant}/${s.factors.file_bytes}`, s => median(s).estimate)
        .map(s => ({ ...point(s, s.factors.file_bytes, { published: "newer form, measured", "openmp-malloc": "older form, measured" }[s.variant] ?? `${s.variant}, measured`, ns => ns / 1e6), threads: s.factors.threads, hue: s.variant }));
      const theirs = best(rows.filter(row => row.files === files), row => `${row.platform}/${row.implementation}/${row.x}`, row => row.y)
        .map(row => ({ name: `${forms[row.implementation][0]}, ${platforms[row.platform]}`, hue: forms[row.implementation][1], x: row.x, y: row.y, threads: row.threads, platform: row.platform, published: true }));
      const facets = Object.keys(platforms).flatMap(platform => [...ours.map(row => ({ ...row, beside: `beside the ${platforms[platform]}` })),
        ...theirs.filter(row => row.platform === platform).map(({ platform: _, ...row }) => ({ ...row, beside: `beside the ${platforms[platform]}` }))]);
      lines(parent, { id: `many-files-time-${files}`, title: `Time for ${files} files, with the best number of threads`, rows: facets, facet: "beside", isBytes: true, xLabel: "bytes in a file", yLabel: "milliseconds",
        caption: "Lower is faster. `copy` is the same pipeline without a cipher; published times (dashed) are means of 100 runs without the anomalous ones. The first Xeon ran the newer form only." });
    }
    const most = rows.filter(row => row.files === 100 && row.x >= 512 << 10);
    lines(parent, { id: "many-files-published-threads", title: "Published: what threads gain, for 100 files", facet: "platform", base: 1, isBinary: true, xLabel: "threads", yLabel: "times as fast as one thread",
      caption: "Means without the anomalous runs. The coprocessor has 60 slow cores.",
      rows: most.flatMap(row => {
        const one = most.find(other => other.platform === row.platform && other.implementation === row.implementation && other.x === row.x && other.threads === 1);
        return one ? [{ name: `${forms[row.implementation][0].split(" (")[0]}, ${bytes(row.x)}`, hue: bytes(row.x), platform: platforms[row.platform], x: row.threads, y: one.y / row.y, published: row.implementation === "openmp_malloc" }] : [];
      }) });
    const files = d3.max(grid, s => s.factors.files) ?? 100;
    if (!record) return;
    heat(parent, { id: "many-files-threads", title: `Threads against size: milliseconds for ${files} files`, facet: "variant", unit: "ms", xLabel: "bytes in a file", yLabel: "threads", xFormat: bytes,
      caption: "Darker is slower. Rows are threads.",
      rows: d3.sort(grid.filter(s => s.factors.files === files), s => s.factors.threads).map(s => ({ variant: s.variant, x: s.factors.file_bytes, y: `${s.factors.threads} threads`, value: median(s).estimate / 1e6 })) });
    const buffers = record.series.filter(s => s.factors.part === "buffer-size");
    const sized = buffers.map(s => ({ s, x: parse(s.factors.buffer) })).filter(({ x }) => x);
    lines(parent, { id: "many-files-buffer", title: "Size of the buffer", isBytes: true, xLabel: "bytes in the buffer", yLabel: "milliseconds", yType: "linear",
      caption: "The published program with other buffers; it had 1 KiB.", rows: sized.map(({ s, x }) => point(s, x, s.variant, ns => ns / 1e6)) });
    tails(parent, record, "many-files", s => s.factors.part === "tail");
    const hunted = record.series.filter(s => s.factors.part === "conditions");
    // Ordinary runs would fill the page: of each series the longest is drawn, and every delay.
    const longest = hunted.flatMap(s => {
      const medians = s.walls.map(wall => wall / median(s).estimate), most = d3.max(medians);
      return medians.filter(value => value > 10 || value === most).map(value => ({ condition: s.factors.condition, kind: s.factors.wait === "spin" ? "spinning" : "parking",
        name: `${s.factors.runtime}, ${s.factors.buffer}, ${s.factors.wait}`, medians: value }));
    });
    hunt(parent, { id: "many-files-hunt", title: "The hunt for delays", xLabel: "times the median of its series", rows: longest, conditions: [...new Set(hunted.map(s => s.factors.condition))],
      caption: "Every run of more than 10 medians (filled), and the longest run of each series. Published: runs of 4 to 14 seconds, 40 to 140 medians." });
  },

  "aes-instructions"(parent, record, published) {
    const clock = record?.machine.clock_gigahertz;
    const modes = [...new Set((record?.series ?? []).map(s => s.factors.mode))].filter(Boolean);
    for (const mode of modes) {
      const rows = record.series.filter(s => s.factors.mode === mode && s.factors.key_bits === 128);
      lines(parent, { id: `aes-instructions-${mode.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`, title: `AES-128, ${mode}`, isBytes: true, xLabel: "bytes a message", yLabel: "GB/s on one core",
        caption: "Higher is faster.", rows: rows.map(s => point(s, s.factors.size, s.variant, ns => s.bytes / ns)) });
    }
    const theirs = published.aes_instructions.map(row => ({ x: "MB/s per GHz", y: `published: ${row.processor}, ${row.architecture}, ${row.aes_instructions === "yes" ? "AES instructions" : "none"}`, value: Number(row.mb_per_s_per_ghz) }));
    const largest = d3.rollups((record?.series ?? []).filter(s => s.factors.mode === "ECB" && s.factors.key_bits === 128), group => d3.greatest(group, gigabytes), s => s.variant)
      .map(([name, s]) => ({ x: "MB/s per GHz", y: `measured: ${name}`, value: 1000 * gigabytes(s) / clock }));
    bars(parent, { id: "aes-instructions-clock", title: "MB/s for each GHz of one core", rows: d3.sort([...largest, ...theirs], row => -row.value),
      caption: "Measured: AES-128 in ECB mode, at the best size. Published: processors of 2008 to 2013, with and without AES instructions." });
  },

  "ctr-workers"(parent, record, published) {
    const theirs = published.ctr_workers.map(row => ({ name: `published ${row.implementation}, ${row.processor}, ${row.workers}`, x: Number(row.chunk_bytes), y: Number(row.mbit_per_s), published: true }));
    const of = part => (record?.series ?? []).filter(s => s.factors.part === part && ["end-to-end", "kernel-only"].includes(s.variant));
    const named = (s, x) => point(s, x, `${s.variant}, ${s.factors.workers} ${s.factors.workers === 1 ? "worker" : "workers"}`, ns => 8000 * s.bytes / ns);
    const ours = of("chunk").map(s => named(s, s.factors.chunk));
    lines(parent, { id: "ctr-workers-rate", title: "Rate by size of the chunk", isBytes: true, xLabel: "bytes a chunk", yLabel: "Mbit/s",
      caption: "Higher is faster. End to end holds copying in and out and synchronisation; kernel only is the cipher by itself.", rows: [...ours, ...theirs] });
    lines(parent, { id: "ctr-workers-tile", title: "Rate by size of a worker's private memory", isBytes: true, xLabel: "bytes of private memory", yLabel: "Mbit/s", caption: "Higher is faster.",
      rows: of("tile").map(s => named(s, s.factors.tile)) });
    const sent = published.ctr_workers.filter(row => row.implementation === "local-store workers" && row.chunk_bytes === "1024")
      .map(row => ({ name: `published ${row.processor}`, x: Number(row.workers), y: Number(row.mbit_per_s), published: true }));
    const kernels = (record?.series ?? []).filter(s => s.factors.part === "published" && s.factors.clock === "kernel" && s.factors.chunk === 1024)
      .map(s => point(s, s.factors.workers, `${s.variant}, ${s.factors.share === "weak" ? "100 KB each" : "600 KB in all"}`, ns => 8000 * s.bytes / ns));
    if (kernels.length)
      lines(parent, { id: "ctr-workers-kernel", title: "Timed as published: rate of the kernels alone", rows: [...kernels, ...sent], isBinary: true, xLabel: "workers", yLabel: "Mbit/s",
        caption: "Higher is faster. The clock runs from the meeting after copying in to the meeting after computing; chunks of 1 KB." });
    const devices = of("device");
    if (devices.length) {
      const atWorkers = devices.filter(s => s.bytes === 614400)
        .map(s => point(s, s.factors.workers, `${s.factors.device}: ${s.factors.kernel}, ${s.variant}`, ns => 8000 * s.bytes / ns));
      const processor = of("workers").filter(s => s.bytes === 614400 && s.factors.wait === "spin" && s.variant === "end-to-end")
        .map(s => point(s, s.factors.workers, "this processor, end-to-end", ns => 8000 * s.bytes / ns));
      lines(parent, { id: "ctr-workers-devices", title: "On graphics devices: rate by number of workers", rows: [...atWorkers, ...processor, ...sent], isBinary: true, xLabel: "workers", yLabel: "Mbit/s",
        caption: "600 KB as published. A worker is a group of threads with the device's own small memory; end to end holds the copies there and back." });
    }
    const phases = ["copy-in", "compute", "copy-out", "synchronisation"];
    const most = d3.max(of("workers"), s => s.factors.workers);
    heat(parent, { id: "ctr-workers-phases", title: "Where the time goes: microseconds of a run", unit: "µs", xLabel: "phase", yLabel: "workers", facet: "wait",
      caption: `600 KB as published, chunks of 1 KB; 1 to ${most} workers, with a host that spins or parks. Darker is longer.`,
      rows: (record?.series ?? []).filter(s => s.factors.part === "workers" && phases.includes(s.variant) && s.bytes === 614400)
        .map(s => ({ wait: s.factors.wait, x: s.variant, y: `${s.factors.workers} workers`, value: Math.max(0.01, median(s).estimate / 1000) })) });
  },

  "maze"(parent, record, published) {
    const theirs = published.maze_fps.filter(row => row.task === "generate").map(row => ({ name: `published ${row.gpu}`, x: Number(row.size), y: Number(row.frames_per_s), published: true }));
    const grown = (record?.series ?? []).filter(s => s.factors.task === "grow");
    const runner = s => `${s.factors.device}, ${s.variant}`;
    // A device that was too slow for all eight parts has no whole.
    const whole = d3.rollups(grown, parts => ({ isWhole: parts.length === 8, frames: d3.sum(parts, s => s.factors.frames), ns: d3.sum(parts, s => s.factors.frames * median(s).estimate) }), runner, s => s.factors.size)
      .flatMap(([name, sizes]) => sizes.filter(([, { isWhole }]) => isWhole).map(([x, { frames, ns }]) => ({ name, x, y: 1e9 * frames / ns })));
    lines(parent, { id: "maze-rate", title: "Frames per second while a maze grows", rows: split(whole, theirs), facet: "of", isBinary: true, xLabel: "cells along a side", yLabel: "frames/s",
      caption: "Higher is faster. Published: GPUs of phones and tablets, 2010 to 2013; 60 is the screens' limit. llvmpipe is a driver in software, on the processor's cores." });
    // Of the largest sizes the first and the last part alone are timed.
    const largest = d3.rollup(grown.filter(s => s.factors.part === 2), group => d3.max(group, s => s.factors.size), runner);
    const parts = grown.filter(s => s.factors.size === largest.get(runner(s)))
      .map(s => point(s, s.factors.part, `${runner(s)}, ${s.factors.size} cells a side`, ns => 1e9 / ns));
    lines(parent, { id: "maze-life", title: "Frames per second over a maze's life", rows: parts, xType: "linear", xLabel: "eighth of the frames in which it grows", yLabel: "frames/s",
      caption: "Where a line falls, full mazes cost more than empty ones: threads of one wave part ways at branches." });
    const branching = published.maze_branching.flatMap(row => [["first", row.first_frames_per_s], ["last", row.last_frames_per_s]]
      .filter(([, rate]) => rate !== "").map(([when, rate]) => ({ name: `${row.gpu}, ${row.variant === "branch" ? "branches" : "selects"}`, hue: row.gpu, x: Number(row.size), y: Number(rate), frames: `published, ${when} frames`, published: row.variant === "branch" })));
    const forms = grown.filter(s => ["branches", "selects"].includes(s.variant) && [1, 8].includes(s.factors.part))
      .map(s => ({ ...point(s, s.factors.size, runner(s), ns => 1e9 / ns), hue: s.factors.device, frames: `measured, ${s.factors.part === 1 ? "first" : "last"} frames`, published: s.variant === "branches" }));
    lines(parent, { id: "maze-forms", title: "Branches against selects, in the first and the last frames", rows: d3.sort([...forms, ...branching], row => row.frames), facet: "frames", isBinary: true, xLabel: "cells along a side", yLabel: "frames/s",
      caption: "Dashed: the form with branches and early returns; solid: the form with selects. Published: one rate stands for both where only one is given." });
    const named = ["all threads", "branches", "selects"];
    const ends = (record?.series ?? []).filter(s => ["grow", "fill"].includes(s.factors.task) && [1, 8].includes(s.factors.part) && named.includes(s.variant))
      .map(s => ({ ...point(s, s.factors.size, `${s.factors.task === "fill" ? "filling" : "growing"}, ${runner(s)}`, ns => 1e9 / ns), hue: runner(s), frames: s.factors.part === 1 ? "first frames" : "last frames", published: s.factors.task === "fill" }));
    if (ends.some(row => row.published))
      lines(parent, { id: "maze-ends", title: "Growing against filling, in the first and the last frames", rows: ends, facet: "frames", isBinary: true, xLabel: "cells along a side", yLabel: "frames/s",
        caption: "Solid: growing; dashed: filling dead ends." });
    const counted = (record?.series ?? []).filter(s => s.factors.dots && named.includes(s.variant)).map(s => point(s, s.factors.dots, runner(s), ns => 1e9 / ns));
    if (counted.length)
      lines(parent, { id: "maze-dots", title: "Frames per second by the number of dots", rows: counted, xLabel: "dots", yLabel: "frames/s", caption: "All dots begin in rooms of their own. Published: speed does not depend on their number." });
    const solved = (record?.series ?? []).filter(s => s.factors.task !== "grow" && s.factors.part === "all")
      .map(s => point(s, s.factors.size, `${s.factors.task === "fill" ? "dead ends" : "dots"}: ${runner(s)}`, ns => 1e9 / ns));
    const solving = published.maze_fps.filter(row => row.task === "solve").map(row => ({ name: `published ${row.gpu}`, x: Number(row.size), y: Number(row.frames_per_s), published: true }));
    lines(parent, { id: "maze-solve", title: "Frames per second while a maze is solved", rows: split(solved, solving), facet: "of", isBinary: true, xLabel: "cells along a side", yLabel: "frames/s",
      caption: "By filling dead ends, and by dots that wander." });
  },
};

// Measured rows above, published ones below: together they would need more hues than can be told apart.
function split(measured, published) {
  return [...measured.map(row => ({ ...row, of: "measured" })), ...published.map(row => ({ ...row, of: "published" }))];
}

function parse(buffer) {
  const found = /(\d+)/.exec(String(buffer ?? ""));
  return found ? Number(found[1]) : null;
}

function tails(parent, record, id, wanted) {
  const chosen = record.series.filter(s => wanted(s) && s.walls.length >= 5);
  const common = Object.keys(chosen[0]?.factors ?? {}).filter(key => chosen.every(s => String(s.factors[key]) === String(chosen[0].factors[key])));
  const name = s => [s.variant === "tail" ? "C program" : s.variant, ...Object.entries(s.factors).filter(([key]) => !common.includes(key)).map(([key, value]) => key === "threads" ? `${value} threads` : value)].join(", ");
  const rows = chosen.flatMap(s => s.walls.map(wall => ({ name: name(s), value: wall / median(s).estimate })));
  strip(parent, { id: `${id}-tail`, title: "Every run, in medians of its series", rows, xLabel: "times the median",
    caption: "Each stroke is a run. Right of the dashed line (10 medians) stand anomalous delays." });
}

function bars(parent, { id, title, caption, rows }) {
  const draw = width => Plot.plot({
    width, height: 50 + 32 * rows.length, marginLeft: 12, marginRight: 50, marginBottom: 44, style: LETTERS,
    x: { label: "MB/s per GHz", labelAnchor: "center", labelArrow: "none", grid: true, tickFormat: short, ticks: 5 },
    y: { type: "band", axis: null, domain: rows.map(row => row.y) },
    marks: [
      Plot.barX(rows, { x: "value", y: "y", fill: row => row.y.startsWith("measured") ? "var(--c0)" : "var(--c7)", insetTop: 19, insetBottom: 1 }),
      Plot.text(rows, { y: "y", text: row => `${row.y}: ${short(row.value)}`, frameAnchor: "left", dy: -7, fill: "currentColor", stroke: "var(--paper)", strokeWidth: 4 }),
    ],
  });
  figure(parent, { id, title, caption, rows: rows.map(row => ({ name: row.y, value: row.value })), draw });
}

function anyLines(parent, record) {
  const counts = new Map();
  for (const s of record.series) for (const [key, value] of Object.entries(s.factors)) if (typeof value === "number") counts.set(key, (counts.get(key) ?? new Set()).add(value));
  const factor = d3.greatest([...counts], ([, values]) => values.size)?.[0];
  if (!factor) return;
  const name = s => [s.variant, ...Object.entries(s.factors).filter(([key]) => key !== factor).map(([key, value]) => `${key} ${value}`)].join(", ");
  lines(parent, { id: `${record.experiment}-any`, title: `Time by ${factor}`, caption: "Lower is faster.", xLabel: factor, yLabel: "nanoseconds an operation",
    rows: record.series.filter(s => typeof s.factors[factor] === "number").map(s => point(s, s.factors[factor], name(s), ns => ns / perOperation(s))) });
}
