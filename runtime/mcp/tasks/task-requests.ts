/**
 * The tasks that a client's message names, and the same message with the upstream's IDs for them.
 *
 * Untrusted input: the message, already valid JSON without repeated members and without keys that resemble known ones.
 * Promise: in a request, every ID that reaches the upstream was sealed for this caller. Pure.
 */
import { isRecord } from "../../shared/is-record.ts";
import { spanAt } from "../../policy/mcp/argument-span.ts";
import { foldWords } from "../../policy/mcp/fold-case.ts";
import { CLIENT_CAPABILITIES } from "../members.ts";
import { isBesideArguments, type McpMessage } from "../message.ts";
import { replaceIn, type Replacement } from "./replace-texts.ts";
import type { OpenedTask } from "./task-ids.ts";

/** Member of `_meta` that relates a message to a task. */
export const RELATED_TASK = "io.modelcontextprotocol/related-task";

export interface OpenedMessage {
  readonly bytes: Buffer;
  /** The task of the message; undefined if it has none, or several. */
  readonly task: OpenedTask | undefined;
  /** The sealed ID that the client has. */
  readonly sealed: string | undefined;
  /** All named tasks: the upstream's ID → the client's. */
  readonly known: ReadonlyMap<string, string>;
}

/** Every message with a task ID contains one of these. */
const TASK = Buffer.from("task");
const ESCAPE = Buffer.from("\\u");
const BACKSLASH = 0x5c;

/** Whether a message may name a task at all: most do not, and are not parsed for it. */
export function mayNameTask(message: McpMessage): boolean {
  if (message.plain !== undefined) return false;
  if (isAboutTask(message.facts.method) || isBesideArguments(message, TASK)) return true;
  return message.bytes.includes(BACKSLASH) && isBesideArguments(message, ESCAPE);
}

/** Methods that act on a task, also those of later revisions, in any case that a server may accept. */
export function isAboutTask(method: string | undefined): boolean {
  return method !== undefined && /^tasks\//i.test(method);
}

export const TASKS_EXTENSION_NAME = "io.modelcontextprotocol/tasks";
/** Some libraries escape each slash. */
const TASKS_EXTENSIONS = [TASKS_EXTENSION_NAME, TASKS_EXTENSION_NAME.replace("/", "\\/")].map((name) =>
  Buffer.from(name),
);
const TASK_MEMBER = Buffer.from('"task"');

/**
 * Whether the response may be a task: from 2026-07-28 on the client states that it accepts them, before that it
 * requests one.
 */
export function mayMakeTask(message: McpMessage): boolean {
  const { kind, facts, isModern, bytes, plain } = message;
  const isCall = kind === "request" && facts.method === "tools/call";
  if (!isCall) return false;
  if (!isModern) return plain === undefined && isBesideArguments(message, TASK_MEMBER);
  if (plain === undefined) return TASKS_EXTENSIONS.some((name) => isBesideArguments(message, name));
  const { start = 0, end = 0 } = plain.capabilities ?? {};
  if (end - start <= TASKS_EXTENSION_NAME.length) return false;
  const declared = bytes.subarray(start, end);
  return TASKS_EXTENSIONS.some((name) => declared.includes(name));
}

/** Whether a client declares in a message of 2026-07-28 that it supports tasks (SEP-2663). */
export function declaresTasks({ bytes }: Pick<McpMessage, "bytes">): boolean {
  let value: unknown = JSON.parse(bytes.toString("utf8"));
  for (const name of DECLARED) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return isRecord(value);
}

const DECLARED = ["params", "_meta", CLIENT_CAPABILITIES, "extensions", TASKS_EXTENSION_NAME] as const;

/** @returns "unknown": it names a task of another caller */
export function openTasks(
  message: McpMessage,
  open: (sealed: string) => OpenedTask | undefined,
): OpenedMessage | "unknown" {
  const { kind, facts, bytes } = message;
  const text = bytes.toString("utf8");
  const body = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const replacements: Replacement[] = [];
  const known = new Map<string, string>();
  let task: OpenedTask | undefined;
  let sealed: string | undefined;

  const params = isRecord(body["params"]) ? body["params"] : {};
  if (isAboutTask(facts.method)) {
    const { taskId } = params;
    task = typeof taskId === "string" ? open(taskId) : undefined;
    if (task === undefined) return "unknown";
    sealed = taskId as string;
    known.set(task.id, sealed);
    replacements.push({ pointer: ["params", "taskId"], text: JSON.stringify(task.id) });
  }
  for (const holder of ["params", "result"]) {
    const part = body[holder];
    const related = isRecord(part) && isRecord(part["_meta"]) ? part["_meta"][RELATED_TASK] : undefined;
    if (related === undefined || related === null) continue;
    const id = isRecord(related) ? related["taskId"] : undefined;
    const opened = typeof id === "string" ? open(id) : undefined;
    if (opened) {
      known.set(opened.id, id as string);
      // The whole object: some servers would read another form of the member next to it.
      const put = JSON.stringify({ taskId: opened.id });
      replacements.push({ pointer: [holder, "_meta", RELATED_TASK], text: put });
    } else if (kind === "request") {
      // Responses and notifications may concern tasks of the clients themselves.
      return "unknown";
    }
  }
  const unchanged = replacements.length === 0;
  return { bytes: unchanged ? bytes : Buffer.from(replaceIn(text, replacements)), task, sealed, known };
}

/** Position of the task IDs to subscribe to in a client's request, and of the accepted ones in a server's response. */
export const LISTENED = ["params", "notifications", "taskIds"] as const;

/** Far above any real number of tasks; each costs a seal. */
export const MAX_LISTENED = 1000;

/** Reduces the tasks in a `subscriptions/listen` request to those of the caller. @returns "unreadable" */
export function openListened(
  bytes: Buffer,
  open: (sealed: string) => OpenedTask | undefined,
): Pick<OpenedMessage, "bytes" | "known"> | "unreadable" {
  const known = new Map<string, string>();
  const text = bytes.toString("utf8");
  let value = JSON.parse(text) as unknown;
  for (const name of LISTENED) {
    if (value === undefined || value === null) return { bytes, known };
    if (!isRecord(value)) return "unreadable";
    if (Object.keys(value).some((key) => key !== name && foldWords(key) === foldWords(name))) return "unreadable";
    value = Object.hasOwn(value, name) ? value[name] : undefined;
  }
  if (value === undefined || value === null) return { bytes, known };
  if (!Array.isArray(value) || value.length > MAX_LISTENED) return "unreadable";
  for (const sealed of value as readonly unknown[]) {
    const task = typeof sealed === "string" ? open(sealed) : undefined;
    if (task) known.set(task.id, sealed as string);
  }
  const [start, end] = spanAt(text, LISTENED);
  return { bytes: Buffer.from(text.slice(0, start) + JSON.stringify([...known.keys()]) + text.slice(end)), known };
}
