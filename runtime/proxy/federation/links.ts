/**
 * The way to each member for one federated request: the revision it speaks, and a session where it needs one.
 *
 * A member is modern only if it lists the revision in `server/discover`. Statuses that say nothing about revisions (denied, busy,
 * unavailable) are not cached.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import { CLIENT_INFO, LEGACY, MODERN } from "../../mcp/federation/eras.ts";
import { recordOf, type MessageJson } from "../../mcp/federation/json.ts";
import type { MemberSessions } from "../../mcp/federation/sessions.ts";
import { CLIENT_CAPABILITIES, META_CLIENT, PROTOCOL_VERSION } from "../../mcp/members.ts";
import type { Clock } from "../../shared/clock.ts";
import type { RequestContext } from "../request-context.ts";
import { answerTo, askMember, type RouteMember, type MemberAnswer, type RunMember } from "./ask-member.ts";
import { CallerMemory } from "./lists/caller-memory.ts";

export interface Link {
  readonly member: RouteMember;
  readonly isModern: boolean;
  readonly version: string;
  readonly session: string | undefined;
  /** Result of `initialize` or `server/discover`, if this link asked for it. */
  readonly greeting: MessageJson | undefined;
  /** Ends a session that was opened for this request only. */
  readonly close: () => void;
}

/** Why a member has no part in a response, for log and client. */
export type LinkFailure = "unavailable" | "denied" | "not-connected" | "invalid";

interface KnownEra {
  readonly isModern: boolean;
  /** Revision of a member with the earlier revisions that keeps no sessions: it needs no `initialize`. */
  statelessVersion: string | undefined;
  /** A member of the later revision that has no sessions as well. */
  isModernOnly?: boolean;
  readonly untilMs: number;
}

const ERA_MS = 300_000;
/** A member whose revision is unknown is taken for one with sessions for a short time. */
const GUESS_MS = 30_000;
const ASK_MS = 10_000;
/** Longer ones are asked for each time. */
const MAX_GREETING_BYTES = 16_384;
const NONE = (): void => {};

export interface LinksDeps {
  readonly run: RunMember;
  readonly clock: Clock;
}

export class Links {
  readonly #deps: LinksDeps;
  /** By compiled route: a changed route is asked again. */
  readonly #eras = new WeakMap<CompiledRoute, KnownEra>();
  readonly #greetings: CallerMemory<MessageJson>;
  /** By caller, if the member's policy denies the question: other callers may get an answer. */
  readonly #guesses: CallerMemory<KnownEra>;

  constructor(deps: LinksDeps) {
    this.#deps = deps;
    this.#greetings = new CallerMemory(deps.clock);
    this.#guesses = new CallerMemory(deps.clock);
  }

  /**
   * Without a promise if the member need not be asked.
   *
   * @param sessions of the client, from its session ID
   * @param capabilities that the client declared, for members with sessions
   * @param wantsSession servers of both revisions do more for the revision of the client: sessions for a client with one
   */
  open(
    caller: RequestContext,
    member: RouteMember,
    sessions: MemberSessions | undefined,
    capabilities: MessageJson,
    timeoutMs = ASK_MS,
    wantsSession = false,
  ): Link | Promise<Link | LinkFailure> {
    const kept = sessions?.get(member.prefix);
    if (kept !== undefined) {
      const [version = LEGACY, session] = kept.split(" ");
      return legacyLink(member, version, session || undefined);
    }
    const era = this.#eraFor(caller, member);
    if (era?.isModern === true && !wantsSession) return modernLink(member, undefined);
    if (era?.statelessVersion !== undefined) return legacyLink(member, era.statelessVersion, undefined);
    return this.#ask(caller, member, era, capabilities, timeoutMs, wantsSession);
  }

