/** Stored facts about upstreams that require tokens. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../../store/store.ts";
import { CHALLENGED_SECONDS, NEED_SECONDS, needKey, upstreamRouteTag, type NeedRecord } from "./connection-records.ts";
import { forgetNeed } from "./learned-needs.ts";
import type { UpstreamTarget } from "./target.ts";

export interface KnownNeedDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

export class KnownNeeds {
  readonly #deps: KnownNeedDeps;
  /**
   * Routes whose need is known only from a challenge, which a response without a token contradicts. In memory, so that
   * no such response needs the store.
   */
  readonly isDoubtful = new WeakSet<CompiledRoute>();

  constructor(deps: KnownNeedDeps) {
    this.#deps = deps;
  }

  async find(target: UpstreamTarget): Promise<NeedRecord | undefined> {
    const known = (await this.#deps.store.get<NeedRecord>(needKey(target)))?.value;
    if (known?.needed === true && known.proof === undefined) return undefined;
    if (known?.proof === "challenge") this.isDoubtful.add(target.route);
    return known;
  }

  async keep(target: UpstreamTarget, facts: Omit<NeedRecord, "schema" | "routeKey">): Promise<void> {
    const now = epochSeconds(this.#deps.clock);
    const record: NeedRecord = { schema: 1, routeKey: target.route.key, learnedAt: now, ...facts };
    const seconds = facts.proof === "challenge" ? CHALLENGED_SECONDS : NEED_SECONDS;
    await this.#deps.store.put(needKey(target), record, {
      expiresAt: now + seconds,
      tags: [upstreamRouteTag(target.route.key)],
    });
    if (facts.proof === "challenge") this.isDoubtful.add(target.route);
  }

  /** A failed write is harmless: the next request finds out again. */
  tryKeep(target: UpstreamTarget, writing: Promise<unknown>): Promise<unknown> {
    return writing.catch((error: unknown) =>
      this.#deps.log.warn(
        { route: target.route.key, reason: errorText(error) },
        "cannot store upstream authorization requirements",
      ),
    );
  }

  /** A response without a token contradicts a mere challenge. Deletes the need and the users' connect requests. */
  async forgetDoubtful(target: UpstreamTarget): Promise<void> {
    this.isDoubtful.delete(target.route);
    // Another process may have found a proof since.
    if ((await this.find(target))?.proof !== "challenge") return;
    await forgetNeed(this.#deps.store, target.route.key);
    this.isDoubtful.delete(target.route);
  }
}
