/**
 * Message address for clients of the transport of revision 2024-11-05: the upstream's own address, sealed.
 *
 * Untrusted input: the address that an upstream announces, and the requests of clients. Promises: only an address on
 * the upstream's own origin is sealed; a seal opens only for the same user, OAuth client and route, and no longer than
 * the maximum lifetime of the stream that announced it. Nothing is stored, so any replica can open it.
 * @see MCP 2024-11-05, HTTP with SSE
 */
import { canonicalPath } from "../shared/http/target.ts";
import { MESSAGE_ADDRESS_PARAMETER } from "../shared/http/query.ts";
import type { Keys } from "../shared/keys.ts";
import type { SessionBinding } from "./mcp-sessions.ts";

export interface MessageAddress {
  /** Origin of the upstream that announced the address. */
  readonly origin: string;
  /** With query. */
  readonly path: string;
}

export interface MessageAddresses {
  /** @param expiresAt epoch seconds @returns the query that represents the address at the route's base, "?" included */
  seal(address: MessageAddress, binding: SessionBinding, expiresAt: number): string;
  /** @returns undefined when the query is foreign, of another caller, or too old */
  open(query: string, binding: SessionBinding, now: number): MessageAddress | undefined;
}

const QUERY_START = `?${MESSAGE_ADDRESS_PARAMETER}=`;
const MAX_ADDRESS = 2_048;
/** Key id, nonce, tag and the longest address with its origin in base64url are below this. */
const MAX_QUERY = 4_096;

export function createMessageAddresses({ keys }: { readonly keys: Keys }): MessageAddresses {
  const sealer = keys.sealer("mcp-message-address");
  return {
    seal: ({ origin, path }, binding, expiresAt) =>
      QUERY_START + sealer.seal(JSON.stringify([origin, path, expiresAt]), contextOf(binding)),
    open(query, binding, now) {
      if (query.length > MAX_QUERY || !query.startsWith(QUERY_START)) return undefined;
      const opened = sealer.open(query.slice(QUERY_START.length), contextOf(binding));
      if (opened === undefined) return undefined;
      const [origin, path, expiresAt] = JSON.parse(opened.toString("utf8")) as [string, string, number];
      return expiresAt > now ? { origin, path } : undefined;
    },
  };
}

/**
 * The address that an upstream announces.
 *
 * @param text data of its event
 * @param streamUrl address of the stream: the base of relative addresses
 * @returns undefined when it leads anywhere but to that origin, or is ambiguous
 */
export function parseMessageAddress(text: string, streamUrl: string): MessageAddress | undefined {
  // Visible ASCII: characters that URL parsers drop, replace or encode would be ambiguous.
  if (text.length > MAX_ADDRESS || !/^[\x21-\x7e]+$/.test(text) || /[\\#]/.test(text)) return undefined;
  const url = URL.parse(text, streamUrl);
  const { origin } = new URL(streamUrl);
  if (url === null || url.origin !== origin || url.username !== "" || url.password !== "") return undefined;
  // Also "http:/x", which is relative to an http address and absolute to others.
  if (/^[a-z][a-z0-9+.-]*:/i.test(text) && !/^https?:\/\/[^/]/i.test(text)) return undefined;
  const path = canonicalPath(url.pathname);
  return path.ok ? { origin, path: path.path + url.search } : undefined;
}

/** JSON, so that two different bindings never share a text. */
function contextOf({ userId, clientId, route }: SessionBinding): string {
  return JSON.stringify([userId, clientId, route]);
}
