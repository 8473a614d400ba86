/** Members that did not respond to a caller in time. Lists of that caller omit them for a while, instead of waiting each time. */
import { bindingText } from "../../../mcp/mcp-sessions.ts";
import { BoundedCache, type Visited } from "../../../shared/cache.ts";
import type { Clock } from "../../../shared/clock.ts";
import { bindingOf } from "../../announced-address.ts";
import type { RequestContext } from "../../request-context.ts";
import type { RouteMember } from "../ask-member.ts";

interface Slow extends Visited {
  /** A changed route is asked again. */
  readonly prepared: RouteMember["prepared"];
  readonly untilMs: number;
}

const OMITTED_MS = 15_000;
/** A shorter wait for a failure delays no list noticeably. */
const LATE_MS = 1_500;
const MAX_SLOW = 10_000;

export class SlowMembers {
  readonly #clock: Clock;
  readonly #slow = new BoundedCache<Slow>(MAX_SLOW);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(caller: RequestContext, member: RouteMember): boolean {
    const found = this.#slow.get(keyOf(caller, member));
    return found !== undefined && found.prepared === member.prepared && found.untilMs > this.#clock.now();
  }

  /** The member has failed. @param beganMs by `performance.now()` */
  failed(caller: RequestContext, member: RouteMember, beganMs: number): void {
    if (performance.now() - beganMs < LATE_MS) return;
    const untilMs = this.#clock.now() + OMITTED_MS;
    this.#slow.set(keyOf(caller, member), { visited: false, prepared: member.prepared, untilMs });
  }
}

function keyOf(caller: RequestContext, { prepared }: RouteMember): string {
  return bindingText({ ...bindingOf(caller), route: prepared.route.key });
}
