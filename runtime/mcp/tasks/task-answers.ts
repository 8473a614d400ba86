/**
 * The tasks that a server's message names, and the same message with the gateway's IDs for them.
 *
 * Untrusted input: the message. Nothing depends on finding every ID: one that was not sealed opens nothing, so a server
 * that hides one has only made a task that no client can query. Pure.
 */
import { isRecord } from "../../shared/is-record.ts";
import { replaceIn, type Replacement } from "./replace-texts.ts";
import { LISTENED, MAX_LISTENED, RELATED_TASK } from "./task-requests.ts";

const MENTION = Buffer.from("taskId");

/**
 * @param bytes JSON
 * @param seal undefined for an ID that cannot be sealed, which stays
 * @returns undefined when it names none, or is not JSON
 */
export function sealTasks(bytes: Buffer, seal: (id: string) => string | undefined): Buffer | undefined {
  if (!bytes.includes(MENTION)) return undefined;
  const text = bytes.toString("utf8");
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  const replacements: Replacement[] = [];
  for (const { pointer, ids } of placesIn(message)) {
    const sealed = typeof ids === "string" ? seal(ids) : ids.map((id) => (typeof id === "string" && seal(id)) || id);
    if (sealed !== undefined) replacements.push({ pointer, text: JSON.stringify(sealed) });
  }
  return replacements.length === 0 ? undefined : Buffer.from(replaceIn(text, replacements));
}

/** The capabilities of a server without its list of tasks, whose owners cannot be determined. */
export function withoutTaskList(bytes: Buffer): Buffer | undefined {
  if (!bytes.includes(LISTS)) return undefined;
  const text = bytes.toString("utf8");
  try {
    const tasks = valueAt(JSON.parse(text) as unknown, TASKS);
    if (!isRecord(tasks) || !Object.hasOwn(tasks, "list")) return undefined;
    const { list: _list, ...rest } = tasks;
    return Buffer.from(replaceIn(text, [{ pointer: TASKS, text: JSON.stringify(rest) }]));
  } catch {
    return undefined;
  }
}

const LISTS = Buffer.from('"tasks"');
const TASKS = ["result", "capabilities", "tasks"] as const;

interface FoundIds {
  readonly pointer: readonly string[];
  /** One ID, or a list whose elements may be invalid. */
  readonly ids: string | readonly unknown[];
}

function* placesIn(message: unknown): Iterable<FoundIds> {
  if (!isRecord(message)) return;
  const { method } = message;
  for (const holder of ["params", "result"]) yield* idAt(message, [holder, "_meta", RELATED_TASK, "taskId"]);
  if (typeof method === "string") {
    // Requests of servers about tasks concern tasks of the client, which chose their IDs itself.
    if (method === "notifications/tasks" || method.startsWith("notifications/tasks/"))
      yield* idAt(message, ["params", "taskId"]);
    if (method === "notifications/subscriptions/acknowledged") {
      const ids = valueAt(message, LISTENED);
      // No client can subscribe to more, and each is sealed: 100,000 of them would block all other requests for
      // seconds.
      if (Array.isArray(ids) && ids.length <= MAX_LISTENED) yield { pointer: LISTENED, ids };
    }
    return;
  }
  // In revision 2025-11-25 where a task is created; else the task itself. An example of the extension has it in an
  // error (SEP-2663).
  yield* idAt(message, ["result", "task", "taskId"]);
  yield* idAt(message, ["result", "taskId"]);
  yield* idAt(message, ["error", "taskId"]);
  yield* idAt(message, ["error", "data", "taskId"]);
}

function* idAt(message: unknown, pointer: readonly string[]): Iterable<FoundIds> {
  const value = valueAt(message, pointer);
  if (typeof value === "string") yield { pointer, ids: value };
}

function valueAt(message: unknown, pointer: readonly string[]): unknown {
  let value = message;
  for (const name of pointer) {
    if (!isRecord(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}
