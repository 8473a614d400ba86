/** A request that goes to one member, in as many rounds as it needs, and its cancellation. */
import type { CurrentPrincipal } from "../../identity/current-principal.ts";
import { inward } from "../../mcp/federation/carry.ts";
import { requestFor } from "../../mcp/federation/eras.ts";
import { idValue, recordOf, writeJson, type MessageJson } from "../../mcp/federation/json.ts";
import { readAdvertised } from "../../mcp/federation/names.ts";
import { writePlainCall, type PlainCall } from "../../mcp/federation/plain-call.ts";
import { ACCESS_DENIED_CODE } from "../../mcp/refuse.ts";
import { bindingOf } from "../announced-address.ts";
import type { Streams } from "../forwarding/streams.ts";
import type { RequestContext } from "../request-context.ts";
import { after } from "../steps.ts";
import type { PendingAnswers } from "./pending-answers.ts";
import { askMember, type Outgoing, type RouteMember, type RunMember } from "./ask-member.ts";
import type { GapReason, Gaps } from "./gaps.ts";
import { askForInput } from "./input.ts";
import type { Link, LinkFailure, Links } from "./links.ts";
import { PlainMemberCall, type MemberCall } from "./member-call.ts";
import { memberOf } from "./members.ts";
import { OpenCall } from "./streams/open-call.ts";
import { notConnected } from "./refusals.ts";
import type { RelayEnd } from "./relay-options.ts";
import { relay } from "./relay.ts";
import { renewCaller } from "./renew-caller.ts";
import type { ClientReply } from "./reply.ts";
import type { MemberSeals } from "./member-seals.ts";

export interface CallDeps {
  readonly run: RunMember;
  readonly links: Links;
  readonly gaps: Gaps;
  readonly seals: MemberSeals;
  readonly answers: PendingAnswers;
  readonly streams: Streams;
  readonly current?: CurrentPrincipal | undefined;
}

/** A call on its way, in as many rounds as the member needs. */
interface Rounds {
  readonly call: MemberCall;
  readonly open: OpenCall;
  /** As the member gets it in the first round; undefined: the call is plain. */
  readonly own: MessageJson | undefined;
  readonly body: MessageJson | undefined;
  readonly sessions: MemberCall["client"]["sessions"];
  readonly round: number;
}

/** For messages without an awaited response. */
export const TELL_MS = 5_000;
/** Rounds in which a member asks a client with a session. */
const MAX_ROUNDS = 10;

export async function tellMember(
  run: RunMember,
  caller: RequestContext,
  { member, version, session }: Pick<Link, "member" | "version" | "session">,
  message: MessageJson,
): Promise<void> {
  await askMember(run, caller, member, { method: "POST", message, version, session }, TELL_MS);
}

export class MemberCalls {
  readonly #deps: CallDeps;
  /** Those in progress of clients with sessions. */
  readonly #running = new Map<string, () => void>();

  constructor(deps: CallDeps) {
    this.#deps = deps;
  }

  /** Clients with sessions send this; others close the response. @returns false: another process may have it */
  cancel(context: RequestContext, requestId: unknown): boolean {
    const cancel = this.#running.get(runningKey(context, requestId));
    cancel?.();
    return cancel !== undefined;
  }

  makePlain(context: RequestContext, call: PlainCall, reply: ClientReply): Promise<void> | void {
    const found = readAdvertised(call.tool);
    const member = found && memberOf(context, found.prefix);
    if (!found || !member) return reply.unknownName(call.tool);
    return this.make(new PlainMemberCall(context, call, reply, member, found.name));
  }