  async #ask(
    caller: RequestContext,
    member: RouteMember,
    era: KnownEra | undefined,
    capabilities: MessageJson,
    timeoutMs: number,
    wantsSession: boolean,
  ): Promise<Link | LinkFailure> {
    const endMs = performance.now() + timeoutMs;
    if (era === undefined) {
      const discovered = await this.#discover(caller, member, timeoutMs);
      if (typeof discovered !== "string" && !wantsSession) return modernLink(member, discovered);
      if (discovered === "unavailable" || discovered === "not-connected") return discovered;
    }
    if (this.isModern(member)) return this.#openEither(caller, member, capabilities, endMs);
    return this.#initialize(caller, member, capabilities, Math.max(1, endMs - performance.now()));
  }

  /** A session of a member of the later revision that has sessions as well. */
  async #openEither(
    caller: RequestContext,
    member: RouteMember,
    capabilities: MessageJson,
    endMs: number,
  ): Promise<Link | LinkFailure> {
    const era = this.#eraOf(member);
    if (era?.isModernOnly === true) return modernLink(member, undefined);
    const link = await this.#initialize(caller, member, capabilities, Math.max(1, endMs - performance.now()));
    if (typeof link !== "string" && link.session !== undefined) return link;
    if (era && (typeof link !== "string" || link === "invalid")) era.isModernOnly = true;
    return modernLink(member, undefined);
  }

  /** Greeting of the member, without opening a session; undefined: unknown. */
  async greet(
    caller: RequestContext,
    member: RouteMember,
    timeoutMs: number,
  ): Promise<MessageJson | undefined | LinkFailure> {
    const known = this.#greetings.get(caller, member);
    if (known !== undefined) return known;
    if (this.#eraFor(caller, member)?.isModern === false) return undefined;
    const result = await this.#discover(caller, member, timeoutMs);
    return result === "invalid" ? undefined : result;
  }

  /** False also if its revision is not known yet. */
  isModern(member: RouteMember): boolean {
    return this.#eraOf(member)?.isModern === true;
  }

  /** Its revision proved wrong: it is asked again. */
  forget({ prepared }: RouteMember): void {
    this.#eras.delete(prepared.route);
  }

  #eraOf({ prepared }: RouteMember): KnownEra | undefined {
    const era = this.#eras.get(prepared.route);
    return era !== undefined && era.untilMs > this.#deps.clock.now() ? era : undefined;
  }

  #eraFor(caller: RequestContext, member: RouteMember): KnownEra | undefined {
    return this.#eraOf(member) ?? this.#guesses.get(caller, member);
  }

  /** @returns the result of a modern member, "invalid" for another one */
  async #discover(caller: RequestContext, member: RouteMember, timeoutMs: number): Promise<MessageJson | LinkFailure> {
    const meta = {
      [PROTOCOL_VERSION]: MODERN,
      [META_CLIENT]: CLIENT_INFO,
      [CLIENT_CAPABILITIES]: {},
    };
    const message = { jsonrpc: "2.0", id: PROBE_ID, method: "server/discover", params: { _meta: meta } };
    const outgoing = { method: "POST", message, version: MODERN } as const;
    const answer = await askMember(this.#deps.run, caller, member, outgoing, timeoutMs);
    if (typeof answer === "string") return "unavailable";
    const result = recordOf(answerTo(answer, PROBE_ID)?.["result"]);
    const versions = result["supportedVersions"];
    const isModern = Array.isArray(versions) && versions.includes(MODERN);
    const failure = failureOf(answer);
    const forMs = failure === "denied" ? GUESS_MS : ERA_MS;
    const era = { isModern, statelessVersion: undefined, untilMs: this.#deps.clock.now() + forMs };
    const { route } = member.prepared;
    // A failure of one caller's question does not disprove the answer that another one got.
    const isProof = isModern || (failure === "invalid" && !this.isModern(member));
    // Unavailable or not connected: it is asked again at once.
    if (isProof) this.#eras.set(route, era);
    else if (failure === "denied") this.#guesses.set(caller, member, era, forMs);
    // Servers that know the method not may fail so; others' failures are those of the gateway.
    if (!isModern) return answer.status === 500 || answer.status === 501 ? "invalid" : failure;
    this.#keep(caller, member, result, answer.size);
    return result;
  }

  async #initialize(
    caller: RequestContext,
    member: RouteMember,
    capabilities: MessageJson,
    timeoutMs: number,
  ): Promise<Link | LinkFailure> {
    const { run } = this.#deps;
    const params = { protocolVersion: LEGACY, capabilities, clientInfo: CLIENT_INFO };
    const message = { jsonrpc: "2.0", id: PROBE_ID, method: "initialize", params };
    const answer = await askMember(run, caller, member, { method: "POST", message, version: LEGACY }, timeoutMs);
    if (typeof answer === "string") return "unavailable";
    const reply = answerTo(answer, PROBE_ID);
    if (reply?.["result"] === undefined) {
      const failure = failureOf(answer);
      // The member's policy decides about the request itself; a server without sessions needs no more.
      return failure === "denied" ? legacyLink(member, LEGACY, undefined) : failure;
    }
    const greeting = recordOf(reply["result"]);
    const version = greeting["protocolVersion"];
    if (typeof version !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(version)) return "invalid";
    this.#keep(caller, member, greeting, answer.size);
    const { session } = answer;
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
    await askMember(run, caller, member, { method: "POST", message: initialized, version, session }, timeoutMs);
    const era = this.#eraFor(caller, member);
    if (session === undefined && era?.isModern === false) era.statelessVersion = version;
    const close = (): void => {
      if (session !== undefined) void askMember(run, caller, member, { method: "DELETE", version, session }, ASK_MS);
    };
    return { ...legacyLink(member, version, session), greeting, close };
  }

  #keep(caller: RequestContext, member: RouteMember, result: MessageJson, bytes: number): void {
    if (bytes > MAX_GREETING_BYTES) return;
    this.#greetings.set(caller, member, result, ERA_MS);
  }
}

const PROBE_ID = "gateform";

function modernLink(member: RouteMember, greeting: MessageJson | undefined): Link {
  return { member, isModern: true, version: MODERN, session: undefined, greeting, close: NONE };
}

export function legacyLink(member: RouteMember, version: string, session: string | undefined): Link {
  return { member, isModern: false, version, session, greeting: undefined, close: NONE };
}

export function failureOf({ status }: MemberAnswer): LinkFailure {
  if (status === 401) return "not-connected";
  if (status === 403 || status === 450) return "denied";
  return status >= 500 || UNAVAILABLE.has(status) ? "unavailable" : "invalid";
}

const UNAVAILABLE: ReadonlySet<number> = new Set([407, 408, 429]);
