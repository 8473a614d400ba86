/**
 * The authorization record: one line of JSON for every check.
 *
 * Untrusted input: everything in it that comes from the request or the identity provider. Promises: always one line and
 * valid JSON, control characters and bidirectional marks escaped, texts and tool arguments bounded; no token, cookie or
 * secret has a field. Built by hand, since it is written for every request.
 *
 * @see test/requirements.ts, "Authorization log record", "Events"; DECISIONS.md D9
 */
import type { Decision, McpFacts, UserFacts } from "../policy/facts.ts";
import type { ShadowResult } from "../policy/shadow.ts";
import { guardrailText, type GuardrailNote } from "./guardrail-note.ts";
import { escapeMarks, plainJsonText } from "./record-text.ts";

/** Content of a record. */
export interface RecordInput {
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  readonly decision: Decision;
  /** Decisions of shadow policies; absent when there are none, or none was evaluated. */
  readonly shadow?: readonly ShadowResult[] | undefined;
  /** State of a required approval: its ID, and who decided; absent for all other requests. */
  readonly approval?:
    | { readonly state: string; readonly id: string | undefined; readonly by: string | undefined }
    | undefined;
  /** The limit that the request exceeded, though policy allowed it. */
  readonly limited?: { readonly limit: string; readonly retryAfterMs: number | undefined } | undefined;
  /** Calls on routes with a tool lock: known state of the tool. */
  readonly toolLock?: "unseen" | "reviewed" | "changed" | "unlocked" | undefined;
  /** The verdict of the route's guardrail about the call; absent: none was requested. */
  readonly guardrail?: GuardrailNote | undefined;
  /** The request came by this federated route; `name`: the called tool or prompt as advertised there, or the URI, or "". */
  readonly federated?: { readonly route: string; readonly name: string } | undefined;
  /** With `audit`: JSON pointer of the rule that decided, into the policy's enforced rules. */
  readonly rule?: string | undefined;
  readonly requestId: string;
  /** Present with `tracing`. */
  readonly traceId?: string | undefined;
  readonly bundleDigest: string;
  /** Key of the route; absent when none was found. */
  readonly route?: string | undefined;
  readonly http: { readonly method: string; readonly path: string; readonly host: string; readonly ip: string };
  /** Absent when no user is signed in. */
  readonly user?: Pick<UserFacts, "id" | "email" | "actor"> | undefined;
  readonly sessionId?: string | undefined;
  readonly grantId?: string | undefined;
  readonly clientId?: string | undefined;
  /**
   * Name of the trusted issuer that verified the user, by an assertion or at sign-in; absent for the first provider.
   */
  readonly issuer?: string | undefined;
  /** Names of that issuer's rules that admitted a workload. */
  readonly issuerRules?: readonly string[] | undefined;
  /** How the caller was authenticated: "session", "grant", "id-jag" …; absent for anonymous callers. */
  readonly authMethod?: string | undefined;
  /** On MCP server routes; {} when the request has no method of its own (GET, DELETE, posted responses). */
  readonly mcp?: McpFacts | undefined;
  /** JSON text of the tool's arguments; called only if the field is enabled. See mcp/message.ts, `toolArguments`. */
  readonly toolArguments?: (() => string | undefined) | undefined;
  /**
   * Members for arguments that are partly redacted; undefined, or returns undefined: all appear in plain text. See
   * redaction/redactor.ts.
   */
  readonly redact?: ((tool: string, text: string) => string | undefined) | undefined;
  /** JSON of the facts for the policy, see replay/write-facts.ts; called only if the field is enabled. */
  readonly replay?: (() => string) | undefined;
}

/** Longest text of a field, in UTF-16 units; longer ones are truncated and end in "…". */
const MAX_TEXT = 1024;
/** Longest arguments, in UTF-16 units of JSON text; of longer ones only the size is recorded. */
const MAX_ARGUMENTS = 8192;

/** @returns ',"name":value' or "" when the field does not apply */
type Write = (input: RecordInput) => string;

