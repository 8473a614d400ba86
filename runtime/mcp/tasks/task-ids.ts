/**
 * IDs of an upstream's tasks, sealed for the client that created the task.
 *
 * Untrusted input: the IDs of clients and upstreams. Promises: a sealed ID opens only for the same user, OAuth client
 * and route. It is visible ASCII, whatever the upstream's is. A task has one sealed ID, wherever it is named. Nothing
 * is stored, so any replica can open it, and any number of tasks costs nothing. A foreign ID is treated like an unknown
 * one.
 *
 * @see MCP 2025-11-25, Tasks, Security; MCP Tasks extension 2026-07-28
 */
import type { Keys } from "../../shared/keys.ts";
import { bindingText, type SessionBinding } from "../mcp-sessions.ts";

export interface OpenedTask {
  /** The upstream's ID. */
  readonly id: string;
  /** Tool that the task calls; "" if no rule named tools when it was sealed. */
  readonly tool: string;
}

export interface TaskIds {
  /** @returns undefined for IDs that are empty, longer than 1,024 bytes, or not text */
  seal(task: OpenedTask, binding: SessionBinding): string | undefined;
  /** @returns undefined for a foreign seal, and for one of another caller */
  open(sealed: string, binding: SessionBinding): OpenedTask | undefined;
}

const MAX_ID_BYTES = 1024;
/** Key id, nonce, tag, an id in JSON and the name of a tool in base64url are below this. */
const MAX_SEALED = 16_384;
const MAX_TOOL_LENGTH = 1024;

export function createTaskIds({ keys }: { readonly keys: Keys }): TaskIds {
  const sealer = keys.sealer("mcp-task");
  return {
    seal({ id, tool }, binding) {
      const bytes = Buffer.byteLength(id);
      if (bytes === 0 || bytes > MAX_ID_BYTES || tool.length > MAX_TOOL_LENGTH || !id.isWellFormed()) return undefined;
      return sealer.sealAlike(JSON.stringify([id, tool]), bindingText(binding));
    },
    open(sealed, binding) {
      if (sealed.length > MAX_SEALED) return undefined;
      const opened = sealer.open(sealed, bindingText(binding));
      if (opened === undefined) return undefined;
      const [id, tool] = JSON.parse(opened.toString()) as readonly [string, string];
      return { id, tool };
    },
  };
}
