/** The report as one page without scripts and without anything from elsewhere. Pure. */
import { escapeXml } from "../../support/plot/frame.ts";
import type { Machine } from "./machine.ts";
import type { Section, Table } from "./sections.ts";

export interface Report {
  /** ISO 8601. */
  readonly made: string;
  readonly command: string;
  readonly machine: Machine;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly isQuick: boolean;
  readonly tookSeconds: number;
  /** Load averages of 1, 5 and 15 minutes. */
  readonly loadBefore: string;
  readonly loadAfter: string;
  /** Of all cores, used by others before the first measurement and during all, 0 to 1. */
  readonly othersBefore: number;
  readonly othersMeanwhile: number;
  /** What was left out, and why. */
  readonly remarks: readonly string[];
  readonly sections: readonly Section[];
}

/** Above this others had too much of the machine for what is said of the clock. */
const BUSY = 0.1;

const STYLE = `
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 1260px; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { font-size: 1.25rem; margin: 2.6rem 0 .4rem; padding-top: .7rem; border-top: 1px solid #ddd; }
p { max-width: 52rem; margin: .4rem 0; color: #444; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 560px), 1fr)); gap: 1rem; margin: 1rem 0; }
.plots svg { width: 100%; height: auto; border: 1px solid #eee; border-radius: 6px; }
.scroll { overflow-x: auto; margin: .8rem 0 1.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; white-space: nowrap; }
th, td { padding: .22rem .8rem; text-align: right; border-bottom: 1px solid #eee; white-space: nowrap; }
th { font-weight: 600; border-bottom-color: #bbb; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td.goal, td.moonshot { color: #1a7431; font-weight: 600; } td.not-reached { color: #a33; }
.busy { background: #fff4e5; border-left: 4px solid #e69f00; padding: .5rem .8rem; }
code { font-size: .92em; background: #f4f4f4; padding: .1em .3em; border-radius: 3px; }
nav { margin: .8rem 0; } nav a { margin-right: 1rem; }
@media print { h2 { break-after: avoid; } svg, tr { break-inside: avoid; } }
`;

export function renderReport(report: Report): string {
  const { sections } = report;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Gateway: benchmark</title><style>${STYLE}</style></head>
<body>
<h1>What a request costs</h1>
${about(report)}
<nav>${sections.map(({ name, title }) => `<a href="#${name}">${escapeXml(title)}</a>`).join("")}<a href="#method">Method and machine</a></nav>
${sections.map(renderSection).join("\n")}
${method(report)}
</body>
</html>
`;
}

function about({ made, machine, isQuick, othersBefore, othersMeanwhile, remarks }: Report): string {
  const percent = (share: number): string => `${Math.round(share * 100)} %`;
  const quick = isQuick ? " A quick run: few and short rounds, good for a look and not for a claim." : "";
  const others = `Others used ${percent(othersBefore)} of the machine before it, ${percent(othersMeanwhile)} during it.`;
  const isBusy = othersBefore > BUSY || othersMeanwhile > BUSY;
  const busy = isBusy ? " Ratios of processor time hold roughly; latency, throughput and start do not." : "";
  return `<p>Made ${escapeXml(made)} from commit <code>${escapeXml(machine.commit)}</code>.${quick}</p>
<p${isBusy ? ' class="busy"' : ""}>${others}${busy}</p>
${remarks.map((remark) => `<p>${escapeXml(remark)}</p>`).join("\n")}`;
}

function renderSection({ name, title, about: paragraphs, tables, plots }: Section): string {
  return `<section id="${name}"><h2>${escapeXml(title)}</h2>
${paragraphs.map((paragraph) => `<p>${escapeXml(paragraph)}</p>`).join("\n")}
${plots.length > 0 ? `<div class="plots">\n${plots.join("\n")}</div>` : ""}
${tables.map(renderTable).join("\n")}
</section>`;
}

function renderTable({ caption, header, rows }: Table): string {
  const cell = (value: string): string => {
    const kind = ["goal", "moonshot", "not reached"].includes(value) ? ` class="${value.replace(" ", "-")}"` : "";
    return `<td${kind}>${escapeXml(value)}</td>`;
  };
  return `<div class="scroll"><table>${caption === undefined ? "" : `<caption>${escapeXml(caption)}</caption>`}
<thead><tr>${header.map((title) => `<th>${escapeXml(title)}</th>`).join("")}</tr></thead>
<tbody>${rows.map((row) => `<tr>${row.map(cell).join("")}</tr>`).join("\n")}</tbody></table></div>`;
}

function method({
  machine,
  command,
  rounds,
  seconds,
  connections,
  tookSeconds,
  loadBefore,
  loadAfter,
}: Report): string {
  const { processor, cores, memoryGibibytes, system, node, versions } = machine;
  const rows = [
    ["command", command],
    ["took", `${Math.round(tookSeconds / 60)} min ${Math.round(tookSeconds % 60)} s`],
    ["rounds", `${rounds} of ${seconds} s, ${connections} connections`],
    ["machine", `${processor}, ${cores} cores, ${memoryGibibytes} GiB`],
    ["system", `${system}, Node ${node}`],
    ["load before and after (1, 5, 15 minutes)", `${loadBefore} · ${loadAfter}`],
    ...versions.map(({ name, version }) => [name, version]),
  ];
  return `<section id="method"><h2>Method and machine</h2>
<p>Everything is on loopback, with kept connections. Each proxy runs on the first core alone, one worker or thread each; the client and a fast upstream (raw sockets, a fixed answer) share the second one. Processor time is what the kernel's scheduler counted for the process and all its children. Rounds go over all proxies in turn, so that a slow minute hits all alike; ratios are taken within a round, and their median is given with the quartiles. The configurations of all are in <code>test/bench/peers/</code>; <code>report.json</code> beside this page has every figure.</p>
${renderTable({ header: ["", ""], rows })}
</section>`;
}