/** Names for `authorize_log_fields`, in their order within a record. */
export const RECORD_FIELDS = [
  "request-id",
  "trace-id",
  "bundle-digest",
  "route",
  "method",
  "path",
  "host",
  "ip",
  "user",
  "email",
  "session-id",
  "grant-id",
  "client-id",
  "actor",
  "run",
  "issuer",
  "issuer-rules",
  "auth-method",
  "mcp-method",
  "mcp-tool",
  "mcp-tool-parameters",
  "replay",
] as const;

export type RecordField = (typeof RECORD_FIELDS)[number];

const WRITE_FIELD: Readonly<Record<RecordField, Write>> = {
  "request-id": (input) => field("request-id", input.requestId),
  "trace-id": (input) => field("trace-id", input.traceId),
  "bundle-digest": (input) => field("bundle-digest", input.bundleDigest),
  route: (input) => field("route", input.route),
  method: (input) => field("method", input.http.method),
  path: (input) => field("path", input.http.path),
  host: (input) => field("host", input.http.host),
  ip: (input) => field("ip", input.http.ip),
  user: (input) => field("user", input.user?.id),
  email: (input) => field("email", input.user?.email),
  "session-id": (input) => field("session-id", input.sessionId),
  "grant-id": (input) => field("grant-id", input.grantId),
  "client-id": (input) => field("client-id", input.clientId),
  actor: (input) => field("actor", input.user?.actor?.id),
  run: (input) => field("run", input.user?.actor?.run),
  issuer: (input) => field("issuer", input.issuer),
  "issuer-rules": (input) => field("issuer-rules", input.issuerRules?.join(" ")),
  "auth-method": (input) => field("auth-method", input.authMethod),
  "mcp-method": (input) => (input.mcp ? field("mcp-method", input.mcp.method ?? "") : ""),
  "mcp-tool": (input) => field("mcp-tool", input.mcp?.tool),
  "mcp-tool-parameters": (input) => argumentsField(input, input.redact),
  replay: (input) => (input.replay ? `,"replay":${input.replay()}` : ""),
};

/** The fields when `authorize_log_fields` is not set. */
export const DEFAULT_RECORD_FIELDS: readonly RecordField[] = ["request-id", "user", "email", "mcp-method", "mcp-tool"];

/**
 * @param fields `authorize_log_fields`; unknown names are ignored (the configuration reports them)
 * @returns one line with its line end
 */
export function formatRecord(fields: readonly string[], input: RecordInput): string {
  let line = `{"level":"info","time":"${isoTime(input.timeMs)}","service":"authorize","message":"authorize check"`;
  line += decisionText(input.decision);
  // The author of a shadow policy needs its results, so `authorize_log_fields` cannot omit this field.
  if (input.shadow) line += shadowText(input.shadow);
  if (input.approval) line += approvalText(input.approval);
  // Also required: without it a record would say that the request continued.
  if (input.limited) line += limitedText(input.limited);
  if (input.toolLock !== undefined) line += `,"tool-lock":"${input.toolLock}"`;
  if (input.guardrail) line += guardrailText(input.guardrail);
  if (input.federated) line += federatedText(input.federated);
  if (input.rule !== undefined) line += `,"rule":"${input.rule}"`;
  for (const write of writersFor(fields)) line += write(input);
  return `${line}}\n`;
}

/**
 * Formats the members that only copies have: all fields that `authorize_log_fields` omits, except `replay`. Arguments
 * are as sent: the code that makes the copies redacts them.
 *
 * @param rule if the line has none
 * @returns `,"name":value` for each, without a line end
 */
export function formatExtra(fields: readonly string[], input: RecordInput, rule: string | undefined): string {
  let extra = rule === undefined ? "" : `,"rule":"${rule}"`;
  for (const write of writersBeside(fields)) extra += write(input);
  return extra;
}

const writers = new WeakMap<readonly string[], readonly Write[]>();
const others = new WeakMap<readonly string[], readonly Write[]>();

