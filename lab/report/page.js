"use strict";
// The page: the questions with their answers first, then a section for each experiment.

const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const themeButton = document.getElementById("theme");

function setTheme(theme) {
  root.dataset.theme = theme;
  root.style.colorScheme = theme;
  themeButton.textContent = theme === "dark" ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", `Switch to ${theme === "dark" ? "light" : "dark"} colours`);
}
const system = matchMedia("(prefers-color-scheme: dark)");
setTheme(system.matches ? "dark" : "light");
system.addEventListener("change", () => setTheme(system.matches ? "dark" : "light"));
themeButton.addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));

const measured = data.experiments.filter(experiment => experiment.record);
const clocks = d3.groups(measured, ({ record }) => `${record.machine.processor}, ${record.machine.cores} cores`);
const machines = clocks.map(([name, of]) => {
  const [least, most] = d3.extent(of, ({ record }) => record.machine.clock_gigahertz).map(clock => clock.toFixed(1));
  return `${name} at ${least === most ? least : `${least} to ${most}`} GHz`;
});
document.getElementById("summary").textContent = measured.length
  ? `Published experiments of 2007 to 2024, run again on ${machines.join("; ")}. Every time stands for a result that was checked against an independent implementation.`
  : "No records yet: run `cipherloom-lab run all`, then make this page again.";

for (const experiment of data.experiments) {
  const { record } = experiment;
  const answer = record?.answers[0];
  document.getElementById("questions").append(element("article", { className: "card" },
    element("h3", {}, element("a", { href: `#${experiment.name}` }, experiment.title)),
    element("p", { className: "asked" }, experiment.question),
    record?.warnings.length ? element("p", { className: "hint" }, "Hints, no results: see the warning below.") : null,
    element("p", { className: answer ? "answer" : "answer none" }, answer?.sentence ?? "Not measured yet.")));
}

if (data.damaged.length) {
  document.getElementById("damaged").append(element("div", { className: "warning", role: "note" },
    element("h3", {}, `${data.damaged.length === 1 ? "One record" : `${data.damaged.length} records`} could not be read`),
    element("ul", {}, ...data.damaged.map(words => element("li", {}, words)))));
}

const parsed = texts => Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, d3.csvParse(text)]));
for (const experiment of data.experiments) {
  const { name, title, question, record, published } = experiment;
  const section = element("section", { id: name, "aria-labelledby": `${name}-title` },
    element("h2", { id: `${name}-title` }, title), element("p", { className: "asked" }, question));
  document.getElementById("sections").append(section);
  if (!record) section.append(element("p", { className: "none" }, Object.keys(published).length ? "Not measured yet; the published figures:" : "Not measured yet."));
  if (record) about(section, record);
  const draw = EXPERIMENTS[name];
  if (draw) draw(section, record, parsed(published)); else if (record) anyLines(section, record);
  if (record) behind(section, record);
}

function about(section, record) {
  if (record.warnings.length) section.append(element("div", { className: "warning", role: "note" },
    element("h3", {}, "Take these numbers as hints"), ...record.warnings.map(words => element("p", {}, words))));
  const list = element("dl", { className: "answers" });
  for (const answer of record.answers) list.append(element("dt", {}, answer.question), element("dd", {}, element("span", { className: `basis ${answer.basis}` }, answer.basis), ` ${answer.sentence}`));
  section.append(list);
  if (record.pictures.length) {
    section.append(element("div", { className: "pictures" }, ...record.pictures.map(picture => element("figure", {},
      element("img", { src: `data:image/png;base64,${picture.png_base64}`, alt: picture.caption }),
      element("figcaption", {}, picture.caption)))));
  }
}

function behind(section, record) {
  const rows = record.answers.flatMap(answer => answer.effects)
    .map(({ name, value, unit, probability }) => ({ name, unit, estimate: value.estimate, low: value.low, high: value.high, rounds: value.rounds ?? 0, p: probability }));
  const named = d3.groups(rows, row => row.unit + row.name).map(([, [row]]) => row);
  if (named.length > 1) effects(section, `${record.experiment}-effects`, named);
  const moments = (record.load.over_time ?? []).flatMap(({ until, others, stolen }) => [["other processes", others], ["the hypervisor", stolen]]
    .map(([name, share]) => ({ name, x: until, y: 100 * share })));
  if (moments.length > 3) load(section, `${record.experiment}-load`, moments);
  for (const { title, columns, rows } of record.tables) {
    const lines = rows.map(row => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
    section.append(element("details", {}, element("summary", {}, title), table(lines, columns)));
  }
  const { machine, build } = record;
  const facts = {
    record: `${record.file}, ${record.extent} run of ${Math.round(record.seconds)} s, begun ${record.started}, seed ${record.seed}`,
    processor: `${machine.processor} (${machine.signature}), ${machine.cores} cores, ${machine.clock_gigahertz.toFixed(2)} GHz measured${machine.is_virtual ? ", virtual" : ""}`,
    flags: machine.flags.join(" "),
    caches: machine.caches.map(cache => `L${cache.level} ${cache.kind} ${bytes(cache.bytes)}`).join(", "),
    memory: bytes(machine.memory_bytes), kernel: machine.kernel, governor: machine.governor ?? "not told",
    load: `${Math.round(100 * record.load.others_during)}% of the processors taken by others, ${Math.round(100 * record.load.stolen_during)}% by the hypervisor; averages ${record.load.average_before} before, ${record.load.average_after} after`,
    compiler: build.compiler, commit: build.commit + (build.uncommitted_changes ? " with uncommitted changes" : ""),
    versions: Object.entries(build.versions).map(([name, version]) => `${name} ${version}`).join(", "),
    parameters: Object.entries(record.parameters).map(([name, value]) => `${name} ${value}`).join(", "),
    published: record.published ? `${record.published.file}: ${record.published.origin}` : "none",
  };
  const rowsOf = Object.entries(facts).map(([fact, value]) => ({ fact, value }));
  section.append(element("details", { className: "machine" }, element("summary", {}, "Machine, build and run"), table(rowsOf, ["fact", "value"])));
  const remarks = [...record.notes, ...record.excluded.map(out => `${out.variant} ${out.was_wrong ? "gave a wrong result" : "could not run"}: ${out.reason}`)];
  if (remarks.length) section.append(element("details", {}, element("summary", {}, `Notes (${remarks.length})`), element("ul", {}, ...remarks.map(words => element("li", {}, words)))));
}
