/** The page runtime/COMPARISON.md and its plot, from figures that were measured. Pure. */
import { type Bar, barPlot } from "../../support/plot/bar-plot.ts";
import type { WorkName } from "./contender.ts";
import { containersSection } from "./containers/page.ts";
import type { Cell, Comparison, Row, Run } from "./figures.ts";
import { EVENTS } from "./sizes.ts";
import { tailFigures, tailSection } from "./tail/page.ts";
import { cellOf, cpuOf, HEADERS, isRough, OURS, residentOf } from "./values.ts";
import { MANY, WORKS } from "./works.ts";

const number = (value: number | undefined): string => {
  if (value === undefined) return "–";
  return value >= 10 ? Math.round(value).toLocaleString("en") : value.toFixed(1);
};
const millis = (micros: number): string => (micros >= 99_950 ? (micros / 1000).toFixed(0) : (micros / 1000).toFixed(1));

/** Cheapest MCP call first; what was not measured comes last. */
function sorted(rows: readonly Row[]): readonly Row[] {
  const key = (row: Row): number => cpuOf(row, "mcp") ?? cpuOf(row, "get") ?? Number.MAX_VALUE;
  return rows.filter(({ missing }) => missing === undefined).toSorted((a, b) => key(a) - key(b));
}

export function summaryRows({ rows, works }: Comparison): {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
} {
  const header = ["CPU µs", ...works.map(({ name }) => HEADERS[name]), "MiB", "idle ms/s"];
  return {
    header,
    rows: sorted(rows).map((row) => [
      row.title,
      ...cpuCells(row, works),
      number(residentOf(row)),
      number(row.idleMillisPerSecond),
    ]),
  };
}

/** A list that hides nothing is less work, so it is marked. */
const cpuCells = (row: Row, works: Comparison["works"]): readonly string[] =>
  works.map(({ name }) => {
    const isMarked = name === "list" && row.showsAllTools && cellOf(row, name) !== undefined;
    return `${number(cpuOf(row, name))}${isMarked ? "\\*" : ""}`;
  });

const title = (row: Row): string => (row.name === OURS ? `**${row.title}**` : row.title);

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  return line(header) + line(header.map((_, at) => (at === 0 ? "---" : "---:"))) + rows.map(line).join("");
}

export function renderPage(comparison: Comparison): string {
  const { rows } = comparison;
  const shown = sorted(rows);
  const fast = shown.filter(({ isSlow }) => !isSlow);
  return `# Comparison with other gateways

<!-- Written by \`npm run bench -- --gateways --page\`; do not edit. -->

What a request costs in Gateform, and in other gateways that a team could choose for the same task. All run on the same machine in the same
run, and take turns. Less is better in every table. How Gateform's cost grows with routes, rules, sessions, tools and streams:
[cost against size](CURVES.md).

${aboutRun(comparison)}

![Processor time a request, by gateway](comparison.svg)

## Processor time a request

Microseconds of user and system time of all processes of a gateway, with ${MANY} connections. "Event" is a ${EVENTS}th of an MCP call that is answered by
${EVENTS} events.

${cpuTable(comparison, shown)}
\\* The list shows all 50 tools. The others hide the 20 that the policy denies.

## One connection

One request at a time: microseconds of processor time, then latency.

${oneTable(fast)}
## Latency

Milliseconds with ${MANY} connections, p50 and p99. Each connection sends its next request when it has its response, so a gateway works at its limit.
The load generator and the upstream share the other core: below "upstream alone", there is nothing to measure.

${latencyTable(comparison, shown)}
${tailSection(comparison.tail, aboutPart(comparison, comparison.tail))}## Memory and idle time

Resident memory of all processes under load, in MiB, and processor time without any request, in milliseconds a second.

${table(
  ["", "MiB", "MiB, 1,000 routes", "idle ms/s", "programs"],
  shown
    .filter(({ processes }) => processes > 0)
    .map((row) => [
      title(row),
      number(residentOf(row)),
      number(residentOf(row, ["routes"])),
      number(row.idleMillisPerSecond),
      String(row.processes),
    ]),
)}
${containersSection(comparison.containers, aboutPart(comparison, comparison.containers))}## Where Gateform is not first

${losses(comparison, shown)}
## What each gateway does

The cheaper ones do less. Read a figure together with its row here.

${doesTable(rows)}
## What is missing

${missing(comparison)}
## How it is measured

- **Works**: GET of 1 KiB by a user who is allowed. MCP \`tools/call\` with a response of 4 KiB. The same on a path where the policy denies tools whose
  name starts with \`delete_\`. \`tools/list\` of 50 tools of which 20 are denied. An MCP call whose response is a stream of ${EVENTS} events, one each 5 ms. GET
  with 1,000 routes configured. GET over TLS 1.3 and HTTP/2, ${MANY} requests at once on few connections.
- **Verified before**: the allowed user gets the right response, events are not held back, each file of records grows. Another user, a request
  without credentials and a denied tool are refused. A row that fails this is missing. During the load, another status or length of a response
  makes the work missing.
- **Machine**: the gateway has one core; load generator and upstream have the other. Each gateway has one worker or thread, where it has such a setting.
  ${comparison.rounds} rounds of ${comparison.seconds} s after a warm-up, a longer one for programs that are compiled while they run; figures are medians.
- **Fairness**: the upstream counts connections; the table above says where a gateway does not keep them. Each gateway writes its records to a file; the table says which write
  them in batches. One user asks, always with the same credential: caches of sessions and tokens, in Gateform and in others, always hit. Configurations are in
  \`test/bench/gateways/rows/\`.

\`\`\`sh
# Needs this repository, Linux, root for Debian's packages, Python, Go.
npm ci
${comparison.command}
npm run bench -- --gateways --page
\`\`\`
`;
}

