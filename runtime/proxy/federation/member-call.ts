/** Requests of clients that members answer. */
import type { MessageJson } from "../../mcp/federation/json.ts";
import type { RawArguments } from "../../mcp/federation/raw-arguments.ts";
import type { RequestContext } from "../request-context.ts";
import type { RouteMember } from "./ask-member.ts";
import type { AskingClient } from "./lists/collect.ts";
import type { ClientReply } from "./reply.ts";

export interface ClientRequest {
  readonly context: RequestContext;
  readonly client: AskingClient;
  /** Without the arguments of a tool. */
  readonly body: MessageJson;
  readonly args: RawArguments | undefined;
  readonly reply: ClientReply;
}

/** One request of a client that one member answers. */
export interface MemberCall extends ClientRequest {
  readonly member: RouteMember;
  /** As the member gets it, but for what its revision needs. */
  readonly body: MessageJson;
  /** Name or URI in the client's message. */
  readonly calledAs: string;
}
