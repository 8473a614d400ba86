/** What `gateway check` prints. */
import { formatProblem, loadSlices, type SliceSource } from "./load.ts";

/** @returns every problem of all sources together and a summary; `ok` when nothing is an error */
export function checkFiles(sources: readonly SliceSource[]): { readonly text: string; readonly ok: boolean } {
  const { problems, config } = loadSlices(sources);
  const lines = problems.map((problem) => formatProblem(problem));
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const counts = `${plural(errors, "error")}, ${plural(problems.length - errors, "warning")}`;
  if (!config) return { text: [...lines, `bad: ${counts}`].join("\n"), ok: false };
  const summary = `good: ${plural(config.routes.length, "route")}, ${counts}, digest ${config.digest.slice(0, 12)}`;
  return { text: [...lines, summary].join("\n"), ok: true };
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
