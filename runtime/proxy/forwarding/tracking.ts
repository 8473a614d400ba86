/** One sending to one upstream, as the route's balancer hears of it (balance.ts, `Tracker`). */
import type { Upstream } from "../../features/connection/compiled.ts";
import type { Log } from "../../shared/log.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Tracker } from "../../features/balancing/apply-balance.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { RequestContext } from "../request-context.ts";

export class Tracking {
  readonly #deps: { readonly log: Log; readonly clock: Clock };
  readonly #route: string;
  readonly #tracker: Tracker;
  readonly #upstream: Upstream;
  #ended = false;

  constructor(
    deps: { readonly log: Log; readonly clock: Clock },
    { prepared }: RequestContext,
    tracker: Tracker,
    upstream: Upstream,
  ) {
    this.#deps = deps;
    this.#route = prepared.route.key;
    this.#tracker = tracker;
    this.#upstream = upstream;
    tracker.begun(upstream);
  }

  answered(status: number): void {
    this.#tell(this.#tracker.answered(this.#upstream, status, this.#deps.clock.now()));
  }

  failed(failure: UpstreamFailure): void {
    this.#tell(this.#tracker.failed(this.#upstream, failure, this.#deps.clock.now()));
  }

  /** May be called twice. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#tracker.ended(this.#upstream);
  }

  #tell(isLeftOut: boolean): void {
    if (!isLeftOut) return;
    this.#deps.log.warn({ route: this.#route, upstream: this.#upstream.origin }, "upstream is left out for a while");
  }
}
