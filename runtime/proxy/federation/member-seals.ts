/**
 * Texts that members give to clients and get back, sealed for the caller: IDs of their requests, states of multi-round requests,
 * positions in their streams. A client can use what it got itself, at the member that it came from, and at any replica.
 */
import { writeJson } from "../../mcp/federation/json.ts";
import { bindingText } from "../../mcp/mcp-sessions.ts";
import type { Keys, Sealer } from "../../shared/keys.ts";
import { bindingOf } from "../announced-address.ts";
import type { RequestContext } from "../request-context.ts";

/** The request of a member to a client with a session. */
export interface MemberQuestion {
  /** "": the gateway asks, for a member without sessions; the ID is then that of the pending answer. */
  readonly prefix: string;
  readonly version: string;
  readonly session: string | undefined;
  /** JSON text of the member's own ID. */
  readonly id: string;
}

export interface MemberState {
  readonly prefix: string;
  readonly state: string;
}

/** `Last-Event-ID`: where each member's stream was, by prefix. */
export interface StreamPosition {
  /** Set for the response to a request: the member's session. */
  readonly call?:
    | { readonly prefix: string; readonly version: string; readonly session: string; readonly method: string }
    | undefined;
  readonly ids: readonly (readonly [string, string])[];
}

export interface MemberSeal<T> {
  seal(caller: RequestContext, value: T): string;
  /** @returns undefined for anything that this caller did not get */
  open(caller: RequestContext, sealed: unknown): T | undefined;
}

export interface MemberSeals {
  readonly questions: MemberSeal<MemberQuestion>;
  readonly states: MemberSeal<MemberState>;
  readonly positions: MemberSeal<StreamPosition>;
}

/** A session ID of 2 KiB and an ID, sealed. */
const MAX_ID = 8_192;
/** Clients have limits for headers, see `mcp/federation/sessions.ts`. */
const MAX_POSITION = 8_192;
/** Above the limit of any request. */
const MAX_STATE = 1024 * 1024;

export function createMemberSeals(keys: Keys): MemberSeals {
  const sealer = keys.sealer("mcp-session");
  return {
    questions: sealOf(sealer, "question", MAX_ID),
    states: sealOf(sealer, "state", MAX_STATE),
    positions: sealOf(sealer, "position", MAX_POSITION),
  };
}

function sealOf<T>(sealer: Sealer, kind: string, maxLength: number): MemberSeal<T> {
  const contextOf = (caller: RequestContext): string => `${kind} ${bindingText(bindingOf(caller))}`;
  return {
    seal: (caller, value) => sealer.seal(writeJson(value), contextOf(caller)),
    open(caller, sealed) {
      if (typeof sealed !== "string" || sealed.length > maxLength) return undefined;
      const opened = sealer.open(sealed, contextOf(caller));
      return opened && (JSON.parse(opened.toString()) as T);
    },
  };
}
