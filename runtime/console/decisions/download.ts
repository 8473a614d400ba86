/** All records of a filter as a file: page after page, no faster than the client reads. */
import type { Exchange } from "../../http/exchange.ts";
import type { KeptRecord, RecordPage, RecordQuery, RecordReader } from "../../record-store/record-reader.ts";
import type { Clock } from "../../shared/clock.ts";
import type { ConsoleRights, ConsoleRequest } from "../screen.ts";
import { textOf, visibleFields, whatOf } from "./show-record.ts";
import { reasonText } from "./reasons.ts";

export const FORMATS = ["ndjson", "csv"] as const;
type Format = (typeof FORMATS)[number];

const PAGE = 200;
/** Interval of checks of the rights, also while the client reads slowly. */
const CHECK_MS = 2_000;

export interface DownloadDeps {
  readonly reader: RecordReader;
  readonly clock: Clock;
  /** Undefined: no longer permitted. */
  readonly again: (visit: ConsoleRequest) => Promise<ConsoleRights | undefined>;
}

/** @returns false: the store is unavailable, and there is no response yet; later the connection ends within the file */
export async function download(
  { reader, clock, again }: DownloadDeps,
  {
    visit,
    query,
    format,
  }: { readonly visit: ConsoleRequest; readonly query: Omit<RecordQuery, "limit" | "order">; readonly format: Format },
): Promise<boolean> {
  const { exchange } = visit;
  const asked = { ...query, order: "newest", limit: PAGE } as const;
  const first = await reader.find(asked).catch(() => undefined);
  if (!first) return false;
  let page: RecordPage = first;
  let { rights } = visit;
  let checkedAtMs = clock.now();
  const client = { isGone: false, wake: (): void => {} };
  exchange.onClose(() => {
    client.isGone = true;
    client.wake();
  });
  exchange.start(200, [
    "content-type",
    format === "csv" ? "text/csv; charset=utf-8; header=present" : "application/x-ndjson",
    "content-disposition",
    `attachment; filename="decisions.${format}"`,
    "cache-control",
    "no-store",
    "x-content-type-options",
    "nosniff",
  ]);
  if (format === "csv") exchange.write(`${COLUMNS.join(",")}\r\n`);
  while (!client.isGone) {
    const lines = page.records.map((record) => (format === "csv" ? csvLine(record) : jsonLine(record, rights)));
    if (!exchange.write(lines.join(""))) {
      await new Promise<void>((resolve) => {
        client.wake = resolve;
        exchange.onDrain(resolve);
      });
    }
    if (page.next === undefined) break;
    if (clock.now() - checkedAtMs >= CHECK_MS) {
      checkedAtMs = clock.now();
      const now = await again(visit).catch(() => undefined);
      // Truncated, so that it is not taken for a complete file.
      if (!now || String(now.owners) !== String(visit.rights.owners)) return abort(exchange);
      rights = now;
    }
    try {
      page = await reader.find({ ...asked, cursor: page.next });
    } catch {
      return abort(exchange);
    }
  }
  if (!client.isGone) exchange.end();
  return true;
}

function abort(exchange: Exchange): true {
  exchange.abort();
  return true;
}

function jsonLine(record: KeptRecord, rights: ConsoleRights): string {
  const { id, outcome, result } = record;
  const fields = Object.fromEntries(visibleFields(record, rights).fields);
  return `${JSON.stringify({ id, outcome, ...fields, ...(result && { result }) })}\n`;
}

const COLUMNS = [
  "time",
  "outcome",
  "user",
  "email",
  "client",
  "route",
  "what",
  "why",
  "status",
  "duration_ms",
  "ip",
  "request_id",
  "id",
];

function csvLine(record: KeptRecord): string {
  const { timeMs, outcome, userId, email, clientId, route, result, id } = record;
  const cells = [
    new Date(timeMs).toISOString(),
    outcome,
    userId,
    email,
    clientId,
    route,
    whatOf(record),
    reasonText(record),
    result?.status,
    result?.durationMs,
    textOf(record, "ip"),
    textOf(record, "request-id"),
    id,
  ];
  return `${cells.map((cell) => csvCell(String(cell ?? ""))).join(",")}\r\n`;
}

/** RFC 4180. What a spreadsheet would take for a formula, full-width signs too, begins with an apostrophe. */
function csvCell(text: string): string {
  const plain = /^[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