  /** Without a promise where the member's revision is known. */
  make(call: MemberCall): Promise<void> | void {
    const body = call.plain === undefined ? this.#own(call) : undefined;
    if (typeof body === "string") return call.reply.error(-32602, body);
    const open = new OpenCall(this.#deps.streams, call);
    return this.#start({ call, open, own: body, body, sessions: call.client.sessions, round: 1 });
  }

  #start(rounds: Rounds): Promise<void> | void {
    const { context, member, client } = rounds.call;
    const opened = this.#deps.links.open(context, member, rounds.sessions, client.legacyCapabilities);
    return after(opened, (link) => this.#send(rounds, link));
  }

  #send(rounds: Rounds, link: Link | LinkFailure): void {
    const { context, member, reply } = rounds.call;
    if (typeof link === "string") return this.#unavailable(context, member, link, reply);
    if (reply.isOver) return link.close();
    this.#exchange(rounds, link, (end) => {
      link.close();
      if (end === "answered") return;
      this.#again(rounds, end).catch((error: unknown) => context.exchange.broke(error));
    });
  }

  async #again(rounds: Rounds, end: Exclude<RelayEnd, "answered">): Promise<void> {
    const { call, own, sessions, round } = rounds;
    const { context, member, reply } = call;
    if (end === "gone") {
      // The member has lost the session and done nothing: another one, for this request alone.
      if (sessions === undefined) return reply.error(-32603, `${member.prepared.route.name} knows no session`);
      return this.#start({ ...rounds, sessions: undefined });
    }
    if (round === MAX_ROUNDS) return reply.error(-32603, `${member.prepared.route.name} asks without end`);
    const responses = await askForInput(this.#deps, call, end);
    if (typeof responses === "string") return reply.error(-32603, responses);
    if (!(await renewCaller(this.#deps.current, context))) return reply.error(ACCESS_DENIED_CODE, "Your access ended");
    const first = own ?? call.body;
    const params = { ...recordOf(first["params"]), ...responses };
    return this.#start({ ...rounds, own: first, body: { ...first, params }, round: round + 1 });
  }

  /** @returns the client's message with the member's own IDs and state; a text: why it cannot be sent */
  #own({ context, client, member, body }: MemberCall): MessageJson | string {
    const { prefix } = member;
    const own = inward(prefix, body);
    if (own === undefined) return "Unknown task";
    const params = recordOf(own["params"]);
    const { requestState } = params;
    if (requestState === undefined) return own;
    const opened = client.isModern ? this.#deps.seals.states.open(context, requestState) : undefined;
    return opened?.prefix === prefix
      ? { ...own, params: { ...params, requestState: opened.state } }
      : "Unknown request state";
  }

  #exchange(rounds: Rounds, link: Link, done: (end: RelayEnd) => void): void {
    const { open, call: asked, body, sessions } = rounds;
    const { context, client, reply } = asked;
    open.wasSent = true;
    const { run, seals, links, gaps, current } = this.#deps;
    const { member, version, session } = link;
    const { prefix } = member;
    const id = client.isModern ? undefined : idValue(context.message?.id);
    const key = id === undefined ? undefined : runningKey(context, id);
    const method = context.message?.facts.method ?? "";
    const resumable = sessions !== undefined && session !== undefined;
    const call = resumable ? { prefix, version, session, method } : undefined;
    const options = {
      run,
      current,
      caller: context,
      link,
      outgoing: outgoingFor(asked, body, link),
      method,
      clientIsModern: client.isModern,
      canAsk: client.sessions !== undefined && reply.takesMessages,
      sealId: (id: string) => seals.questions.seal(context, { prefix, version, session, id }),
      sealState: (state: string) => seals.states.seal(context, { prefix, state }),
      sealPosition: call && ((id: string) => seals.positions.seal(context, { call, ids: [[prefix, id]] })),
    };
    const relaying = relay(options, reply, (end, isFault) => {
      if (key !== undefined) this.#running.delete(key);
      if (isFault) {
        links.forget(member);
        gaps.tell(context, { member, reason: "invalid" });
      }
      done(end);
    });
    open.relaying = relaying;
    if (key === undefined || relaying.isOver) return;
    this.#running.set(key, () => {
      if (link.isModern) relaying.abort();
      else void tellMember(run, context, link, cancelled(id));
    });
  }

  #unavailable(context: RequestContext, member: RouteMember, reason: GapReason, reply: ClientReply): void {
    this.#deps.gaps.tell(context, { member, reason });
    const { route } = member.prepared;
    if (reason === "not-connected") {
      const { code, message, data } = notConnected(member.prefix, route);
      return reply.error(code, message, data);
    }
    if (reason === "denied") return reply.error(ACCESS_DENIED_CODE, `Request denied by policy of ${route.name}`);
    reply.error(-32603, `${route.name} is unavailable at the moment`);
  }
}

/** @param body undefined: the call as it is */
function outgoingFor(
  { client, args, calledAs, plain }: MemberCall,
  body: MessageJson | undefined,
  link: Link,
): Outgoing {
  const { isModern, version, session } = link;
  const { side } = client;
  const common = { method: "POST", version, session, calledAs } as const;
  if (body !== undefined) return { ...common, message: requestFor(body, isModern, side), args };
  if (plain === undefined) return common;
  const declared = plain.call.capabilities || writeJson(side.capabilities);
  return { ...common, call: writePlainCall(plain.call, plain.name, isModern, declared) };
}

/** Two clients, or two sessions of one, can use the same ID. */
function runningKey(context: RequestContext, id: unknown): string {
  const { userId, clientId, route } = bindingOf(context);
  return JSON.stringify([userId, clientId, route, context.exchange.header("mcp-session-id"), id]);
}

function cancelled(requestId: unknown): MessageJson {
  return { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } };
}
