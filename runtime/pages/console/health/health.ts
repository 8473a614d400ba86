/** The console's page of health: problems, how requests fare, who runs what, then what the gateway depends on. */
import { html, type Html, type HtmlValue } from "../../html.ts";
import { columnChart, type ColumnParts, lineChart, type LineParts } from "../charts/chart.ts";
import { icon } from "../icons.ts";
import { badge, consoleTime, type FilterField, filterForm, sourceFailed, type Tone } from "../pieces.ts";

export interface HealthProblem {
  readonly tone: "bad" | "warn";
  readonly text: string;
  /** Lines of those who say so. */
  readonly details: readonly string[];
  readonly advice: string;
  /** Heading in the documentation. */
  readonly read: string;
  /** Processes; none: of all. */
  readonly where: readonly string[];
  /** The page on which it is fixed or explained. */
  readonly href?: string;
  /** Milliseconds since the epoch; absent: unknown. */
  readonly sinceMs?: number;
}

export interface ProcessRow {
  readonly name: string;
  readonly isOwn: boolean;
  /** More than one if its configuration is out of date. */
  readonly states: readonly (readonly [tone: Tone, text: string])[];
  /** "" for one that tells nothing but that it lives; so are the fields that may be absent. */
  readonly version: string;
  readonly upSince?: number;
  /** Digest of the active configuration. */
  readonly digest: string;
  readonly published?: string;
  readonly loadedAt?: number;
  readonly loop?: string;
  readonly memory?: string;
  readonly streams?: number;
  readonly connections?: number;
}

/** One line of a card: its name, what is known of it, and its state. */
export interface StateRow {
  readonly tone: Tone;
  readonly name: string;
  readonly href?: string;
  readonly text: readonly HtmlValue[];
  readonly state: string;
}

export interface HealthParts {
  /** Path of the page. */
  readonly path: string;
  /** "The store". */
  readonly failed: readonly string[];
  readonly problems: readonly HealthProblem[];
  readonly latency: LineParts;
  readonly requests: ColumnParts;
  /** "per minute" */
  readonly step: string;
  readonly charts: readonly LineParts[];
  /** What the charts are about: "All routes". */
  readonly plotted: string;
  readonly filter: FilterField;
  /** Fields of the address that the filter keeps. */
  readonly kept: readonly (readonly [name: string, value: string])[];
  readonly processes: readonly ProcessRow[];
  readonly certificates: readonly StateRow[];
  readonly upstreams: readonly StateRow[];
  readonly dependencies: readonly StateRow[];
}

export function healthBody(parts: HealthParts): Html {
  const { latency, requests, step, processes, certificates, upstreams, dependencies } = parts;
  return html`${parts.failed.map((source) => sourceFailed(source))} ${problemCard(parts.problems)}
    <div id="traffic">
      ${filterForm(parts.path, [parts.filter], parts.kept)}
      <p class="dim">${parts.plotted}</p>
    </div>
    <div class="grid">
      ${chartCard(latency.title, "log scale", lineChart(latency))}
      ${chartCard(requests.title, step, columnChart(requests))}
      ${parts.charts.map((each) => chartCard(each.title, "", lineChart(each)))}
    </div>
    <div class="grid">
      ${processCard(processes)}
      ${rowsCard("c5", "Certificates", certificates, "No certificates: TLS is terminated elsewhere or not used.")}
    </div>
    <div class="grid">
      ${rowsCard("c6", "Upstreams", upstreams, "No health checks, and no requests in the last 15 minutes.", html`<a href="/.gateway/console/servers">All<span class="hidden"> servers and apps</span></a>`)}
      ${dependencies.length > 0 && rowsCard("c6", "Sign-in, store and destinations", dependencies, "")}
    </div>`.withoutIndentation();
}

function problemCard(problems: readonly HealthProblem[]): Html {
  const isBad = problems.some(({ tone }) => tone === "bad");
  return html`<section class="card" aria-labelledby="problems">
    <header>
      <h2 id="problems">Problems</h2>
      ${problems.length > 0 && html`<span class="count ${isBad ? "alarm" : "attn"}">${problems.length}</span>`}
    </header>
    ${
      problems.length === 0
        ? html`<div class="none" role="status">
            ${icon("allowed")}
            <p><strong>No problems detected.</strong></p>
          </div>`
        : html`<ul class="rows">
            ${problems.map(problemRow)}
          </ul>`
    }
  </section>`;
}

