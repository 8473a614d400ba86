/** Members that did not respond to a caller in time. Lists of that caller omit them for a while, instead of waiting each time. */
import type { Clock } from "../../../shared/clock.ts";
import type { RequestContext } from "../../request-context.ts";
import type { RouteMember } from "../ask-member.ts";
import { CallerMemory } from "./caller-memory.ts";

const OMITTED_MS = 15_000;
/** A shorter wait for a failure delays no list noticeably. */
const LATE_MS = 1_500;

export class SlowMembers {
  readonly #slow: CallerMemory<true>;

  constructor(clock: Clock) {
    this.#slow = new CallerMemory(clock);
  }

  has(caller: RequestContext, member: RouteMember): boolean {
    return this.#slow.get(caller, member) === true;
  }

  /** The member has failed. @param beganMs by `performance.now()` */
  failed(caller: RequestContext, member: RouteMember, beganMs: number): void {
    if (performance.now() - beganMs >= LATE_MS) this.#slow.set(caller, member, true, OMITTED_MS);
  }
}
