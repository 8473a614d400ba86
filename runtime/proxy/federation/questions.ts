/**
 * IDs of members' requests to clients with sessions: sealed, with the member and its session, for the caller. A client cannot
 * answer what it was not asked, and any replica takes the answer.
 */
import { writeJson } from "../../mcp/federation/json.ts";
import { bindingText } from "../../mcp/mcp-sessions.ts";
import type { Keys } from "../../shared/keys.ts";
import { bindingOf } from "../announced-address.ts";
import type { RequestContext } from "../request-context.ts";
import type { Link } from "./links.ts";

export interface MemberQuestion {
  readonly prefix: string;
  readonly version: string;
  readonly session: string | undefined;
  /** JSON text of the member's own ID. */
  readonly id: string;
}

export interface Questions {
  seal(caller: RequestContext, link: Link, id: string): string;
  /** @returns undefined if this caller was not asked it */
  open(caller: RequestContext, sealed: unknown): MemberQuestion | undefined;
}

/** A session ID of 2 KiB and an ID, sealed. */
const MAX_SEALED = 8_192;

export function createQuestions(keys: Keys): Questions {
  const sealer = keys.sealer("mcp-session");
  const contextOf = (caller: RequestContext): string => `question ${bindingText(bindingOf(caller))}`;
  return {
    seal: (caller, { member: { prefix }, version, session }, id) =>
      sealer.seal(writeJson([prefix, version, session ?? "", id]), contextOf(caller)),
    open(caller, sealed) {
      if (typeof sealed !== "string" || sealed.length > MAX_SEALED) return undefined;
      const opened = sealer.open(sealed, contextOf(caller));
      if (opened === undefined) return undefined;
      const [prefix, version, session, id] = JSON.parse(opened.toString()) as [string, string, string, string];
      return { prefix, version, session: session === "" ? undefined : session, id };
    },
  };
}
