/** Members without a part in a response: told in the log and counted, bounded. */
import type { Clock } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { ProxyMetrics } from "../metrics.ts";
import type { RequestContext } from "../request-context.ts";
import type { RouteMember } from "./ask-member.ts";
import type { LinkFailure } from "./links.ts";

export type GapReason = LinkFailure | "too-long";

export interface Gap {
  readonly member: RouteMember;
  readonly reason: GapReason;
}

export interface GapDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics?: ProxyMetrics;
}

/** One line for a member and reason in this time. */
const QUIET_MS = 60_000;
const MAX_TOLD = 1_000;
const MAX_NAME = 256;
/** Lines about names in one list. */
const MAX_NAMES = 10;

export class Gaps {
  readonly #deps: GapDeps;
  readonly #told = new Map<string, number>();

  constructor(deps: GapDeps) {
    this.#deps = deps;
  }

  tellAll(context: RequestContext, gaps: readonly Gap[]): void {
    for (const gap of gaps) this.tell(context, gap);
  }

  /** A missing connection or a denial is not a failure of the member. */
  tell({ exchange, prepared }: RequestContext, { member, reason }: Gap): void {
    if (reason === "denied" || reason === "not-connected") return;
    const { log, clock, metrics } = this.#deps;
    const { route } = member.prepared;
    metrics?.memberFailed(route, reason);
    this.#once(`${prepared.route.key} ${member.prefix} ${reason}`, clock.now(), () =>
      log.warn(
        { request: exchange.id, route: prepared.route.key, member: route.key, reason },
        "member of federated route has no part in response",
      ),
    );
  }

  /** The member reports changes of resources that are not its own. */
  tellForeign({ exchange, prepared }: RequestContext, { prefix, prepared: { route } }: RouteMember): void {
    const { log, clock, metrics } = this.#deps;
    metrics?.memberFailed(route, "foreign");
    this.#once(`${prepared.route.key} ${prefix} foreign`, clock.now(), () =>
      log.warn(
        { request: exchange.id, route: prepared.route.key, member: route.key },
        "notification about resource of another member dropped",
      ),
    );
  }

  /** @param dropped names with the member's prefix that would be too long */
  tellDropped({ exchange, prepared }: RequestContext, dropped: readonly string[]): void {
    const { log, clock } = this.#deps;
    for (const [index, long] of dropped.slice(0, MAX_NAMES).entries()) {
      const name = long.slice(0, MAX_NAME);
      // Not by name: a member can have others in each list.
      this.#once(`${prepared.route.key} name ${index}`, clock.now(), () =>
        log.warn(
          { request: exchange.id, route: prepared.route.key, name },
          "name too long for federated route, not listed",
        ),
      );
    }
  }

  #once(key: string, nowMs: number, tell: () => void): void {
    if (nowMs < (this.#told.get(key) ?? 0) + QUIET_MS) return;
    if (this.#told.size >= MAX_TOLD) this.#told.clear();
    this.#told.set(key, nowMs);
    tell();
  }
}
