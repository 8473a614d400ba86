/**
 * Last step of a federated route (`mcp.server.members`): it answers itself, and asks members by their own routes.
 *
 * Untrusted input: the client's message, which the steps before have read and decided, and all that members send. Promises: a
 * request goes to one member at most, under its own name for it; a member that fails takes only its part away.
 */
import { MODERN } from "../../mcp/federation/eras.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { Keys } from "../../shared/keys.ts";
import { inward } from "../../mcp/federation/carry.ts";
import { recordOf, type MessageJson } from "../../mcp/federation/json.ts";
import { readPlainCall } from "../../mcp/federation/plain-call.ts";
import { readClientMessage } from "../../mcp/federation/raw-arguments.ts";
import { readAdvertised, readAppUri, readTask } from "../../mcp/federation/names.ts";
import type { FederatedSessions } from "../../mcp/federation/sessions.ts";
import { CLIENT_CAPABILITIES, PROTOCOL_VERSION } from "../../mcp/members.ts";
import { answerWire } from "../answers/answer-wire.ts";
import { upstreamEventId } from "../answers/stream-end-id.ts";
import type { RequestContext } from "../request-context.ts";
import { after, type Step, type StepOutcome } from "../steps.ts";
import { answerFindTools, isFindTools } from "./discovery/find-tools.ts";
import { answerList, mergedList } from "./lists/answer-list.ts";
import { PendingAnswers, type PendingAnswersDeps } from "./pending-answers.ts";
import { askMember, type RunMember } from "./ask-member.ts";
import { clientOf, SELF } from "./client.ts";
import type { ClientStreamDeps } from "./streams/client-stream.ts";
import { collect, openAll, type AskingClient } from "./lists/collect.ts";
import { MemberCalls, tellMember, TELL_MS } from "./calls.ts";
import { Gaps, type GapDeps } from "./gaps.ts";
import { discover, initialize } from "./greet.ts";
import { legacyLink, Links, type Link } from "./links.ts";
import { ListCache, type ListCacheDeps } from "./lists/list-cache.ts";
import { listen } from "./streams/listen.ts";
import type { ClientRequest } from "./member-call.ts";
import { memberOf, membersOf } from "./members.ts";
import { Owners } from "./lists/owners.ts";
import { ClientReply } from "./reply.ts";
import { createMemberSeals, type MemberSeals } from "./member-seals.ts";
import { mergeStreams, resumeCall } from "./streams/stream.ts";

export interface FederateDeps extends ListCacheDeps, GapDeps, ClientStreamDeps, PendingAnswersDeps {
  readonly run: RunMember;
  readonly keys: Keys;
  readonly federatedSessions: FederatedSessions;
}

/** Shared by all that is asked of members. */
interface Parts extends FederateDeps {
  readonly links: Links;
  readonly gaps: Gaps;
  readonly seals: MemberSeals;
  readonly answers: PendingAnswers;
  readonly cache: ListCache;
  readonly owners: Owners;
}

export function federate(deps: FederateDeps): Step {
  const endpoint = new FederatedEndpoint(deps);
  return (context) => after(endpoint.answer(context), (): StepOutcome => "done");
}

class FederatedEndpoint {
  readonly #parts: Parts;
  readonly #calls: MemberCalls;

