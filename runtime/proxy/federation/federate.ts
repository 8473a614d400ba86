/**
 * Last step of a federated route (`mcp.server.members`): it answers itself, and asks members by their own routes.
 *
 * Untrusted input: the client's message, which the steps before have read and decided, and all that members send. Promises: a
 * request goes to one member at most, under its own name for it; a member that fails takes only its part away.
 */
import type { Keys } from "../../shared/keys.ts";
import { recordOf, readMessage, type MessageJson } from "../../mcp/federation/json.ts";
import { readAdvertised } from "../../mcp/federation/names.ts";
import type { FederatedSessions } from "../../mcp/federation/sessions.ts";
import { bindingOf } from "../announced-address.ts";
import { answerWire } from "../answers/answer-wire.ts";
import { keepsFor, type ListDeps } from "../lists/list-rules.ts";
import type { RequestContext } from "../request-context.ts";
import type { Step, StepOutcome } from "../steps.ts";
import { askMember, type RunMember } from "./ask-member.ts";
import { clientOf, SELF } from "./client.ts";
import { askAll, collect, openAll, type AskingClient } from "./collect.ts";
import { MemberCalls, tellMember, TELL_MS } from "./calls.ts";
import { Gaps, type GapDeps } from "./gaps.ts";
import { discoverResult, initializeResult } from "./greet.ts";
import { Links, type Link } from "./links.ts";
import { MERGED, mergeLists, type MergedMethod } from "./lists.ts";
import { memberOf, membersOf } from "./members.ts";
import { Owners } from "./owners.ts";
import { createQuestions, type Questions } from "./questions.ts";
import { ClientReply } from "./reply.ts";
import { mergeStreams } from "./stream.ts";

export interface FederateDeps extends ListDeps, GapDeps {
  readonly run: RunMember;
  readonly keys: Keys;
  readonly federatedSessions: FederatedSessions;
}

/** Answering `initialize` and `server/discover` never waits for a member longer. */
const GREET_MS = 2_000;

export function federate(deps: FederateDeps): Step {
  const endpoint = new FederatedEndpoint(deps);
  return async (context): Promise<StepOutcome> => {
    await endpoint.answer(context);
    return "done";
  };
}

class FederatedEndpoint {
  readonly #deps: FederateDeps;
  readonly #links: Links;
  readonly #gaps: Gaps;
  readonly #owners: Owners;
  readonly #questions: Questions;
  readonly #calls: MemberCalls;

  constructor(deps: FederateDeps) {
    this.#deps = deps;
    this.#links = new Links(deps);
    this.#gaps = new Gaps(deps);
    this.#owners = new Owners(deps.clock);
    this.#questions = createQuestions(deps.keys);
    this.#calls = new MemberCalls({ ...deps, links: this.#links, gaps: this.#gaps, questions: this.#questions });
  }

  answer(context: RequestContext): Promise<void> | void {
    const { message, exchange } = context;
    if (message === undefined) return exchange.method === "DELETE" ? this.#endSessions(context) : this.#listen(context);
    const body = readMessage(message.bytes);
    const reply = new ClientReply(context);
    if (body === undefined) return reply.error(-32600, "Message cannot be read");
    const client = clientOf(context, body);
    if (message.kind === "response") return this.#respond(context, body);
    if (message.kind === "notification") return this.#notify(context, client, body);
    return this.#request(context, client, body, reply);
  }

