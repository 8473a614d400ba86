/**
 * Members' lists, kept for the caller as long as the member's own hint (`ttlMs`) allows, as its client would keep them.
 *
 * Promise: a list is used for the same user, client, member and credential of the user at the member. What the policy lets the
 * caller see is decided at each use.
 */
import type { CompiledRoute } from "../../../config/compiled.ts";
import { mayReachSomething } from "../../../policy/reach.ts";
import { memoryLimit } from "../../../http/admission/memory.ts";
import type { Clock } from "../../../shared/clock.ts";
import { FairCache } from "../../lists/fair-cache.ts";
import { keepsFor, type ListDeps, mayHide } from "../../lists/list-rules.ts";
import type { RequestContext } from "../../request-context.ts";
import type { UpstreamTokens } from "../../upstream-tokens.ts";
import type { RouteMember } from "../ask-member.ts";
import { callerKey } from "./caller-memory.ts";
import { SlowMembers } from "./slow-members.ts";
import { listedOf, type MemberList, type MergedMethod } from "./lists.ts";

interface Kept {
  readonly route: CompiledRoute;
  /** See `credentialOf`. */
  readonly credential: string;
  readonly list: MemberList;
  readonly untilMs: number;
}

export interface ListCacheDeps extends ListDeps {
  readonly clock: Clock;
  readonly upstream?: UpstreamTokens | undefined;
}

const MAX_MS = 300_000;
/** Memory of all kept lists, and that of one user or member. */
const MAX_BYTES = 128 * 1024 * 1024;
const PART_OF_MEMORY = 16;
const PART_OF_PARTY = 4;

export class ListCache {
  readonly slow: SlowMembers;
  readonly #deps: ListCacheDeps;
  readonly #kept: FairCache<Kept>;

  constructor(deps: ListCacheDeps) {
    this.#deps = deps;
    this.slow = new SlowMembers(deps.clock);
    const bytes = Math.min(MAX_BYTES, memoryLimit() / PART_OF_MEMORY);
    this.#kept = new FairCache(bytes, bytes / PART_OF_PARTY);
  }

  /** Estimated memory of all kept lists. */
  get bytes(): number {
    return this.#kept.bytes;
  }

  async get(caller: RequestContext, member: RouteMember, method: MergedMethod): Promise<MemberList | undefined> {
    const key = keyOf(caller, member, method);
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    const leftMs = kept.untilMs - this.#deps.clock.now();
    const isSame =
      kept.route === member.prepared.route && kept.credential === (await this.credentialOf(caller, member));
    if (leftMs <= 0 || !isSame) {
      this.#kept.delete(key);
      return undefined;
    }
    // Another federated route can have another prefix for the member.
    const list = { ...kept.list, prefix: member.prefix, ttlMs: leftMs };
    if (!mayReachSomething(member.prepared.route.policy, caller.principal?.user)) return undefined;
    if (!mayHide(this.#deps, member.prepared)) return list;
    const keeps = keepsFor(this.#deps, { ...caller, prepared: member.prepared })();
    const items = list.items.filter((item) => {
      const listed = listedOf(method, item);
      return listed !== undefined && keeps(listed);
    });
    return { ...list, items };
  }

  /** @param credential of the time before the list was asked for */
  keep(caller: RequestContext, member: RouteMember, method: MergedMethod, credential: string, list: MemberList): void {
    const { ttlMs = 0, failure } = list;
    if (ttlMs <= 0 || failure !== undefined) return;
    const untilMs = this.#deps.clock.now() + Math.min(ttlMs, MAX_MS);
    const { route } = member.prepared;
    const parties = [`user ${caller.principal?.user.id}`, `member ${route.key}`];
    this.#kept.set(keyOf(caller, member, method), { route, credential, list, untilMs }, memoryOf(list), parties);
  }

  /** The member says that it has changed. */
  forget(caller: RequestContext, member: RouteMember, methods: readonly MergedMethod[]): void {
    for (const method of methods) this.#kept.delete(keyOf(caller, member, method));
  }

  /** Tells two connected accounts of one user apart. A refreshed token counts as another one, which costs one list. */
  async credentialOf({ principal }: RequestContext, { prepared }: RouteMember): Promise<string> {
    if (!this.#deps.upstream || !principal || !prepared.sends.authorization) return "";
    const attachment = await this.#deps.upstream.tokens.attach(principal.user.id, prepared.route);
    return attachment.kind === "token" ? attachment.authorization : attachment.kind;
  }
}

/** The text of the items for clients, of two bytes for each character. */
const WRITTEN = 2;
/** Estimated memory of a value without its text. */
const VALUE_BYTES = 40;
/** Estimated memory of a tool's words (`mcp/federation/search-tools.ts`) and of its form for clients (lists.ts). */
const ITEM_BYTES = 1_536;

/** Estimated, above the measured memory of lists of many small values. */
function memoryOf({ items, bytes }: MemberList): number {
  let values = 0;
  const rest: unknown[] = [...items];
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    values += 1;
    if (typeof value !== "object" || value === null) continue;
    for (const each of Object.values(value))
      if (typeof each === "object" && each !== null) rest.push(each);
      else values += 1;
  }
  return bytes * (1 + WRITTEN) + values * VALUE_BYTES + items.length * ITEM_BYTES;
}

function keyOf(caller: RequestContext, member: RouteMember, method: MergedMethod): string {
  // Groups and claims of a user change with the version.
  return `${method} ${caller.principal?.user.version} ${callerKey(caller, member)}`;
}