  constructor(deps: FederateDeps) {
    const asked = { ...deps, links: new Links(deps), cache: new ListCache(deps) };
    this.#parts = {
      ...asked,
      gaps: new Gaps(deps),
      seals: createMemberSeals(deps.keys),
      answers: new PendingAnswers(deps),
      owners: new Owners({
        clock: deps.clock,
        collect: (caller, method, client) => collect(asked, caller, method, client),
      }),
    };
    this.#calls = new MemberCalls(this.#parts);
  }

  answer(context: RequestContext): Promise<void> | void {
    const { message, exchange } = context;
    if (message === undefined) return exchange.method === "DELETE" ? this.#endSessions(context) : this.#listen(context);
    const reply = new ClientReply(context);
    const plain = readPlainCall(message);
    if (plain !== undefined) return this.#calls.makePlain(context, plain, reply);
    const read = readClientMessage(message);
    if (read === undefined) return reply.error(-32600, "Message cannot be read");
    const { body, args } = read;
    const client = clientOf(context, body);
    if (message.kind === "response") return this.#respond(context, body);
    if (message.kind === "notification") return this.#notify(context, client, body);
    if (client.isModern && !hasRequiredMeta(body))
      return reply.error(-32602, "_meta has no valid protocolVersion and clientCapabilities", undefined, 400);
    return this.#request({ context, client, body, args, reply });
  }

  #request(request: ClientRequest): Promise<void> | void {
    const { context, client, body, reply } = request;
    const method = String(body["method"]);
    const isModern = client.isModern;
    switch (method) {
      case "server/discover":
        return isModern ? discover(this.#parts, context, reply) : reply.error(-32601, "Method not found");
      case "initialize":
        return isModern ? reply.error(-32601, "Method not found") : initialize(this.#parts, context, client, body);
      case "ping":
        return isModern ? reply.error(-32601, "Method not found") : reply.result({});
      case "logging/setLevel":
        if (!isModern) return this.#tellSessions(context, body).then(() => reply.result({}));
        return reply.error(-32601, "Method not found");
      case "tools/list":
      case "prompts/list":
      case "resources/list":
      case "resources/templates/list":
      case "skills/list":
        return answerList(this.#parts, context, client, method, body, reply);
      case "tools/call":
      case "prompts/get":
        return isFindTools(context, body) ? this.#findTools(request) : this.#named(request);
      case "completion/complete":
        return this.#complete(request);
      case "resources/read":
      case "resources/directory/read":
      case "skills/get":
        return this.#owned(request);
      case "tasks/get":
      case "tasks/update":
      case "tasks/cancel":
        return this.#task(request);
      case "tasks/result":
        return isModern ? reply.error(-32601, "Method not found") : this.#task(request);
      case "subscriptions/listen":
        return isModern ? this.#subscribe(request) : reply.error(-32601, "Method not found");
      case "resources/subscribe":
      case "resources/unsubscribe":
        // The updates come in the stream of a session.
        if (!isModern && client.sessions !== undefined) return this.#owned(request);
        return reply.error(-32601, "Method not found");
      default:
        return reply.error(-32601, "Method not found");
    }
  }

  #findTools({ context, client, args, reply }: ClientRequest): Promise<void> {
    const listTools = async () => (await mergedList(this.#parts, context, client, "tools/list")).items;
    return answerFindTools(listTools, client, args && (JSON.parse(args.bytes.toString()) as unknown), reply);
  }

  /** A tool or a prompt. */
  #named(request: ClientRequest): Promise<void> | void {
    const { context, body, reply } = request;
    const params = recordOf(body["params"]);
    const calledAs = String(params["name"]);
    const found = readAdvertised(calledAs);
    const member = found && memberOf(context, found.prefix);
    if (!found || !member) return reply.unknownName(calledAs);
    const own = { ...body, params: { ...params, name: found.name } };
    return this.#calls.make({ ...request, member, body: own, calledAs });
  }

  async #complete(request: ClientRequest): Promise<void> {
    const { context, body, reply } = request;
    const params = recordOf(body["params"]);
    const ref = recordOf(params["ref"]);
    const { name, uri } = ref;
    if (typeof name !== "string") return this.#owned(request, uri);
    const found = readAdvertised(name);
    const member = found && memberOf(context, found.prefix);
    if (!found || !member) return reply.unknownName(name);
    const own = { ...body, params: { ...params, ref: { ...ref, name: found.name } } };
    return this.#calls.make({ ...request, member, body: own, calledAs: name });
  }

  /** A task of some member, which its ID names. */
  #task(request: ClientRequest): Promise<void> | void {
    const { context, body, reply } = request;
    const params = recordOf(body["params"]);
    const calledAs = String(params["taskId"]);
    const found = readTask(calledAs);
    const member = found && memberOf(context, found.prefix);
    if (!found || !member) return reply.error(-32602, "Unknown task");
    const own = { ...body, params: { ...params, taskId: found.name } };
    return this.#calls.make({ ...request, member, body: own, calledAs: "" });
  }

  /** Something with a URI, which is the same for all members, except for apps. */
  async #owned(request: ClientRequest, uri: unknown = recordOf(request.body["params"])["uri"]): Promise<void> {
    const { context, client, body, reply } = request;
    if (typeof uri !== "string") return reply.error(-32602, "The URI is missing");
    const app = readAppUri(uri);
    const owner = await this.#parts.owners.find(context, client, uri);
    if (owner === "busy")
      return reply.error(-32603, "Too many unknown resources are requested at once; try again later");
    const member = owner === "none" ? undefined : memberOf(context, owner.prefix);
    if (member === undefined) {
      const code = client.isModern || body["method"] === "skills/get" ? -32602 : -32002;
      return reply.error(code, body["method"] === "skills/get" ? "Skill not found" : "Resource not found", { uri });
    }
    const own = app ? withUri(body, app.name) : body;
    return this.#calls.make({ ...request, member, body: own, calledAs: uri });
  }

  #subscribe({ context, client, body, reply }: ClientRequest): Promise<void> {
    return listen(this.#parts, context, client, body, reply);
  }

  /** A client's response to a question of a member, or of the gateway for one. */
  async #respond(context: RequestContext, body: MessageJson): Promise<void> {
    const { seals, answers, run } = this.#parts;
    const asked = seals.questions.open(context, body["id"]);
    if (asked?.prefix === SELF) return accepted(context, (await answers.deliver(asked.id, body)) ? 202 : 413);
    const member = asked && memberOf(context, asked.prefix);
    if (!asked || !member) return accepted(context, 404);
    const { version, session, id, prefix } = asked;
    const own = inward(prefix, { ...body, id: JSON.parse(id) as unknown }) ?? body;
    await tellMember(run, context, { member, version, session }, own);
    accepted(context);
  }

  async #notify(context: RequestContext, client: AskingClient, body: MessageJson): Promise<void> {
    const { method } = body;
    if (method === "notifications/cancelled") {
      const isHere = this.#calls.cancel(context, recordOf(body["params"])["requestId"]);
      // Members ignore IDs that they do not know.
      if (!isHere && !client.isModern) await this.#tellSessions(context, body);
    } else if (method === "notifications/roots/list_changed" && !client.isModern)
      await this.#tellSessions(context, body);
    accepted(context);
  }

  async #tellSessions(context: RequestContext, body: MessageJson): Promise<void> {
    const { links } = await this.#withSessions(context);
    await Promise.all(links.map((link) => tellMember(this.#parts.run, context, link, body)));
  }

  #withSessions(context: RequestContext): ReturnType<typeof openAll> {
    const { memberSessions } = context;
    const members = membersOf(context).filter(({ prefix }) => memberSessions?.has(prefix) === true);
    return openAll(this.#parts.links, context, members, clientOf(context, {}));
  }

  async #listen(context: RequestContext): Promise<void> {
    const { memberSessions, exchange } = context;
    const isAsked = exchange.method === "GET" && exchange.header("accept")?.includes("text/event-stream") === true;
    // Clients expect this of servers without such a stream (MCP 2025-11-25, Listening for Messages).
    if (!isAsked || memberSessions === undefined)
      return answerWire(context, { status: 405, headers: ["allow", "POST, DELETE"], body: "" });
    const sent = exchange.header("last-event-id");
    const position = sent === undefined ? undefined : this.#parts.seals.positions.open(context, upstreamEventId(sent));
    const call = position?.call;
    const resumed = call && memberOf(context, call.prefix);
    if (position && call && resumed) {
      const link = legacyLink(resumed, call.version, call.session);
      return resumeCall(this.#parts, context, link, { ...position, call });
    }
    const { links } = await this.#withStreams(context);
    mergeStreams(this.#parts, context, links, position);
  }

  /** Members with a stream: those with a session of this client, and those of the later revision. */
  async #withStreams(context: RequestContext): Promise<{ readonly links: readonly Link[] }> {
    const known = membersOf(context).map((member) => {
      if (context.memberSessions?.has(member.prefix) === true) return member;
      return this.#parts.links.isModern(member) ? member : undefined;
    });
    return openAll(
      this.#parts.links,
      context,
      known.filter((member) => member !== undefined),
      clientOf(context, {}),
    );
  }

  async #endSessions(context: RequestContext): Promise<void> {
    if (context.memberSessions === undefined) return accepted(context, 400);
    const { links } = await this.#withSessions(context);
    const outgoing = ({ version, session }: Link) => ({ method: "DELETE", version, session }) as const;
    await Promise.all(links.map((link) => askMember(this.#parts.run, context, link.member, outgoing(link), TELL_MS)));
    accepted(context, 200);
  }
}

/** Required of every request of 2026-07-28. */
function hasRequiredMeta(body: MessageJson): boolean {
  const meta = recordOf(recordOf(body["params"])["_meta"]);
  return meta[PROTOCOL_VERSION] === MODERN && isRecord(meta[CLIENT_CAPABILITIES]);
}

function withUri(body: MessageJson, uri: string): MessageJson {
  const params = recordOf(body["params"]);
  const { ref } = params;
  return { ...body, params: ref === undefined ? { ...params, uri } : { ...params, ref: { ...recordOf(ref), uri } } };
}

function accepted(context: RequestContext, status = 202): void {
  answerWire(context, { status, headers: [], body: "" });
}