function writersBeside(fields: readonly string[]): readonly Write[] {
  let known = others.get(fields);
  if (!known) {
    const names = RECORD_FIELDS.filter((name) => name !== "replay" && !fields.includes(name));
    known = names.map((name) =>
      name === "mcp-tool-parameters" ? (input) => argumentsField(input) : WRITE_FIELD[name],
    );
    others.set(fields, known);
  }
  return known;
}

function writersFor(fields: readonly string[]): readonly Write[] {
  let known = writers.get(fields);
  if (!known) {
    // In a fixed order and once each, however they are listed.
    known = RECORD_FIELDS.filter((name) => fields.includes(name)).map((name) => WRITE_FIELD[name]);
    writers.set(fields, known);
  }
  return known;
}

/** A policy has few distinct decisions and shares them, so their text is made once. */
const decisionTexts = new WeakMap<Decision, string>();

function decisionText(decision: Decision): string {
  let text = decisionTexts.get(decision);
  if (text === undefined) {
    text =
      `,"allow":${decision.allowed},"deny":${decision.denied}` +
      `,"allow-why-true":${JSON.stringify(decision.allowWhyTrue)},"allow-why-false":${JSON.stringify(decision.allowWhyFalse)}` +
      `,"deny-why-true":${JSON.stringify(decision.denyWhyTrue)},"deny-why-false":${JSON.stringify(decision.denyWhyFalse)}`;
    decisionTexts.set(decision, text);
  }
  return text;
}

function shadowText(decisions: readonly ShadowResult[]): string {
  const texts = decisions.map(
    ({ candidate, outcome, flip, reasons }) =>
      `{"candidate":${jsonText(candidate.name)},"outcome":"${outcome}","flip":"${flip}","reasons":${JSON.stringify(reasons)}}`,
  );
  return `,"shadow":[${texts.join(",")}]`;
}

function approvalText({ state, id, by }: NonNullable<RecordInput["approval"]>): string {
  const which = id === undefined ? "" : `,"id":${jsonText(id)}`;
  return `,"approval":{"state":${jsonText(state)}${which}${by === undefined ? "" : `,"by":${jsonText(by)}`}}`;
}

/** Without a time: the store was unavailable, so the time is unknown. */
function limitedText({ limit, retryAfterMs }: NonNullable<RecordInput["limited"]>): string {
  return `,"limited":${JSON.stringify({ limit, "retry-after-ms": retryAfterMs })}`;
}

function federatedText({ route, name }: NonNullable<RecordInput["federated"]>): string {
  return `,"federated":{"route":${jsonText(route)}${name === "" ? "" : `,"name":${jsonText(name)}`}}`;
}

function field(name: RecordField, value: string | undefined): string {
  return value === undefined ? "" : `,"${name}":${jsonText(value)}`;
}

function argumentsField(input: RecordInput, redact?: RecordInput["redact"]): string {
  if (input.mcp?.tool === undefined) return "";
  const text = input.toolArguments?.() ?? "{}";
  if (text.length > MAX_ARGUMENTS) return `,"mcp-tool-parameters-omitted":${text.length}`;
  const redacted = redact?.(input.mcp.tool, text);
  if (redacted !== undefined) return redacted;
  return `,"mcp-tool-parameters":${isPrintable(text) ? text : oneLine(text)}`;
}

/** JSON text on one line, without characters that a terminal or log viewer would obey. */
function oneLine(json: string): string {
  try {
    return escapeMarks(JSON.stringify(JSON.parse(json)));
  } catch {
    // Arguments come from a message that was read strictly; should they still be broken, the line must not be.
    return jsonText(json);
  }
}

/** Bounded, and without characters that a terminal or log viewer would obey. */
export function jsonText(text: string): string {
  const short = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  return plainJsonText(short);
}

function isPrintable(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}

let lastSecond = -1;
let lastPrefix = "";

/**
 * ISO 8601 in UTC with milliseconds; the part up to the seconds is cached, since most records share it with the
 * previous one.
 */
export function isoTime(timeMs: number): string {
  const second = Math.floor(timeMs / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastPrefix = new Date(second * 1000).toISOString().slice(0, -4);
  }
  return `${lastPrefix}${String(Math.floor(timeMs - second * 1000)).padStart(3, "0")}Z`;
}
