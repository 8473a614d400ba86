/** Input and outcome of relaying one request to one member (relay.ts). */
import type { CurrentPrincipal } from "../../identity/current-principal.ts";
import type { MessageJson } from "../../mcp/federation/json.ts";
import type { RequestContext } from "../request-context.ts";
import type { Outgoing, RunMember } from "./ask-member.ts";
import type { Link } from "./links.ts";

/** The response to the client. */
export interface Reply {
  /** The one response to its request. */
  result(result: MessageJson): void;
  /** The same, with the client's ID. */
  response(bytes: Buffer): void;
  /** @param data default: the request ID */
  error(code: number, message: string, data?: unknown): void;
  /** A message before it; "none": only its ID. @param id of the event @returns false: wait for `exchange.onDrain` */
  before(message: MessageJson | "none", id?: string): boolean;
}

export interface RelayOptions {
  readonly run: RunMember;
  readonly current: CurrentPrincipal | undefined;
  readonly caller: RequestContext;
  readonly link: Link;
  /** As it goes to the member. */
  readonly outgoing: Outgoing;
  /** JSON-RPC method of the message. */
  readonly method: string;
  readonly clientIsModern: boolean;
  /** The gateway can ask the client for input, for a member of the later revision. */
  readonly canAsk: boolean;
  /** Makes an ID of a member's request one that only this caller can answer. */
  readonly sealId: (idText: string) => string;
  /** Makes a state of the member one that only this caller can send back, to that member. */
  readonly sealState: (state: string) => string;
  /** ID of an event as the client sees it; undefined: it cannot resume. */
  readonly sealPosition: ((id: string) => string) | undefined;
}

/** "gone": the member does not know the session, and has done nothing. A result: it needs input. */
export type RelayEnd = "answered" | "gone" | MessageJson;

/** @param isFault the response was none that a member may give */
export type RelayDone = (end: RelayEnd, isFault: boolean) => void;
