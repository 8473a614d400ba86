/**
 * `Mcp-Session-Id` of a federated endpoint: the members' sessions, sealed for the caller. Nothing is stored, so any replica
 * serves any request; the last ones that were opened are remembered.
 */
import type { Keys } from "../../shared/keys.ts";
import { BoundedCache, type Visited } from "../../shared/cache.ts";
import { bindingText, type SessionBinding } from "../mcp-sessions.ts";

/** Prefix of the member → its own session ID, as the member's route sealed it. */
export type MemberSessions = ReadonlyMap<string, string>;

/** At most 3 MB of the longest. */
const MAX_OPENED = 256;

interface Opened extends Visited {
  readonly sessions: MemberSessions;
}

/** Clients and proxies accept longer headers than this. */
const MAX_SEALED = 6_144;

export interface FederatedSessions {
  /** Omits the last members if all would be too long. */
  seal(sessions: MemberSessions, binding: SessionBinding): string;
  /** @returns undefined if it is not ours or not this caller's */
  open(sealed: string, binding: SessionBinding): MemberSessions | undefined;
}

export function createFederatedSessions({ keys }: { readonly keys: Keys }): FederatedSessions {
  const sealer = keys.sealer("mcp-session");
  const context = (binding: SessionBinding): string => `federated ${bindingText(binding)}`;
  // Opening one costs a tenth of a call, and calls of a session follow each other.
  const opened = new BoundedCache<Opened>(MAX_OPENED);
  return {
    seal(sessions, binding) {
      for (let entries = [...sessions]; ; entries = entries.slice(0, -1)) {
        const sealed = sealer.seal(JSON.stringify(entries), context(binding));
        if (sealed.length <= MAX_SEALED || entries.length === 0) return sealed;
      }
    },
    open(sealed, binding) {
      if (sealed.length > MAX_SEALED) return undefined;
      const bound = context(binding);
      const key = `${sealed} ${bound}`;
      const known = opened.get(key);
      if (known !== undefined) return known.sessions;
      const text = sealer.open(sealed, bound)?.toString();
      if (text === undefined) return undefined;
      const sessions = new Map(JSON.parse(text) as [string, string][]);
      opened.set(key, { sessions, visited: false });
      return sessions;
    },
  };
}