function aboutRun(comparison: Comparison): string {
  return aboutOf(comparison, `${comparison.rounds} rounds of ${comparison.seconds} s, `);
}

/** Of figures that were made in another run than the rest. */
function aboutPart(comparison: Comparison, part: { readonly run: Run } | undefined): string {
  return part === undefined || part.run.made === comparison.made ? "" : `${aboutOf(part.run, "")}\n\n`;
}

function aboutOf(run: Run, rounds: string): string {
  const { made, machine, tookSeconds, othersBefore, othersMeanwhile } = run;
  const percent = (share: number): string => `${Math.round(share * 100)} %`;
  return `Measured ${made.slice(0, 10)} at commit \`${machine.commit}\` on ${machine.processor}, ${machine.cores} cores, ${machine.memoryGibibytes} GiB, ${machine.system}, Node ${machine.node}: ${rounds}${Math.round(tookSeconds / 60)} minutes. Others used ${percent(othersBefore)} of the machine before it and ${percent(othersMeanwhile)} during it.${isRough(run) ? " **The machine was busy or the run short: the order of rows is right where they are far apart, the figures are not.**" : ""}`;
}

function cpuTable({ works }: Comparison, rows: readonly Row[]): string {
  return table(
    ["", ...works.map(({ name }) => HEADERS[name])],
    rows.filter(({ processes }) => processes > 0).map((row) => [title(row), ...cpuCells(row, works)]),
  );
}

const ONE_AT_A_TIME = WORKS.filter(({ connections }) => connections.includes(1)).map(({ name }) => name);

function oneTable(rows: readonly Row[]): string {
  const header = [
    "",
    ...ONE_AT_A_TIME.map((work) => `${HEADERS[work]}, CPU`),
    ...ONE_AT_A_TIME.map((work) => `${HEADERS[work]}, p50 / p99 ms`),
  ];
  return table(
    header,
    rows.map((row) => [
      title(row),
      ...ONE_AT_A_TIME.map((work) => number(cpuOf(row, work, 1))),
      ...ONE_AT_A_TIME.map((work) => latencies(cellOf(row, work, 1))),
    ]),
  );
}

const latencies = (cell: Cell | undefined): string =>
  cell === undefined ? "–" : `${millis(cell.p50)} / ${millis(cell.p99)}`;

function latencyTable({ works }: Comparison, rows: readonly Row[]): string {
  const timed = works.map(({ name }) => name).filter((name) => name !== "sse");
  return table(
    ["", ...timed.map((name) => HEADERS[name])],
    rows.map((row) => [title(row), ...timed.map((name) => latencies(cellOf(row, name)))]),
  );
}

