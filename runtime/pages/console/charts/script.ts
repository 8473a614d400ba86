/**
 * The script of charts: the legend shows the values of the step under the pointer or chosen by arrow keys.
 *
 * It reads them from the table of the chart, as the page shows them. Escape shows the sums again. Enter, or a click, opens the link
 * of the step where its row has one.
 */
export const CHART_SCRIPT = `"use strict";
function follow(chart) {
  const svg = chart.querySelector("svg.chart");
  const hit = svg.querySelector(".hit");
  const at = chart.querySelector(".legend .at");
  const values = [...chart.querySelectorAll(".legend b")];
  const rest = [at, ...values].map((each) => each.textContent);
  const rows = new Map([...chart.querySelectorAll("tr[data-step]")].map((row) => [Number(row.dataset.step), row]));
  const last = svg.viewBox.baseVal.width / 10 - 1;
  let step = -1;

  function show(next) {
    step = next;
    const row = rows.get(step);
    const texts = step < 0 ? rest : [...(row ? row.cells : [])].map((cell) => cell.textContent);
    [at, ...values].forEach((each, index) => (each.textContent = texts[index] ?? "\\u2013"));
    hit.classList.toggle("on", step >= 0);
    hit.setAttribute("x", String(Math.max(0, step) * 10));
    svg.setAttribute("aria-valuenow", String(Math.max(0, step)));
    svg.setAttribute("aria-valuetext", [...chart.querySelectorAll(".legend li")].map((each) => each.textContent.trim()).join(", "));
  }
  const stepAt = (event) => {
    const box = svg.getBoundingClientRect();
    return Math.min(last, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * (last + 1))));
  };
  const open = () => rows.get(step)?.querySelector("a")?.click();

  // With a script it is a control whose value is a step of time.
  svg.setAttribute("role", "slider");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("aria-valuemin", "0");
  svg.setAttribute("aria-valuemax", String(last));
  show(-1);
  svg.addEventListener("pointermove", (event) => show(stepAt(event)));
  svg.addEventListener("pointerleave", () => show(-1));
  svg.addEventListener("click", open);
  svg.addEventListener("blur", () => show(-1));
  svg.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: step < 0 ? last : step - 1, ArrowRight: step + 1, Home: 0, End: last, Escape: -1 };
    if (event.key === "Enter") return open();
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    show(event.key === "Escape" ? -1 : Math.min(last, Math.max(0, steps[event.key])));
  });
}
document.querySelectorAll("[data-chart]").forEach(follow);
`;
