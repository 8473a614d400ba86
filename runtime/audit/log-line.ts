/**
 * Classifies a line of a log, for every command that reads logs: with two sets of rules, a forged record could pass one
 * of them.
 *
 * Untrusted input: the line. Promises: never throws; spaces, escapes, repeated members and bytes that are not UTF-8
 * hide no record.
 */
import { isUtf8 } from "node:buffer";

import { isRecord, type Members } from "../shared/is-record.ts";
import { isWithinBounds } from "../shared/json/foreign-json.ts";

/** Message of the records of authorization checks. */
export const CHECK_MESSAGE = "authorize check";

export type LogLine =
  /**
   * A record by its own statement. `message` is "" if it has none. `problem`: other readers may read it differently, so
   * its members prove nothing.
   */
  | { readonly kind: "record"; readonly message: string; readonly value: Members; readonly problem?: string }
  /** A JSON object of another log. */
  | { readonly kind: "json"; readonly value: Members }
  /** Starts as an object but is not one, or is nested too deeply. */
  | { readonly kind: "broken"; readonly problem: string; readonly isDeep?: true }
  | { readonly kind: "text" };

const TEXT: LogLine = { kind: "text" };
const SERVICE = "authorize";
/** Our own lines have about 70: 64 in a message, within a record. */
const MAX_LEVELS = 128;
const TOO_DEEP: LogLine = { kind: "broken", problem: `it is nested deeper than ${MAX_LEVELS} levels`, isDeep: true };
/** A byte order mark, then white space as JSON has it. */
const OBJECT_START = /^\ufeff?[ \t\r\n]*\{/;

/** @param bytes without the line end */
export function readLogLine(bytes: Buffer): LogLine {
  const text = bytes.toString("utf8");
  if (!OBJECT_START.test(text)) return TEXT;
  // Checked before a value is created: a million levels take seconds.
  if (!isWithinBounds(text, MAX_LEVELS - 1, Infinity)) return TOO_DEEP;
  let value: unknown;
  try {
    value = JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
  } catch {
    return { kind: "broken", problem: "it is not complete JSON" };
  }
  if (!isRecord(value)) return TEXT;
  const repeated = repeatedNames(text, value);
  const isClaimed = repeated.isService || value["service"] === SERVICE;
  const isText = !text.includes("\ufffd") || isUtf8(bytes);
  if (!isClaimed) return isText ? { kind: "json", value } : { kind: "broken", problem: "it is not UTF-8" };
  const message = typeof value["message"] === "string" ? value["message"] : "";
  if (isText && repeated.first === undefined) return { kind: "record", message, value };
  return { kind: "record", message, value, problem: isText ? repeatedProblem(repeated.first) : "it is not UTF-8" };
}

interface Repeated {
  /** A name that an object of the line has twice; readers differ in which of the two members they use. */
  readonly first: string | undefined;
  /** The line itself has "service" twice. */
  readonly isService: boolean;
}

const NOT_REPEATED: Repeated = { first: undefined, isService: false };

/** Nearly every line is as the gateway writes it: without repeated members, writing it again gives the same text. */
function repeatedNames(text: string, value: Members): Repeated {
  if (JSON.stringify(value) === text) return NOT_REPEATED;
  let first: string | undefined;
  let isService = false;
  for (const [name, depth] of repeatsIn(text)) {
    first ??= name;
    isService ||= depth === 1 && name === "service";
  }
  return { first, isService };
}

function repeatedProblem(name = ""): string {
  return /^[\w-]{1,40}$/.test(name) ? `it has "${name}" twice` : "it has a member twice";
}

/**
 * Whether other readers may find a record in a line that is not a single JSON object, after another value or in a list.
 * Linear: names contain no quotation mark, so each one starts one attempt.
 */
export function mayHoldRecord(line: LogLine, bytes: Buffer): boolean {
  if (line.kind !== "text" && line.kind !== "broken") return false;
  const text = bytes.toString("utf8");
  const pair = new RegExp(NAME_AND_VALUE);
  for (let found = pair.exec(text); found; found = pair.exec(text)) {
    if (unescaped(found[1]) === "service" && unescaped(found[2]) === SERVICE) return true;
    // A match that looks like a value may be the start of a name.
    pair.lastIndex = found.index + 1;
  }
  return false;
}

/** Bounds: the length of both words, up to every letter written as an escape. */
const NAME_AND_VALUE = /"([^"]{7,42})"\s*:\s*"([^"]{9,54})"/g;

function unescaped(text = ""): string {
  return text.replaceAll(/\\u00([0-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/**
 * Members whose name their object already has, which `JSON.parse` drops, with the depth of the object. @param json
 * valid
 */
function* repeatsIn(json: string): Iterable<readonly [name: string, depth: number]> {
  /** Member names of the enclosing objects and lists. */
  const around: Set<string>[] = [];
  let names = new Set<string>();
  let text = "";
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') {
      const start = at;
      for (at += 1; json[at] !== '"'; at += 1) if (json[at] === "\\") at += 1;
      text = json.slice(start, at + 1);
    } else if (character === "{" || character === "[") {
      around.push(names);
      names = new Set();
    } else if (character === "}" || character === "]") names = around.pop() as Set<string>;
    else if (character === ":") {
      const name = JSON.parse(text) as string;
      if (names.has(name)) yield [name, around.length];
      names.add(name);
    }
  }
}

/** Start of every line of the gateway. */
export const LINE_START = Buffer.from('{"level":"');
/** A partial line may contain such a text deep in a tool's arguments. */
const MAX_TRIES = 16;

export interface SplitLine {
  /** A partial line, left by a killed process or a full disk. */
  readonly torn: Buffer | undefined;
  /** The joined line of another process; all bytes if none is joined. */
  readonly rest: Buffer;
}

/** Splits a line from the partial one that it was appended to. */
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

/**
 * The message of a line exactly as a gateway writes it, without parsing the line. For lines whose bytes are verified.
 */
export function writtenMessage(bytes: Buffer): string | undefined {
  return WRITTEN.exec(bytes.toString("latin1", 0, 160))?.[1];
}
