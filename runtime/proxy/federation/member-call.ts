/** One request of a client that one member answers. */
import type { MessageJson } from "../../mcp/federation/json.ts";
import type { RequestContext } from "../request-context.ts";
import type { RouteMember } from "./ask-member.ts";
import type { AskingClient } from "./lists/collect.ts";
import type { ClientReply } from "./reply.ts";

export interface MemberCall {
  readonly context: RequestContext;
  readonly client: AskingClient;
  readonly member: RouteMember;
  /** As the member gets it, but for what its revision needs. */
  readonly body: MessageJson;
  /** Name or URI in the client's message. */
  readonly calledAs: string;
  readonly reply: ClientReply;
}