/** Every figure in which another gateway that decides is better, by how much. */
function losses({ tail }: Comparison, rows: readonly Row[]): string {
  const ours = rows.find(({ name }) => name === OURS);
  if (ours === undefined) return "Gateform was not measured.\n";
  const others = rows.filter(({ name, processes, policy }) => name !== OURS && processes > 0 && policy !== "none");
  const figures: readonly { readonly what: string; readonly of: (row: Row) => number | undefined }[] = [
    ...(Object.keys(HEADERS) as WorkName[]).map((work) => ({
      what: `${HEADERS[work]}, processor time`,
      of: (row: Row) => (work === "list" && row.showsAllTools ? undefined : cpuOf(row, work)),
    })),
    ...ONE_AT_A_TIME.map((work) => ({
      what: `${HEADERS[work]}, one connection, processor time`,
      of: (row: Row) => cpuOf(row, work, 1),
    })),
    ...ONE_AT_A_TIME.map((work) => ({ what: `${HEADERS[work]}, p99`, of: (row: Row) => cellOf(row, work)?.p99 })),
    ...tailFigures(tail),
    { what: "memory", of: (row) => residentOf(row) },
    { what: "idle time", of: ({ idleMillisPerSecond }) => idleMillisPerSecond },
  ];
  const lines = figures.flatMap(({ what, of }) => {
    const own = of(ours);
    if (own === undefined) return [];
    const better = others
      .flatMap((row) => {
        const value = of(row);
        return value === undefined || value >= own ? [] : [{ name: row.title, value }];
      })
      .toSorted((a, b) => a.value - b.value);
    const [first] = better;
    if (first === undefined) return [];
    const factor =
      first.value > 0 ? `${(own / first.value).toFixed(1)} times ${first.name}` : `more than ${first.name}`;
    const rest = better.slice(1).map(({ name }) => name);
    return [`- ${what}: ${factor}${rest.length === 0 ? "" : `; also behind ${rest.join("; ")}`}\n`];
  });
  return lines.length === 0 ? "It is first in every figure of this run.\n" : lines.join("");
}

function doesTable(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ title: name, versions, identity, policy, record, notes, remarks }) =>
      `| ${name} | ${versions.join("; ") || "–"} | ${identity} | ${policy} | ${record} | ${[notes, ...remarks.map((text) => `**Observed**: ${text}.`)].join(" ")} |\n`,
  );
  return `| Gateway | From | Identity check | Policy | Record | More or less than others |\n|---|---|---|---|---|---|\n${lines.join("")}`;
}

/** Programs that no registry has. */
const NOWHERE =
  "- Pomerium, agentgateway, ToolHive, Kuadrant, Envoy AI Gateway: no package registry has their programs, and no program here is built from a copied repository.\n";

function missing({ rows }: Comparison): string {
  const one = (text: string): string => text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").slice(0, 300);
  const lines = rows.flatMap((row) =>
    row.missing === undefined
      ? Object.entries(row.works).flatMap(([work, { missing: reason }]) =>
          reason === undefined ? [] : [`- ${row.title}, ${HEADERS[work as WorkName]}: ${one(reason)}\n`],
        )
      : [`- ${row.title}: ${one(row.missing)}\n`],
  );
  return NOWHERE + lines.join("");
}

/** Three figures for the README, of the cheapest that verify users and of a common choice; none of a rough run. */
export function renderQuote(comparison: Comparison): string {
  const { rows } = comparison;
  const link = "[comparison](runtime/COMPARISON.md)";
  const mcpOf = (name: string): number | undefined => {
    const row = rows.find((each) => each.name === name);
    return row && cpuOf(row, "mcp");
  };
  const own = mcpOf(OURS);
  const factors = ["haproxy-jwt", "envoy-jwt-cached", "nginx-oauth2-proxy"].map((name) => {
    const other = mcpOf(name);
    return own === undefined || other === undefined ? "–" : (own / other).toFixed(1);
  });
  if (isRough(comparison) || factors.includes("–"))
    return `**Cost:** processor time, latency and memory of a request: ${link}.`;
  const [haproxy, envoy, proxy] = factors;
  return `**Cost:** an MCP call takes ${haproxy}, ${envoy} and ${proxy} times the processor time of HAProxy, Envoy and nginx + oauth2-proxy: ${link}.`;
}

const PLOTTED: readonly WorkName[] = ["get", "mcp", "tool"];

export function renderPlot({ rows, made, machine }: Comparison): string {
  const groups = PLOTTED.map((work) => ({
    name: HEADERS[work],
    bars: rows
      .filter(({ isSlow }) => !isSlow)
      .flatMap((row): Bar[] => {
        const value = cpuOf(row, work);
        if (value === undefined) return [];
        const colour = row.name === OURS ? 1 : row.policy === "none" ? 6 : 0;
        const { low, high } = cellOf(row, work)?.cpuMicros ?? { low: value, high: value };
        return [{ name: row.title, colour, value, low, high }];
      })
      .toSorted((a, b) => a.value - b.value),
  })).filter(({ bars }) => bars.length > 0);
  return barPlot({
    title: `Processor time a request, ${MANY} connections (${made.slice(0, 10)}, ${machine.cores} cores)`,
    xTitle: "microseconds, less is better (gray: no check)",
    groups,
  });
}
