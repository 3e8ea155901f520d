// The two views: the maze, and the lab's page of records in a frame, which is loaded when it is first wanted.

export function tabs(): (index: number) => void {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>("[role=tab]")];
  const panels = buttons.map(button => document.getElementById(button.getAttribute("aria-controls")!)!);
  const show = (index: number) => {
    buttons.forEach((button, at) => {
      button.setAttribute("aria-selected", String(at === index));
      button.tabIndex = at === index ? 0 : -1;
      panels[at]!.hidden = at !== index;
    });
    const report = document.getElementById("report")!;
    if (!report.hidden && !report.firstChild) {
      const frame = document.createElement("iframe");
      frame.title = "When does parallelism pay? The lab's records";
      frame.src = "./report.html";
      report.append(frame);
    }
  };
  buttons.forEach((button, index) => {
    button.addEventListener("click", () => show(index));
    button.addEventListener("keydown", event => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (index + step + buttons.length) % buttons.length;
      show(next);
      buttons[next]!.focus();
    });
  });
  return show;
}
