/** The console's page of health: what is wrong, then who runs what, then how requests fare. */
import { html, type Html, type HtmlValue } from "../../html.ts";
import {
  badge,
  type TableColumn,
  consoleTime,
  emptyState,
  filterForm,
  type FilterField,
  sourceFailed,
  table,
  type Tone,
} from "../pieces.ts";
import { plot, type PlotParts } from "./plot.ts";

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
  readonly plots: readonly PlotParts[];
  /** What the plots are of: "All routes". */
  readonly plotted: string;
  readonly filters: readonly FilterField[];
}

export function healthBody(parts: HealthParts): Html {
  return html`${parts.failed.map((source) => sourceFailed(source))} ${problemList(parts.problems)}
    <h2>Processes</h2>
    ${processTable(parts.processes)}
    <h2 id="traffic">Requests over time</h2>
    ${filterForm(parts.path, parts.filters)}
    <p class="dim">${parts.plotted}</p>
    <div class="plots">${parts.plots.map((each) => plot(each))}</div>
    <h2>Upstreams</h2>
    ${upstreamTable(parts)}
    <h2>Certificates</h2>
    ${certificateTable(parts.certificates)} ${parts.providers.length > 0 && providerTable(parts.providers)}
    <h2>Fresh tokens</h2>
    ${refreshTable(parts.refreshes)} ${parts.receivers.length > 0 && receiverTable(parts.receivers)}`;
}

function problemList(problems: readonly HealthProblem[]): Html {
  const broken = problems.filter(({ tone }) => tone === "bad").length;
  const counts = [
    broken > 0 && `${broken} broken`,
    problems.length > broken && `${problems.length - broken} to look at`,
  ];
  if (problems.length === 0) return html`<p class="told" role="status">Nothing is known to be wrong.</p>`;
  return html`<section aria-labelledby="problems">
    <h2 id="problems">What is wrong: ${counts.filter(Boolean).join(", ")}</h2>
    ${problems.map(
      ({ tone, text, details, advice, read, where }) =>
        html`<article class="card problem">
          <h3>${badge(tone, tone === "bad" ? "Broken" : "Look at it")} ${text}</h3>
          ${
            details.length > 0 &&
            html`<ul>
              ${details.map((each) => html`<li><code>${each}</code></li>`)}
            </ul>`
          }
          <p>
            ${advice}
            <span class="dim">
              ${where.length > 0 && `Told by ${where.join(", ")}.`} See the documentation, “${read}”.
            </span>
          </p>
        </article>`,
    )}
  </section>`;
}

const state = ([tone, text]: readonly [Tone, string]): Html => badge(tone, text);

const PROCESSES: readonly TableColumn[] = [
  { name: "Process", kind: "short", isHead: true },
  { name: "State", kind: "short" },
  { name: "In force", kind: "short" },
  { name: "Configuration", kind: "short" },
  { name: "Loop late (p99)", kind: "number" },
  { name: "Memory", kind: "number" },
  { name: "Streams", kind: "number" },
  { name: "Connections", kind: "number" },
];

function processTable(rows: readonly ProcessRow[]): Html {
  return table({
    id: "processes",
    caption: "Each replica, and each worker of it",
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
    empty: emptyState("No process is known", "They tell of themselves every ten seconds."),
  });
}

function upstreamTable({ upstreams, moreUpstreams }: HealthParts): Html {
  const shown = table({
    id: "upstreams",
    caption: "Upstreams that have health checks or others beside them, those away first",
    columns: [
      { name: "Upstream", isHead: true, kind: "wide" },
      { name: "Route", kind: "wide" },
      { name: "State", kind: "short" },
      { name: "Why", kind: "wide" },
      { name: "Seen by" },
    ],
    rows: upstreams.map((row) => [html`<code>${row.upstream}</code>`, row.route, state(row.state), row.why, row.where]),
    empty: emptyState(
      "Nothing is known of upstreams",
      "Of an upstream that is alone on its route and has no health check nothing need be known. Its failures are in the plots.",
    ),
  });
  return html`${shown}${moreUpstreams > 0 && html`<p class="dim">${moreUpstreams} more take requests.</p>`}`;
}

function certificateTable(rows: readonly CertificateRow[]): Html {
  return table({
    id: "certificates",
    caption: "Certificates of the listeners, those that end first first",
    columns: [
      { name: "Names", isHead: true, kind: "wide" },
      { name: "Listener", kind: "short" },
      { name: "Owner", kind: "short" },
      { name: "Ends", kind: "short" },
      { name: "Left", kind: "short" },
    ],
    rows: rows.map((row) => [row.names, row.listener, row.owner, consoleTime(row.ends, "minute"), state(row.left)]),
    empty: emptyState("No certificate is here", "Something in front of this gateway speaks TLS, or nothing does."),
  });
}

function providerTable(rows: readonly ProviderRow[]): Html {
  return html`<h2>Identity providers</h2>
    ${table({
      id: "providers",
      caption: "Providers that were asked for their metadata, and how that went last",
      columns: [
        { name: "Provider", isHead: true, kind: "short" },
        { name: "State", kind: "short" },
        { name: "Asked", kind: "short" },
        { name: "Why", kind: "wide" },
      ],
      rows: rows.map((row) => [row.name, state(row.state), consoleTime(row.askedAt * 1000), row.why]),
      empty: html``,
    })}`;
}

function refreshTable(rows: readonly RefreshRow[]): Html {
  return table({
    id: "refreshes",
    caption: "Fresh tokens that were asked for and not given, since each process started",
    columns: [
      { name: "Whose", isHead: true, kind: "wide" },
      { name: "Result", kind: "wide" },
      { name: "How many", kind: "number" },
      { name: "Last", kind: "short" },
      { name: "Last route", kind: "wide" },
    ],
    rows: rows.map((row) => [row.of, row.result, row.count, consoleTime(row.lastAt * 1000), row.route]),
    empty: emptyState("No refresh has failed", "Tokens of people and of upstreams are renewed before they end."),
  });
}

function receiverTable(rows: readonly ReceiverRow[]): Html {
  return html`<h2>Who gets records and events</h2>
    ${table({
      id: "receivers",
      caption: "Record store, sinks and webhook, of each process",
      columns: [
        { name: "Receiver", isHead: true },
        { name: "State", kind: "short" },
        { name: "Process" },
        { name: "Waiting", kind: "number" },
        { name: "Lost", kind: "number" },
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
