/**
 * Decides what a line of a log is, for every command that reads logs. Two readers with rules of their own would let a
 * forged record pass one of them.
 *
 * Untrusted: the line. Promises: never throws; spaces, escapes, repeated members and bytes that are not UTF-8 hide no record.
 */
import { isUtf8 } from "node:buffer";

import { isRecord, type Members } from "../shared/is-record.ts";

/** Message of the records of authorization checks. */
export const CHECK_MESSAGE = "authorize check";

export type LogLine =
  /**
   * It says that it is a record. `message` is "" where it has none.
   * `problem`: another reader may read it differently, so nothing may be concluded from its members.
   */
  | { readonly kind: "record"; readonly message: string; readonly value: Members; readonly problem?: string }
  /** A JSON object of another log. */
  | { readonly kind: "json"; readonly value: Members }
  /** It starts as an object, and is not one. */
  | { readonly kind: "broken"; readonly problem: string }
  | { readonly kind: "text" };

const TEXT: LogLine = { kind: "text" };
const SERVICE = "authorize";
/** A byte order mark, then white space as JSON has it. */
const OBJECT_START = /^\ufeff?[ \t\r\n]*\{/;

/** @param bytes without the line end */
export function readLogLine(bytes: Buffer): LogLine {
  const text = bytes.toString("utf8");
  if (!OBJECT_START.test(text)) return TEXT;
  let value: unknown;
  try {
    value = JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
  } catch {
    return { kind: "broken", problem: "it is no whole JSON" };
  }
  if (!isRecord(value)) return TEXT;
  const isRepeated = mayRepeat(text) && topNames(text).filter((name) => name === "service").length > 1;
  const isClaimed = isRepeated || value["service"] === SERVICE;
  const isText = !text.includes("\ufffd") || isUtf8(bytes);
  if (!isClaimed) return isText ? { kind: "json", value } : { kind: "broken", problem: "it is no UTF-8" };
  const message = typeof value["message"] === "string" ? value["message"] : "";
  if (isText && !isRepeated) return { kind: "record", message, value };
  return { kind: "record", message, value, problem: isText ? 'it has "service" twice' : "it is no UTF-8" };
}

/**
 * Of a line that is no single JSON object: other readers may find a record in it, behind another value or in a list.
 * Linear: no name has a quotation mark in it, so that each begins one attempt.
 */
export function mayHoldRecord(line: LogLine, bytes: Buffer): boolean {
  if (line.kind !== "text" && line.kind !== "broken") return false;
  const text = bytes.toString("utf8");
  const pair = new RegExp(NAME_AND_VALUE);
  for (let found = pair.exec(text); found; found = pair.exec(text)) {
    if (unescaped(found[1]) === "service" && unescaped(found[2]) === SERVICE) return true;
    // What looks like a value may be the beginning of a name.
    pair.lastIndex = found.index + 1;
  }
  return false;
}

/** As long as both words are with every letter written as an escape. */
const NAME_AND_VALUE = /"([^"]{7,42})"\s*:\s*"([^"]{9,54})"/g;

function unescaped(text = ""): string {
  return text.replaceAll(/\\u00([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** The quick look: nearly every line has the word once, and no letter written as an escape. */
function mayRepeat(text: string): boolean {
  return text.includes("\\u00") || text.indexOf('"service"') !== text.lastIndexOf('"service"');
}

/** Names of the members of a JSON object, repeated ones included, which `JSON.parse` drops. */
function topNames(json: string): readonly string[] {
  const names: string[] = [];
  let depth = 0;
  let text = "";
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') {
      const start = at;
      for (at += 1; json[at] !== '"'; at += 1) if (json[at] === "\\") at += 1;
      if (depth === 1) text = json.slice(start, at + 1);
    } else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    else if (character === ":" && depth === 1) names.push(JSON.parse(text) as string);
  }
  return names;
}

/** Every line of ours begins so. */
export const LINE_START = Buffer.from('{"level":"');
/** A line that was begun may have one in it, deep in a tool's arguments. */
const MAX_TRIES = 16;

export interface SplitLine {
  /** What a killed process had begun, or what a full disk left of a line. */
  readonly torn: Buffer | undefined;
  /** The line behind it, of another process; all bytes where none is joined. */
  readonly rest: Buffer;
}

/** Parts a line from the unfinished one that it was appended to. */
export function splitLine(bytes: Buffer): SplitLine {
  const whole = { torn: undefined, rest: bytes };
  let at = bytes.indexOf(LINE_START, 1);
  if (at === -1 || isObject(bytes)) return whole;
  for (let tries = 0; at !== -1 && tries < MAX_TRIES; at = bytes.indexOf(LINE_START, at + 1), tries += 1) {
    const rest = bytes.subarray(at);
    if (isObject(rest)) return { torn: bytes.subarray(0, at), rest };
  }
  return whole;
}

function isObject(bytes: Buffer): boolean {
  const { kind } = readLogLine(bytes);
  return kind === "record" || kind === "json";
}

const WRITTEN =
  /^\{"level":"[a-z]{1,10}",(?:"time":"[0-9TZ:.-]{0,30}",)?"service":"authorize","message":"([a-z ]{1,40})"/;

/** The message of a line exactly as a gateway writes it, without parsing the line. For lines whose bytes are proven. */
export function writtenMessage(bytes: Buffer): string | undefined {
  return WRITTEN.exec(bytes.toString("latin1", 0, 160))?.[1];
}