  #request(context: RequestContext, client: AskingClient, body: MessageJson, reply: ClientReply): Promise<void> | void {
    const method = String(body["method"]);
    const isModern = client.isModern;
    switch (method) {
      case "server/discover":
        return isModern ? this.#discover(context, reply) : reply.error(-32601, "Method not found");
      case "initialize":
        return isModern ? reply.error(-32601, "Method not found") : this.#initialize(context, client, body);
      case "ping":
        return reply.result(isModern ? { resultType: "complete" } : {});
      case "logging/setLevel":
        if (!isModern) return this.#tellSessions(context, body).then(() => reply.result({}));
        return reply.error(-32601, "Method not found");
      case "tools/list":
      case "prompts/list":
      case "resources/list":
      case "resources/templates/list":
      case "skills/list":
        return this.#list(context, client, method, body, reply);
      case "tools/call":
      case "prompts/get":
        return this.#named(context, client, body, reply);
      case "completion/complete":
        return this.#complete(context, client, body, reply);
      case "resources/read":
      case "resources/directory/read":
      case "skills/get":
        return this.#owned(context, client, body, reply);
      case "resources/subscribe":
      case "resources/unsubscribe":
        // The updates come in the stream of a session.
        if (client.sessions !== undefined) return this.#owned(context, client, body, reply);
        return reply.error(-32601, "Method not found");
      default:
        return reply.error(-32601, "Method not found");
    }
  }

  async #discover(context: RequestContext, reply: ClientReply): Promise<void> {
    const { answers, gaps } = await askAll(membersOf(context), (member) =>
      this.#links.greet(context, member, GREET_MS),
    );
    const links = answers.map(({ member, answer: greeting }) => ({ member, greeting }));
    this.#gaps.tellAll(context, gaps);
    reply.result(discoverResult(context, { links, gaps }));
  }

  async #initialize(context: RequestContext, client: AskingClient, body: MessageJson): Promise<void> {
    const params = recordOf(body["params"]);
    const fresh = { ...client, sessions: undefined };
    const opened = await openAll(this.#links, context, membersOf(context), fresh, GREET_MS);
    const { links } = opened;
    const gaps = [...opened.gaps];
    const greetings = await Promise.all(
      links.map(async ({ member, greeting, session }) => {
        const known = greeting ?? (await this.#links.greet(context, member, GREET_MS));
        if (typeof known === "string") gaps.push({ member, reason: known });
        return { member, session, greeting: typeof known === "string" ? undefined : known };
      }),
    );
    this.#gaps.tellAll(context, gaps);
    const sessions = new Map([[SELF, JSON.stringify(client.legacyCapabilities)]]);
    // Members without sessions are found by their revision, which is known.
    for (const { member, isModern, version, session } of links)
      if (!isModern && session !== undefined) sessions.set(member.prefix, `${version} ${session}`);
    const sealed = this.#deps.federatedSessions.seal(sessions, bindingOf(context));
    const result = initializeResult(context, { links: greetings, gaps }, params["protocolVersion"]);
    new ClientReply(context, ["mcp-session-id", sealed]).result(result);
  }

  async #list(
    context: RequestContext,
    client: AskingClient,
    method: MergedMethod,
    body: MessageJson,
    reply: ClientReply,
  ): Promise<void> {
    if (recordOf(body["params"])["cursor"] !== undefined) return reply.error(-32602, "Unknown cursor");
    const { lists, gaps } = await collect({ run: this.#deps.run, links: this.#links }, context, method, client);
    this.#gaps.tellAll(context, gaps);
    const keeps = context.prepared.filtersLists ? keepsFor(this.#deps, context)() : () => true;
    const { items, dropped } = mergeLists(method, lists, keeps);
    this.#gaps.tellDropped(context, dropped);
    const shown = gaps.filter(({ reason }) => reason !== "denied");
    const missing = shown.map(({ member, reason }) => ({ member: member.prefix, reason }));
    const ttlMs = missing.length > 0 ? 0 : Math.min(...lists.map((list) => list.ttlMs ?? 0), Number.MAX_SAFE_INTEGER);
    reply.result({
      [MERGED[method].member]: items,
      ...(missing.length > 0 && { _meta: { [UNAVAILABLE_META]: missing } }),
      ...(client.isModern && { resultType: "complete", ttlMs: lists.length === 0 ? 0 : ttlMs, cacheScope: "private" }),
    });
  }

  /** A tool or a prompt. */
  #named(context: RequestContext, client: AskingClient, body: MessageJson, reply: ClientReply): Promise<void> | void {
    const params = recordOf(body["params"]);
    const calledAs = String(params["name"]);
    const found = readAdvertised(calledAs);
    const member = found && memberOf(context, found.prefix);
    if (!found || !member) return reply.error(-32602, `Unknown name: ${calledAs.slice(0, 128)}`);
    const own = { ...body, params: { ...params, name: found.name } };
    return this.#calls.make(context, client, member, own, calledAs, reply);
  }

  async #complete(context: RequestContext, client: AskingClient, body: MessageJson, reply: ClientReply): Promise<void> {
    const params = recordOf(body["params"]);
    const ref = recordOf(params["ref"]);
    const { name, uri } = ref;
    if (typeof name !== "string") return this.#owned(context, client, body, reply, uri);
    const found = readAdvertised(name);
    const member = found && memberOf(context, found.prefix);
    if (!found || !member) return reply.error(-32602, `Unknown name: ${name.slice(0, 128)}`);
    const own = { ...body, params: { ...params, ref: { ...ref, name: found.name } } };
    return this.#calls.make(context, client, member, own, name, reply);
  }

  /** Something with a URI, which is the same for all members. */
  async #owned(
    context: RequestContext,
    client: AskingClient,
    body: MessageJson,
    reply: ClientReply,
    uri: unknown = recordOf(body["params"])["uri"],
  ): Promise<void> {
    if (typeof uri !== "string") return reply.error(-32602, "The URI is missing");
    const deps = { run: this.#deps.run, links: this.#links };
    const prefix = await this.#owners.find(context, uri, (caller, method) => collect(deps, caller, method, client));
    const member = prefix === undefined ? undefined : memberOf(context, prefix);
    if (member === undefined) {
      const code = client.isModern || body["method"] === "skills/get" ? -32602 : -32002;
      return reply.error(code, body["method"] === "skills/get" ? "Skill not found" : "Resource not found", { uri });
    }
    return this.#calls.make(context, client, member, body, uri, reply);
  }

  /** A client's response to a member's question. */
  async #respond(context: RequestContext, body: MessageJson): Promise<void> {
    const asked = this.#questions.open(context, body["id"]);
    const member = asked && memberOf(context, asked.prefix);
    if (!asked || !member) return accepted(context, 404);
    const { version, session, id } = asked;
    await tellMember(this.#deps.run, context, { member, version, session }, { ...body, id: JSON.parse(id) as unknown });
    accepted(context);
  }

  async #notify(context: RequestContext, client: AskingClient, body: MessageJson): Promise<void> {
    const { method } = body;
    if (method === "notifications/cancelled") {
      this.#calls.cancel(context, recordOf(body["params"])["requestId"]);
    } else if (method === "notifications/roots/list_changed" && !client.isModern)
      await this.#tellSessions(context, body);
    accepted(context);
  }

  async #tellSessions(context: RequestContext, body: MessageJson): Promise<void> {
    const { links } = await this.#withSessions(context);
    await Promise.all(links.map((link) => tellMember(this.#deps.run, context, link, body)));
  }

  #withSessions(context: RequestContext): ReturnType<typeof openAll> {
    const { memberSessions } = context;
    const members = membersOf(context).filter(({ prefix }) => memberSessions?.has(prefix) === true);
    return openAll(this.#links, context, members, clientOf(context, {}));
  }

  async #listen(context: RequestContext): Promise<void> {
    const { memberSessions, exchange } = context;
    const { links } = memberSessions === undefined ? { links: [] } : await this.#withSessions(context);
    const isAsked = exchange.method === "GET" && exchange.header("accept")?.includes("text/event-stream") === true;
    // Clients expect this of servers without such a stream (MCP 2025-11-25, Listening for Messages).
    if (!isAsked || links.length === 0)
      return answerWire(context, { status: 405, headers: ["allow", "POST, DELETE"], body: "" });
    mergeStreams({ run: this.#deps.run, questions: this.#questions }, context, links);
  }

  async #endSessions(context: RequestContext): Promise<void> {
    if (context.memberSessions === undefined) return accepted(context, 400);
    const { links } = await this.#withSessions(context);
    const outgoing = ({ version, session }: Link) => ({ method: "DELETE", version, session }) as const;
    await Promise.all(links.map((link) => askMember(this.#deps.run, context, link.member, outgoing(link), TELL_MS)));
    accepted(context, 200);
  }
}

/** `_meta` of a list without the items of some members. */
const UNAVAILABLE_META = "gateform/unavailable";

function accepted(context: RequestContext, status = 202): void {
  answerWire(context, { status, headers: [], body: "" });
}
