/** Requests of clients that members answer. */
import { recordOf, type MessageJson } from "../../mcp/federation/json.ts";
import type { PlainCall } from "../../mcp/federation/plain-call.ts";
import { readClientMessage, type RawArguments } from "../../mcp/federation/raw-arguments.ts";
import type { RequestContext } from "../request-context.ts";
import type { RouteMember } from "./ask-member.ts";
import { plainClientOf } from "./client.ts";
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
  /** Present if the call need not be parsed, and the member's name for the tool. */
  readonly plain?: { readonly call: PlainCall; readonly name: string };
}

/** A call that is parsed only if the member needs more than one round. */
export class PlainMemberCall implements MemberCall {
  readonly context: RequestContext;
  readonly client: AskingClient;
  readonly args: RawArguments;
  readonly reply: ClientReply;
  readonly member: RouteMember;
  readonly calledAs: string;
  readonly plain: { readonly call: PlainCall; readonly name: string };

  constructor(context: RequestContext, call: PlainCall, reply: ClientReply, member: RouteMember, name: string) {
    this.context = context;
    this.client = plainClientOf(context, call);
    this.args = call.args;
    this.reply = reply;
    this.member = member;
    this.calledAs = call.tool;
    this.plain = { call, name };
  }

  get body(): MessageJson {
    const { message } = this.context;
    const body = (message && readClientMessage(message))?.body;
    return { ...body, params: { ...recordOf(body?.["params"]), name: this.plain.name } };
  }
}
