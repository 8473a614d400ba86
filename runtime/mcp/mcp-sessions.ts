/**
 * `Mcp-Session-Id` of an upstream, sealed for the client that started the session.
 *
 * Untrusted input: the IDs of clients and upstreams. Promises: a sealed ID opens only for the same user, OAuth client
 * and route; it is visible ASCII; nothing is stored, so any replica can open it. A foreign or broken one does not open,
 * which the client must see as 404 (never 401): it then starts a new session. @see MCP 2025-11-25, Session Management
 */
import type { Keys } from "../shared/keys.ts";

/** Owner of the session. */
export interface SessionBinding {
  readonly userId: string;
  /** Agent run, or OAuth client of the grant; "" for callers without either. */
  readonly clientId: string;
  readonly route: string;
}

export interface McpSessions {
  /**
   * @param upstreamId value of the upstream's header
   * @param presented the sealed ID of the request, if any: the same session keeps the same text
   * @returns undefined when the upstream's ID is not 1–1024 visible ASCII characters, which no client would accept
   */
  seal(upstreamId: string, binding: SessionBinding, presented?: string): string | undefined;
  /** @returns the upstream's ID; undefined for a foreign seal, and for one of another caller */
  open(sealed: string, binding: SessionBinding): string | undefined;
}

export function createMcpSessions({ keys }: { readonly keys: Keys }): McpSessions {
  const sealer = keys.sealer("mcp-session");

  function open(sealed: string, binding: SessionBinding): string | undefined {
    if (sealed.length > MAX_SEALED) return undefined;
    return sealer.open(sealed, bindingText(binding))?.toString("latin1");
  }

  return {
    open,
    seal(upstreamId, binding, presented) {
      if (!VISIBLE_ASCII.test(upstreamId)) return undefined;
      if (presented !== undefined && open(presented, binding) === upstreamId) return presented;
      return sealer.seal(upstreamId, bindingText(binding));
    },
  };
}

const VISIBLE_ASCII = /^[\x21-\x7e]{1,1024}$/;
/** Key id, nonce, tag and 1,024 characters in base64url are below this. */
const MAX_SEALED = 2048;

/** JSON, so that two different bindings never share a text. */
export function bindingText({ userId, clientId, route }: SessionBinding): string {
  return JSON.stringify([userId, clientId, route]);
}
