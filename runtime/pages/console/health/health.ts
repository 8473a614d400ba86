/** The console's page of health: what is wrong, then who runs what, then how requests fare. */
import { html, type Html, type HtmlValue } from "../../html.ts";
import {
  badge,
  card,
  type TableColumn,
  consoleTime,
  emptyState,
  filterForm,
  type FilterField,
  sourceFailed,
  table,
  type Tone,
} from "../pieces.ts";
import { lineChart, type LineParts } from "../charts/chart.ts";

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
  readonly state: readonly [tone: Tone, text: string];
  /** "" for one that tells nothing but that it lives; so are the fields that may be absent. */
  readonly version: string;
  readonly upSince?: number;
  /** Of what is in force. */
  readonly digest: string;
  readonly published?: string;
  readonly loadedAt?: number;
  readonly configuration: readonly [tone: Tone, text: string];
  readonly loop?: string;
  readonly memory?: string;
  readonly streams?: number;
  readonly connections?: number;
}

export interface UpstreamRow {
  readonly route: string;
  readonly upstream: string;
  readonly state: readonly [tone: Tone, text: string];
  readonly why: string;
  readonly where: string;
}

export interface CertificateRow {
  readonly names: string;
  readonly listener: string;
  readonly owner: string;
  /** Milliseconds since the epoch. */
  readonly ends: number;
  readonly left: readonly [tone: Tone, text: string];
}

export interface RefreshRow {
  readonly of: string;
  readonly result: string;
  readonly count: number;
  readonly lastAt: number;
  readonly route: string;
}

/** A record store, a sink or the webhook of one process. */
export interface ReceiverRow {
  readonly name: string;
  readonly state: readonly [tone: Tone, text: string];
  readonly where: string;
  readonly waiting: number;
  readonly lost: number;
  readonly lastSuccessAt?: number;
  readonly lastError: string;
}

export interface ProviderRow {
  readonly name: string;
  readonly state: readonly [tone: Tone, text: string];
  readonly askedAt: number;
  readonly why: string;
}

export interface HealthParts {
  /** Path of the page. */
  readonly path: string;
  /** "The store". */
  readonly failed: readonly string[];
  readonly problems: readonly HealthProblem[];
  readonly processes: readonly ProcessRow[];
  readonly upstreams: readonly UpstreamRow[];
  /** Beyond those that are shown. */
  readonly moreUpstreams: number;
  readonly certificates: readonly CertificateRow[];
  readonly refreshes: readonly RefreshRow[];
  readonly providers: readonly ProviderRow[];
  readonly receivers: readonly ReceiverRow[];
  readonly charts: readonly LineParts[];
  /** What the plots are of: "All routes". */
  readonly plotted: string;
  readonly filters: readonly FilterField[];
}

export function healthBody(parts: HealthParts): Html {
  return html`${parts.failed.map((source) => sourceFailed(source))} ${problemList(parts.problems)}
    <h2>Replicas and workers</h2>
    ${processTable(parts.processes)}
    <h2 id="traffic">Requests over time</h2>
    ${filterForm(parts.path, parts.filters)}
    <p class="dim">${parts.plotted}</p>
    <div class="plots">${parts.charts.map((each) => card(each.title, lineChart(each)))}</div>
    <h2>Upstreams</h2>
    ${upstreamTable(parts)}
    <h2>Certificates</h2>
    ${certificateTable(parts.certificates)} ${parts.providers.length > 0 && providerTable(parts.providers)}
    <h2>Token refresh failures</h2>
    ${refreshTable(parts.refreshes)} ${parts.receivers.length > 0 && receiverTable(parts.receivers)}`;
}

function count(number: number, name: string): string {
  return `${number} ${name}${number === 1 ? "" : "s"}`;
}

function problemList(problems: readonly HealthProblem[]): Html {
  const broken = problems.filter(({ tone }) => tone === "bad").length;
  const counts = [
    broken > 0 && count(broken, "error"),
    problems.length > broken && count(problems.length - broken, "warning"),
  ];
  if (problems.length === 0) return html`<p class="told" role="status">No problems detected.</p>`;
  return html`<section aria-labelledby="problems">
    <h2 id="problems">Problems: ${counts.filter(Boolean).join(", ")}</h2>
    ${problems.map(
      ({ tone, text, details, advice, read, where }) =>
        html`<article class="card problem">
          <h3>${badge(tone, tone === "bad" ? "Error" : "Warning")} ${text}</h3>
          ${
            details.length > 0 &&
            html`<ul>
              ${details.map((each) => html`<li><code>${each}</code></li>`)}
            </ul>`
          }
          <p>
            ${advice}
            <span class="dim">
              ${where.length > 0 && `Reported by ${where.join(", ")}.`} See the documentation, “${read}”.
            </span>
          </p>
        </article>`,
    )}
  </section>`;
}