function problemRow({ tone, text, details, advice, read, where, href, sinceMs }: HealthProblem): Html {
  const title = html`<span class="hidden">${tone === "bad" ? "Error: " : "Warning: "}</span>${text}`;
  return html`<li>
    <span class="mark ${tone}">${icon(tone === "bad" ? "close" : "warning")}</span>
    <div class="grow">
      <h3>${href === undefined ? title : html`<a class="plain" href="${href}">${title}</a>`}</h3>
      ${details.map((each) => html`<p><code>${each}</code></p>`)}
      <p>${advice} ${where.length > 0 && html`Reported by ${where.join(", ")}. `}See the documentation, “${read}”.</p>
    </div>
    ${sinceMs !== undefined && html`<span class="since">since ${consoleTime(sinceMs, "minute")}</span>`}
    ${href !== undefined && html`<a class="button" href="${href}">Open<span class="hidden">: ${text}</span></a>`}
  </li>`;
}

function chartCard(title: string, note: string, drawn: Html): Html {
  return html`<section class="card c6">
    <header>
      <h2>${title}</h2>
      ${note !== "" && html`<span class="small">${note}</span>`}
    </header>
    <div class="in">${drawn}</div>
  </section>`;
}

function processCard(rows: readonly ProcessRow[]): Html {
  const versions = [...new Set(rows.flatMap(({ version }) => (version === "" ? [] : version)))];
  const isSame = versions.length <= 1;
  return html`<section class="card c7">
    <header><h2 id="processes-head">Replicas and workers</h2></header>
    <div class="scroll fold" role="region" aria-labelledby="processes-head" tabindex="0">
      <table id="processes">
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col">State</th>
            <th scope="col">Active configuration</th>
            <th scope="col" class="number wide-only">Loop lag</th>
            <th scope="col" class="number wide-only">Memory</th>
            <th scope="col" class="number wide-only">Streams</th>
            <th scope="col" class="number wide-only extra">Connections</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map((row) => processRow(row, isSame))}
        </tbody>
      </table>
    </div>
    ${isSame && versions.length === 1 && html`<p class="note-below">Version ${versions[0]}</p>`}
  </section>`;
}

function processRow(row: ProcessRow, isSameVersion: boolean): Html {
  const { upSince, loadedAt } = row;
  const version = isSameVersion || row.version === "" ? "" : `version ${row.version}, `;
  return html`<tr>
    <th scope="row" class="a1">
      ${row.name} ${row.isOwn && html`<span class="badge">this replica</span>`}
      ${upSince !== undefined && html`<br /><small>${version}up since ${consoleTime(upSince * 1000, "minute")}</small>`}
    </th>
    <td class="a2">${row.states.map(([tone, text]) => html`${badge(tone, text)} `)}</td>
    <td class="b1">
      <code>${row.digest}</code> ${row.published}
      ${loadedAt !== undefined && html`<small>since ${consoleTime(loadedAt * 1000, "minute")}</small>`}
    </td>
    <td class="number wide-only">${row.loop}</td>
    <td class="number wide-only">${row.memory}</td>
    <td class="number wide-only">${row.streams}</td>
    <td class="number wide-only extra">${row.connections}</td>
  </tr>`;
}

/** @param empty a sentence instead of rows */
function rowsCard(width: string, title: string, rows: readonly StateRow[], empty: string, link?: Html): Html {
  return html`<section class="card ${width}">
    <header>
      <h2>${title}</h2>
      ${link}
    </header>
    ${
      rows.length === 0
        ? html`<p class="none">${empty}</p>`
        : html`<ul class="rows">
            ${rows.map(stateRow)}
          </ul>`
    }
  </section>`;
}

function stateRow({ tone, name, href, text, state }: StateRow): Html {
  const parts = text.filter((each) => each !== "" && each !== false && each !== undefined);
  return html`<li>
    <span class="mark ${tone}"
      >${icon(tone === "good" || tone === "quiet" ? "check" : tone === "bad" ? "close" : "warning")}</span
    >
    <div class="grow">
      <h3>${href === undefined ? name : html`<a class="plain" href="${href}">${name}</a>`}</h3>
      <p>${parts.map((each, index) => html`${index > 0 && " · "}${each}`)}</p>
    </div>
    ${badge(tone, state)}
  </li>`;
}
