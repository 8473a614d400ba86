/** Asks all members of a route at the same time, each for itself: none waits for, or fails with, another. */
import type { ClientSide } from "../../../mcp/federation/eras.ts";
import type { MessageJson } from "../../../mcp/federation/json.ts";
import type { MemberSessions } from "../../../mcp/federation/sessions.ts";
import type { Party } from "../../../http/admission/parties.ts";
import type { RequestContext } from "../../request-context.ts";
import type { RouteMember, RunMember } from "../ask-member.ts";
import type { Gap } from "../gaps.ts";
import type { Link, LinkFailure, Links } from "../links.ts";
import type { ListCache } from "./list-cache.ts";
import { listOf, type Hold, type MemberList, type MergedMethod } from "./lists.ts";
import { membersOf } from "../members.ts";

/** Facts about the client of one request. */
export interface AskingClient {
  readonly isModern: boolean;
  /** Sent to members of the later revision. */
  readonly side: ClientSide;
  /** Declared to members with sessions. */
  readonly legacyCapabilities: MessageJson;
  /** Undefined: the client has no session. */
  readonly sessions: MemberSessions | undefined;
}

export interface AskedMembers<T> {
  readonly answers: readonly { readonly member: RouteMember; readonly answer: T }[];
  readonly gaps: readonly Gap[];
}

/** @param ask a text is the reason why the member has no part */
export async function askAll<T extends object | undefined>(
  members: readonly RouteMember[],
  ask: (member: RouteMember) => Promise<T | LinkFailure>,
): Promise<AskedMembers<T>> {
  const all = await Promise.all(members.map(async (member) => ({ member, answer: await ask(member) })));
  return {
    answers: all.flatMap(({ member, answer }) => (typeof answer === "string" ? [] : [{ member, answer }])),
    gaps: all.flatMap(({ member, answer }) => (typeof answer === "string" ? [{ member, reason: answer }] : [])),
  };
}

export interface OpenedLinks {
  readonly links: readonly Link[];
  readonly gaps: readonly Gap[];
}

export async function openAll(
  links: Links,
  caller: RequestContext,
  members: readonly RouteMember[],
  { sessions, legacyCapabilities }: AskingClient,
  timeoutMs?: number,
  wantsSession = false,
): Promise<OpenedLinks> {
  const { answers, gaps } = await askAll(members, async (member) =>
    links.open(caller, member, sessions, legacyCapabilities, timeoutMs, wantsSession),
  );
  return { links: answers.map(({ answer }) => answer), gaps };
}

export interface Collected {
  /** In order of the prefixes. */
  readonly lists: readonly MemberList[];
  readonly gaps: readonly Gap[];
}

/** Lists and streams never wait for a member longer. */
export const OPEN_MS = 2_000;

export interface CollectDeps {
  readonly run: RunMember;
  readonly links: Links;
  readonly cache: ListCache;
}

/** Parsed values take several times the memory of their text. */
const PARSED = 4;

/** Memory of the lists of some members while others have not responded. */
class HeldLists {
  readonly #party: Party | undefined;
  #bytes = 0;

  constructor(party: Party | undefined) {
    this.#party = party;
  }

  readonly hold: Hold = (text) => {
    const bytes = text * PARSED;
    if (this.#party?.take(bytes) === false) return false;
    this.#bytes += bytes;
    return true;
  };

  giveBack(): void {
    this.#party?.give(this.#bytes);
    this.#bytes = 0;
  }
}

export async function collect(
  deps: CollectDeps,
  caller: RequestContext,
  method: MergedMethod,
  client: AskingClient,
): Promise<Collected> {
  const { slow } = deps.cache;
  const held = new HeldLists(caller.exchange.party);
  let isGone = false;
  caller.exchange.onClose(() => (isGone = true));
  const { answers, gaps } = await askAll(membersOf(caller), async (member) => {
    const kept = await deps.cache.get(caller, member, method);
    if (kept !== undefined) return kept;
    if (slow.has(caller, member)) return "unavailable";
    const beganMs = performance.now();
    const credential = await deps.cache.credentialOf(caller, member);
    const list = await listFrom(deps, caller, member, method, client, held.hold);
    const failure = typeof list === "string" ? list : list.failure;
    // The client's own end aborts its requests.
    if (failure === "unavailable" && !isGone) slow.failed(caller, member, beganMs);
    if (typeof list === "string") return list;
    deps.cache.keep(caller, member, method, credential, list);
    return list;
  });
  held.giveBack();
  const partial = answers.flatMap(({ member, answer: { failure: reason } }) =>
    reason === undefined ? [] : [{ member, reason }],
  );
  return { lists: answers.map(({ answer }) => answer), gaps: [...gaps, ...partial].toSorted(byPrefix) };
}

async function listFrom(
  { run, links }: CollectDeps,
  caller: RequestContext,
  member: RouteMember,
  method: MergedMethod,
  { sessions, legacyCapabilities, side }: AskingClient,
  hold: Hold,
): Promise<MemberList | LinkFailure> {
  // The second time in a session of its own: the member has lost that of the client.
  for (const known of sessions?.has(member.prefix) === true ? [sessions, undefined] : [sessions]) {
    const link = await links.open(caller, member, known, legacyCapabilities, OPEN_MS);
    if (typeof link === "string") return link;
    const list = await listOf(run, caller, link, method, side, hold);
    link.close();
    if (list !== "gone") return list;
  }
  return "invalid";
}

function byPrefix({ member: one }: Gap, { member: other }: Gap): number {
  return one.prefix < other.prefix ? -1 : 1;
}
