/**
 * A record as a syslog message: facility "log audit", the record as JSON in ASCII, or its members as structured data.
 *
 * @see RFC 5424 §6
 */
import { escapeMarks } from "../../audit/record-text.ts";
import { escapeUnits } from "../../shared/json/visible-text.ts";
import { type RecordValue, textOf } from "./fields.ts";

export interface SyslogIdentity {
  readonly hostname: string;
  readonly appName: string;
  readonly pid: number;
}

/** RFC 5424 §6.2.1: log audit. */
const FACILITY = 13;
const SEVERITY: Readonly<Record<string, number>> = { info: 6, warn: 4, error: 3 };
const NIL = "-";

/** @param structuredDataId undefined: the record is the message, as JSON */
export function formatSyslog(
  record: RecordValue,
  { hostname, appName, pid }: SyslogIdentity,
  structuredDataId: string | undefined,
): string {
  const priority = FACILITY * 8 + (SEVERITY[textOf(record, "level") ?? ""] ?? 6);
  const message = textOf(record, "message") ?? "record";
  const head = [
    `<${priority}>1`,
    timestamp(textOf(record, "time")),
    name(hostname, 255),
    name(appName, 48),
    String(pid),
    name(message.replaceAll(" ", "-"), 32),
  ].join(" ");
  // Without a byte order mark, which JSON forbids, a message with non-ASCII text would have no stated encoding.
  return structuredDataId === undefined
    ? `${head} ${NIL} ${asciiJson(record)}`
    : `${head} ${structuredData(record, structuredDataId)} ${ascii(message)}`;
}

function structuredData(record: RecordValue, id: string): string {
  const members = Object.entries(record).map(
    ([key, value]) => ` ${paramName(key)}="${paramValue(typeof value === "string" ? value : JSON.stringify(value))}"`,
  );
  return `[${id}${members.join("")}]`;
}

/** RFC 5424 §6.3.3: 1 to 32 printable characters without "=", "]" and quotes. */
function paramName(key: string): string {
  return key.replaceAll(/[^\x21\x23-\x3c\x3e-\x5c\x5e-\x7e]/g, "_").slice(0, 32) || "_";
}

/**
 * RFC 5424 §6.3.3: UTF-8, with these three after a backslash. Before that, characters that a terminal or log viewer
 * would obey are escaped, as in the log: destinations print values, and a line end in one would start a new line.
 */
function paramValue(text: string): string {
  return escapeMarks(text.replaceAll(C0, escapeUnits)).replaceAll(/["\\\]]/g, "\\$&");
}

// oxlint-disable-next-line no-control-regex -- exactly these are meant
const C0 = /[\x00-\x1f]/g;

/** RFC 5424 §6.2.3: with at most six digits of a second. */
function timestamp(time: string | undefined): string {
  return time !== undefined && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/.test(time) ? time : NIL;
}

/** Printable ASCII without spaces. */
function name(text: string, maxLength: number): string {
  return text.replaceAll(/[^\x21-\x7e]/g, "_").slice(0, maxLength) || NIL;
}

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[\x7f-\uffff]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

function ascii(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}
