/**
 * Members' lists, kept for the caller as long as the member's own hint (`ttlMs`) allows, as its client would keep them.
 *
 * Promise: a list is used for the same user, client, member and credential of the user at the member. What the policy lets the
 * caller see is decided at each use.
 */
import type { CompiledRoute } from "../../../config/compiled.ts";
import { bindingText } from "../../../mcp/mcp-sessions.ts";
import { mayReachSomething } from "../../../policy/reach.ts";
import { BoundedCache, type Visited } from "../../../shared/cache.ts";
import type { Clock } from "../../../shared/clock.ts";
import { bindingOf } from "../../announced-address.ts";
import { keepsFor, type ListDeps } from "../../lists/list-rules.ts";
import type { RequestContext } from "../../request-context.ts";
import type { UpstreamTokens } from "../../upstream-tokens.ts";
import type { RouteMember } from "../ask-member.ts";
import { SlowMembers } from "./slow-members.ts";
import { listedOf, type MemberList, type MergedMethod } from "./lists.ts";

interface Kept extends Visited {
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
const MAX_LISTS = 5_000;
/** Larger lists are asked for each time. */
const MAX_ITEMS = 500;
const MAX_BYTES = 65_536;

export class ListCache {
  readonly slow: SlowMembers;
  readonly #deps: ListCacheDeps;
  readonly #kept = new BoundedCache<Kept>(MAX_LISTS);

  constructor(deps: ListCacheDeps) {
    this.#deps = deps;
    this.slow = new SlowMembers(deps.clock);
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
    const { mcp, policy } = member.prepared.route;
    if (!mayReachSomething(policy, caller.principal?.user)) return undefined;
    const isFiltered = mcp?.kind === "server" && mcp.filtersLists;
    if (!isFiltered && this.#deps.blocks?.hasTools(member.prepared.route.key) !== true) return list;
    const keeps = keepsFor(this.#deps, { ...caller, prepared: member.prepared })();
    const items = list.items.filter((item) => {
      const listed = listedOf(method, item);
      return listed !== undefined && keeps(listed);
    });
    return { ...list, items };
  }

  /** @param credential of the time before the list was asked for */
  keep(caller: RequestContext, member: RouteMember, method: MergedMethod, credential: string, list: MemberList): void {
    const { ttlMs = 0, failure, items, bytes } = list;
    if (ttlMs <= 0 || failure !== undefined || items.length > MAX_ITEMS || bytes > MAX_BYTES) return;
    const untilMs = this.#deps.clock.now() + Math.min(ttlMs, MAX_MS);
    const { route } = member.prepared;
    this.#kept.set(keyOf(caller, member, method), { visited: false, route, credential, list, untilMs });
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

function keyOf(caller: RequestContext, { prepared }: RouteMember, method: MergedMethod): string {
  // Groups and claims of a user change with the version.
  const { user } = caller.principal ?? {};
  return `${method} ${user?.version} ${bindingText({ ...bindingOf(caller), route: prepared.route.key })}`;
}
