/**
 * Parts of messages that belong to one member: IDs of tasks and addresses of apps. Clients see them with the member's prefix, so
 * that they come back to it. Pure.
 */
import { isRecord } from "../../shared/is-record.ts";
import { isAboutTask, RELATED_TASK } from "../tasks/task-requests.ts";
import type { MessageJson } from "./json.ts";
import { advertiseTask, advertiseUri, readTask } from "./names.ts";

/** @param method of the request @returns the member's result as clients see it */
export function outwardResult(prefix: string, method: unknown, result: MessageJson): MessageJson {
  const { content, contents, messages, task, taskId, resultType, _meta } = result;
  const changed: Record<string, unknown> = {};
  if (Array.isArray(content)) changed["content"] = content.map((block) => outwardBlock(prefix, block));
  if (Array.isArray(contents)) changed["contents"] = contents.map((each) => outwardUri(prefix, each));
  if (Array.isArray(messages))
    changed["messages"] = messages.map((each: unknown) =>
      isRecord(each) && each["content"] !== undefined
        ? { ...each, content: outwardBlock(prefix, each["content"]) }
        : each,
    );
  const isTask = resultType === "task" || isAboutTask(String(method));
  if (isTask && typeof taskId === "string") changed["taskId"] = advertiseTask(prefix, taskId);
  // Where revisions until 2025-11-25 have it when a task is created.
  if (method === "tools/call" && isRecord(task)) changed["task"] = outwardTask(prefix, task);
  if (isRecord(_meta)) changed["_meta"] = outwardMeta(prefix, _meta);
  return Object.keys(changed).length === 0 ? result : { ...result, ...changed };
}

/** @returns a notification or a request of the member as clients see it */
export function outwardMessage(prefix: string, message: MessageJson): MessageJson {
  const { method, params } = message;
  if (!isRecord(params)) return message;
  const { uri, taskId, _meta } = params;
  const changed: Record<string, unknown> = {};
  if (typeof uri === "string") changed["uri"] = advertiseUri(prefix, uri);
  if (typeof taskId === "string" && isTaskNotification(method)) changed["taskId"] = advertiseTask(prefix, taskId);
  if (isRecord(_meta)) changed["_meta"] = outwardMeta(prefix, _meta);
  return Object.keys(changed).length === 0 ? message : { ...message, params: { ...params, ...changed } };
}

/** @returns an item of a list of tools: the address of its app as clients see it */
export function outwardTool(prefix: string, tool: MessageJson): MessageJson {
  const meta = tool["_meta"];
  return isRecord(meta) ? { ...tool, _meta: outwardMeta(prefix, meta) } : tool;
}

/** @returns the client's message as the member gets it, but for its name and URI; undefined: it names another member's task */
export function inward(prefix: string, message: MessageJson): MessageJson | undefined {
  for (const holder of ["params", "result"]) {
    const part = message[holder];
    const meta = isRecord(part) ? part["_meta"] : undefined;
    const related = isRecord(meta) ? meta[RELATED_TASK] : undefined;
    if (!isRecord(part) || !isRecord(meta) || !isRecord(related)) continue;
    const task = readTask(related["taskId"]);
    // Responses and notifications may be about tasks of the client.
    if (task?.prefix !== prefix) {
      if (message["method"] !== undefined && message["id"] !== undefined) return undefined;
      continue;
    }
    const own = { ...meta, [RELATED_TASK]: { ...related, taskId: task.name } };
    return { ...message, [holder]: { ...part, _meta: own } };
  }
  return message;
}

export function isTaskNotification(method: unknown): boolean {
  return method === "notifications/tasks" || String(method).startsWith("notifications/tasks/");
}

function outwardTask(prefix: string, task: MessageJson): MessageJson {
  const { taskId } = task;
  return typeof taskId === "string" ? { ...task, taskId: advertiseTask(prefix, taskId) } : task;
}

/** A link to a resource, or one with its contents. */
function outwardBlock(prefix: string, block: unknown): unknown {
  if (!isRecord(block)) return block;
  const { resource } = block;
  return isRecord(resource) ? { ...block, resource: outwardUri(prefix, resource) } : outwardUri(prefix, block);
}

function outwardUri(prefix: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { uri } = value;
  const advertised = typeof uri === "string" ? advertiseUri(prefix, uri) : uri;
  return advertised === uri ? value : { ...value, uri: advertised };
}

/** Members of `_meta` with the address of a tool's app (MCP Apps), the second one in its first version. */
const UI = "ui";
const UI_EARLIER = "ui/resourceUri";

function outwardMeta(prefix: string, meta: MessageJson): MessageJson {
  const related = meta[RELATED_TASK];
  const { [UI]: ui, [UI_EARLIER]: earlier } = meta;
  const uri = isRecord(ui) ? ui["resourceUri"] : undefined;
  if (!isRecord(related) && typeof uri !== "string" && typeof earlier !== "string") return meta;
  return {
    ...meta,
    ...(isRecord(related) && { [RELATED_TASK]: outwardTask(prefix, related) }),
    ...(isRecord(ui) && typeof uri === "string" && { [UI]: { ...ui, resourceUri: advertiseUri(prefix, uri) } }),
    ...(typeof earlier === "string" && { [UI_EARLIER]: advertiseUri(prefix, earlier) }),
  };
}
