/** The page's part about small containers. Pure. */
import { OURS } from "../values.ts";
import type { ContainerRow, Containers, ContainerStep } from "./figures.ts";

const millis = (value: number | undefined): string => {
  if (value === undefined) return "–";
  return value >= 9.95 ? Math.round(value).toLocaleString("en") : value.toFixed(1);
};
const count = (value: number): string => value.toLocaleString("en");

const isSame = (a: ContainerStep, b: ContainerStep): boolean =>
  a.ratePerSecond === b.ratePerSecond && a.count === b.count;

const WORDS: Readonly<Record<string, string>> = { timeout: "no response", closed: "connection closed" };

/** "all; 3.0 / 12", "1,469 of 1,500; 81 / 1,170; 31 × 503". */
function stepText(step: ContainerStep | undefined): string {
  if (step === undefined) return "–";
  const { requests, served, failures, p50, p99, isKilled } = step;
  const failed = Object.entries(failures).map(([reason, many]) => `${count(many)} × ${WORDS[reason] ?? reason}`);
  return [
    served === requests ? "all" : `${count(served)} of ${count(requests)}`,
    ...(served === 0 ? [] : [`${millis(p50)} / ${millis(p99)}`]),
    ...failed,
    ...(isKilled ? ["**killed**"] : []),
  ].join("; ");
}

/** @param about when it was measured, if not with the rest of the page */
export function containersSection(containers: Containers | undefined, about: string): string {
  if (containers === undefined) return "";
  const { rows, missing, timeoutSeconds, readAheadKibibytes } = containers;
  const title = "## Small containers\n\n";
  if (missing !== undefined) return `${title}${about}Not measured: ${missing.replaceAll(/\s+/g, " ")}.\n\n`;
  const [longest] = rows.map(({ steps }) => steps).toSorted((a, b) => b.length - a.length);
  const steps = longest ?? [];
  const header = [
    "",
    "Limits",
    "ready after",
    ...steps.map(({ ratePerSecond, count: burst }) =>
      ratePerSecond === undefined ? `${count(burst ?? 0)} at once` : `${count(ratePerSecond)}/s`,
    ),
    "MiB",
  ];
  const line = (texts: readonly string[]): string => `| ${texts.join(" | ")} |\n`;
  return `${title}${about}MCP calls to one gateway within a control group of a part of one core and little memory, which holds its program as well. It is
started there and not warmed up. Requests become due at a fixed rate, or all at once, on up to 2,000 connections of 50 clients, which give up after
${timeoutSeconds} s. Before each step a gateway has up to 30 s to finish what clients gave up in the one before. Each has the limit in its settings as its documentation
recommends: oauth2-proxy by \`GOMEMLIMIT\` (90 %), Envoy by its overload manager (80 %); Gateform reads the limit itself. Envoy has
256 connections to the upstream, and other requests wait: with its defaults (1,024 of each) it is short of memory in the smaller container, or answers 503. Each entry: requests with the right response; p50 / p99 of those, in milliseconds from when they were due; the others by status.
"MiB" is the largest working set: memory of the process, and of files that were read lately.${
    readAheadKibibytes === undefined
      ? ""
      : ` Near the limit, parts of the program are dropped and read
again, ${count(readAheadKibibytes)} KiB at a time.`
  }

${line(header)}${line(header.map((_, at) => (at < 2 ? "---" : "---:")))}${rows.map((row) => line(rowOf(row, steps))).join("")}
`;
}

function rowOf(row: ContainerRow, steps: readonly ContainerStep[]): readonly string[] {
  const { size, startSeconds, missing, kills } = row;
  const name = row.name === OURS ? `**${row.title}**` : row.title;
  const limits = `${size.cpus} cores, ${size.mebibytes} MiB`;
  const killed = kills > 0 ? `, killed${kills === 1 ? "" : ` ${kills} times`}` : "";
  if (missing !== undefined)
    return [
      name,
      limits,
      `does not run: ${missing.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").slice(0, 150)}${killed}`,
      ...steps.map(() => "–"),
      "–",
    ];
  return [
    name,
    limits,
    startSeconds === undefined ? "–" : `${startSeconds.toFixed(1)} s`,
    ...steps.map((step) => stepText(row.steps.find((each) => isSame(each, step)))),
    `${Math.max(0, ...row.steps.map(({ peakMebibytes }) => peakMebibytes))}${killed}`,
  ];
}
