/** Facts about members for one caller, for a limited time. A changed route of the member begins without them. */
import type { CompiledRoute } from "../../../config/compiled.ts";
import { bindingText } from "../../../mcp/mcp-sessions.ts";
import { BoundedCache, type Visited } from "../../../shared/cache.ts";
import type { Clock } from "../../../shared/clock.ts";
import { bindingOf } from "../../announced-address.ts";
import type { RequestContext } from "../../request-context.ts";
import type { RouteMember } from "../ask-member.ts";

interface Entry<V> extends Visited {
  readonly route: CompiledRoute;
  readonly value: V;
  readonly untilMs: number;
}

const MAX_ENTRIES = 10_000;

export class CallerMemory<V> {
  readonly #clock: Clock;
  readonly #entries = new BoundedCache<Entry<V>>(MAX_ENTRIES);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(caller: RequestContext, member: RouteMember): V | undefined {
    const entry = this.#entries.get(callerKey(caller, member));
    const isFresh = entry !== undefined && entry.route === member.prepared.route && entry.untilMs > this.#clock.now();
    return isFresh ? entry.value : undefined;
  }

  set(caller: RequestContext, member: RouteMember, value: V, forMs: number): void {
    const { route } = member.prepared;
    const untilMs = this.#clock.now() + forMs;
    this.#entries.set(callerKey(caller, member), { visited: false, route, value, untilMs });
  }
}

/** Text of a caller and a member. */
export function callerKey(caller: RequestContext, { prepared }: RouteMember): string {
  return bindingText({ ...bindingOf(caller), route: prepared.route.key });
}