const state = ([tone, text]: readonly [Tone, string]): Html => badge(tone, text);

const PROCESSES: readonly TableColumn[] = [
  { name: "Process", kind: "wide", isHead: true },
  { name: "State", kind: "short" },
  { name: "Active configuration", kind: "short" },
  { name: "Configuration", kind: "short" },
  { name: "Event loop lag (p99)", kind: "number" },
  { name: "Memory", kind: "number" },
  { name: "Streams", kind: "number" },
  { name: "Connections", kind: "number" },
];

function processTable(rows: readonly ProcessRow[]): Html {
  return table({
    id: "processes",
    caption: "Replicas and workers",
    columns: PROCESSES,
    rows: rows.map((row) => [
      html`${row.name} ${row.isOwn && html`<strong class="badge">this replica</strong>`}
      ${row.upSince !== undefined && html`<br /><small>version ${row.version}, since ${consoleTime(row.upSince * 1000, "minute")}</small>`}`,
      state(row.state),
      html`<code>${row.digest}</code> ${row.published}
        ${row.loadedAt !== undefined && html`<br /><small>since ${consoleTime(row.loadedAt * 1000, "minute")}</small>`}`,
      state(row.configuration),
      row.loop,
      row.memory,
      row.streams,
      row.connections,
    ]),
    empty: emptyState("No processes reported", "Processes report every 10 seconds."),
  });
}

function upstreamTable({ upstreams, moreUpstreams }: HealthParts): Html {
  const shown = table({
    id: "upstreams",
    caption: "Upstreams, unavailable first",
    columns: [
      { name: "Upstream", isHead: true, kind: "wide" },
      { name: "Route", kind: "wide" },
      { name: "State", kind: "short" },
      { name: "Reason", kind: "wide" },
      { name: "Reported by" },
    ],
    rows: upstreams.map((row) => [html`<code>${row.upstream}</code>`, row.route, state(row.state), row.why, row.where]),
    empty: emptyState(
      "No upstream status",
      "Single upstreams without health checks have no status. Their failures are in the charts.",
    ),
  });
  return html`${shown}${moreUpstreams > 0 && html`<p class="dim">${moreUpstreams} more take requests.</p>`}`;
}

function certificateTable(rows: readonly CertificateRow[]): Html {
  return table({
    id: "certificates",
    caption: "Listener certificates, earliest expiry first",
    columns: [
      { name: "Names", isHead: true, kind: "wide" },
      { name: "Listener", kind: "short" },
      { name: "Owner", kind: "short" },
      { name: "Expires", kind: "short" },
      { name: "Remaining", kind: "short" },
    ],
    rows: rows.map((row) => [row.names, row.listener, row.owner, consoleTime(row.ends, "minute"), state(row.left)]),
    empty: emptyState("No certificates", "TLS is terminated elsewhere or not used."),
  });
}

function providerTable(rows: readonly ProviderRow[]): Html {
  return html`<h2>Identity providers</h2>
    ${table({
      id: "providers",
      caption: "Last metadata request per provider",
      columns: [
        { name: "Provider", isHead: true, kind: "short" },
        { name: "State", kind: "short" },
        { name: "Last checked", kind: "short" },
        { name: "Reason", kind: "wide" },
      ],
      rows: rows.map((row) => [row.name, state(row.state), consoleTime(row.askedAt * 1000), row.why]),
      empty: html``,
    })}`;
}

function refreshTable(rows: readonly RefreshRow[]): Html {
  return table({
    id: "refreshes",
    caption: "Failed token refreshes since process start",
    columns: [
      { name: "Token", isHead: true, kind: "wide" },
      { name: "Result", kind: "wide" },
      { name: "Count", kind: "number" },
      { name: "Last", kind: "short" },
      { name: "Last route", kind: "wide" },
    ],
    rows: rows.map((row) => [row.of, row.result, row.count, consoleTime(row.lastAt * 1000), row.route]),
    empty: emptyState("No failed refreshes", "Tokens are refreshed before they expire."),
  });
}

function receiverTable(rows: readonly ReceiverRow[]): Html {
  return html`<h2>Record and event delivery</h2>
    ${table({
      id: "receivers",
      caption: "Record store, sinks and webhook, per process",
      columns: [
        { name: "Destination", isHead: true },
        { name: "State", kind: "short" },
        { name: "Process" },
        { name: "Queued", kind: "number" },
        { name: "Dropped", kind: "number" },
        { name: "Last success", kind: "short" },
        { name: "Last failure", kind: "wide" },
      ],
      rows: rows.map((row): readonly HtmlValue[] => [
        row.name,
        state(row.state),
        row.where,
        row.waiting,
        row.lost,
        row.lastSuccessAt === undefined ? "" : consoleTime(row.lastSuccessAt),
        row.lastError,
      ]),
      empty: html``,
    })}`;
}
