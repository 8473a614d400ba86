/**
 * The controller: translates cluster objects to a gateway's slices, and writes status and events back.
 *
 * Promises: nothing is published before everything was read once; only the leader publishes and writes; a problem that a
 * gateway reports removes only the Ingress or route that caused it; an unreachable cluster or gateway changes nothing in
 * the active configuration.
 */
import { setTimeout as delay } from "node:timers/promises";

import { errorText, GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Closable, Clock } from "../../shared/clock.ts";
import { sealSecret } from "../../terraform/resource/seal.ts";
import { type Backoff, createBackoff } from "../../shared/backoff.ts";
import { type ClusterView, type ClusterViewOptions, createClusterView } from "./cluster-view.ts";
import { type KubeClient, missingRight } from "./kube-client.ts";
import { type SliceProblem, wholeNamespaces } from "../translate/assign.ts";
import { messageWithPath } from "../../settings/problem.ts";
import type { LoadBalancerAddress } from "../translate/objects.ts";
import type { DraftProblem } from "../translate/ingress-problem.ts";
import { type SlicePublisher, sliceTexts } from "./publisher.ts";
import { renderSlices } from "../render.ts";
import { createSeals, type Seals } from "./seals.ts";
import { DEFAULT_OWNER, ownerOf } from "../translate/slices.ts";
import { addressesOfService } from "./status.ts";
import { createReport } from "./report.ts";
import { translate, type TranslateOptions, type Translation } from "../translate/translate.ts";

export interface ControllerOptions {
  readonly client: KubeClient;
  readonly publisher: SlicePublisher;
  readonly translate: Omit<TranslateOptions, "addresses" | "seal" | "refused" | "pairs" | "nowMs">;
  /** Key for sealing secrets; read from the publisher when absent. */
  readonly sealKey?: string | undefined;
  readonly view?: Pick<
    ClusterViewOptions,
    "namespaces" | "addressService" | "reflector" | "patienceMs" | "discoveryMs"
  >;
  /**
   * Addresses for the status of served Ingresses and of Gateways, unless `view.addressService` provides them. Undefined:
   * Ingresses get no status.
   */
  readonly addresses?: readonly LoadBalancerAddress[] | undefined;
  readonly isLeader: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Changes come in bursts: quiet time to wait for, and the longest wait. */
  readonly quietMs?: number;
  readonly mostMs?: number;
  /** Interval for republishing everything without a change. */
  readonly resyncMs?: number;
  readonly backoff?: Backoff;
  /** Called after each round. */
  readonly onRound?: (round: Round) => void;
}

export interface Round {
  readonly outcome: "waiting" | "following" | "published" | "unchanged" | "failed";
  readonly translation?: Translation;
  /** Error because of which a status was not written. */
  readonly unwritten?: unknown;
}

const QUIET_MS = 200;
const MOST_MS = 2_000;
const RESYNC_MS = 600_000;
/** Number of rejections after which a namespace with rejected Ingresses is omitted completely. */
const PATIENCE = 10;

interface Published {
  readonly text: string;
  readonly refused: ReadonlyMap<string, readonly DraftProblem[]>;
  readonly waiting: readonly SliceProblem[];
}

export class Controller implements Closable {
  readonly #options: ControllerOptions;
  readonly #backoff: Backoff;
  readonly #report: ReturnType<typeof createReport>;
  readonly #seals: Seals;
  readonly #stop = new AbortController();
  /** Result of the last complete publication, and the problems that the gateway reported. */
  #lastPublished: Published | undefined;
  /** Last valid certificates of Secrets: a Secret that becomes invalid keeps its previous one. */
  #pairs: Translation["pairs"] = new Map();
  #wokenMs: number | undefined;
  #endRest: () => void = () => {};
  readonly #view: ClusterView;
  readonly #resync: NodeJS.Timeout;
  readonly #running: Promise<void>;

  constructor(options: ControllerOptions) {
    const { client, clock, log } = options;
    const owner = options.translate.owner ?? DEFAULT_OWNER;
    this.#options = options;
    this.#backoff = options.backoff ?? createBackoff({ firstMs: 1_000, mostMs: 60_000 });
    this.#report = createReport({ client, clock, log, isStopped: () => this.#stop.signal.aborted });
    this.#seals = createSeals((key, value, { namespace }) => sealSecret(key, value, ownerOf(owner, namespace)));
    this.#view = createClusterView({ ...options.view, client, onChange: () => this.wake(), clock, log });
    this.#resync = setInterval(() => this.wake({ republish: true }), options.resyncMs ?? RESYNC_MS).unref();
    this.#running = this.#run();
  }

  /** Schedules a round soon; with `republish` also of unchanged slices. */
  wake({ republish = false }: { readonly republish?: boolean } = {}): void {
    if (republish) this.#lastPublished = undefined;
    this.#wokenMs = performance.now();
    this.#endRest();
  }

  /** Reasons why the cluster cannot be read now, without names. */
  problems(): readonly string[] {
    return this.#view.problems();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#resync);
    this.#endRest();
    await this.#running;
    await this.#view.close();
  }

  async #run(): Promise<void> {
    const { log, onRound, publisher } = this.#options;
    while (!this.#stop.signal.aborted) {
      await this.#rest();
      if (this.#stop.signal.aborted) return;
      this.#wokenMs = undefined;
      try {
        const round = await this.#reconcile();
        onRound?.(round);
        if (round.unwritten === undefined) this.#backoff.reset();
        else {
          const waitMs = Math.round(this.#backoff.next());
          log.error({ ...why(round.unwritten), waitMs }, "cannot write ingress status, retrying");
          await this.#pauseAfterFailure(waitMs);
        }
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        onRound?.({ outcome: "failed" });
        const waitMs = Math.round(this.#backoff.next());
        log.error({ ...why(error), place: publisher.place, waitMs }, "cannot publish ingresses, retrying");
        await this.#pauseAfterFailure(waitMs);
      }
    }
  }

  async #pauseAfterFailure(waitMs: number): Promise<void> {
    await this.#pause(waitMs);
    this.#wokenMs ??= performance.now();
  }

  /** Waits for a change and then for quiet, up to a limit. */
  async #rest(): Promise<void> {
    if (this.#wokenMs === undefined) await new Promise<void>((resolve) => (this.#endRest = resolve));
    const beganMs = performance.now();
    const { quietMs = QUIET_MS, mostMs = MOST_MS } = this.#options;
    for (;;) {
      const nowMs = performance.now();
      const leftMs = Math.min((this.#wokenMs ?? nowMs) + quietMs - nowMs, beganMs + mostMs - nowMs);
      if (leftMs <= 0 || this.#stop.signal.aborted) return;
      await this.#pause(leftMs);
    }
  }

  async #reconcile(): Promise<Round> {
    const objects = this.#view.objects();
    if (!objects) return { outcome: "waiting" };
    const { clock, isLeader, publisher, sealKey } = this.#options;
    const seal = this.#seals.begin(this.#view.hasSecrets() ? (sealKey ?? (await publisher.sealKey())) : undefined);
    const about = {
      ...this.#options.translate,
      addresses: this.#addresses() ?? [],
      ...(seal && { seal }),
      pairs: this.#pairs,
      nowMs: clock.now(),
    };
    const translated = (refused: ReadonlyMap<string, readonly DraftProblem[]>): Promise<Translation> =>
      translate(objects, { ...about, refused });
    const desired = await translated(new Map());
    // The first read of newly named objects schedules another round.
    const { secrets, configMaps, usesEndpoints: endpoints, needsNamespaces } = desired;
    if (this.#view.follow({ secrets, configMaps, endpoints, namespaces: needsNamespaces })) {
      return { outcome: "following", translation: desired };
    }
    this.#seals.end();
    this.#pairs = desired.pairs;
    if (!isLeader()) return { outcome: "waiting", translation: desired };
    const text = renderSlices(desired, "json");
    const isNew = this.#lastPublished?.text !== text;
    const translation = isNew
      ? await this.#publish(desired, translated)
      : this.#lastPublished && this.#lastPublished.refused.size > 0
        ? withWaiting(await translated(this.#lastPublished.refused), this.#lastPublished.waiting)
        : withWaiting(desired, this.#lastPublished?.waiting);
    const unwritten = await this.#report(objects, translation, this.#addresses());
    const outcome = isNew ? "published" : "unchanged";
    return { outcome, translation, ...(unwritten !== undefined && { unwritten }) };
  }

  /** @throws GatewayError */
  async #publish(
    desired: Translation,
    translated: (refused: ReadonlyMap<string, readonly DraftProblem[]>) => Promise<Translation>,
  ): Promise<Translation> {
    const { log, publisher } = this.#options;
    const refused = new Map<string, readonly DraftProblem[]>();
    let translation = desired;
    // Terminates: each iteration omits at least one Ingress or its certificate, later one namespace or its certificates.
    for (let refusals = 0; ; refusals++) {
      const answer = await publisher.publish(sliceTexts(translation.slices));
      if (answer.kind === "published") {
        const { waiting = [] } = answer;
        this.#lastPublished = { text: renderSlices(desired, "json"), refused, waiting };
        const served = translation.ingresses.filter((each) => each.served).length;
        const counts = { served, leftOut: translation.ingresses.length - served };
        const owners = waiting.map((each) => each.owner);
        log.info(
          {
            ...counts,
            place: publisher.place,
            ...(answer.note && { note: answer.note }),
            ...(owners.length > 0 && { waiting: owners }),
          },
          "ingresses published",
        );
        return withWaiting(translation, waiting);
      }
      const { found, others } = translation.assign(answer.problems);
      const named = new Map([...found].filter(([, problems]) => problems.some(({ severity }) => severity === "error")));
      if (named.size === 0) {
        const reasons = others.map(messageWithPath);
        throw new GatewayError("publish.invalid", `Cannot publish, the gateway rejects: ${reasons.join("; ")}`);
      }
      const keys = translation.ingresses.map(({ key }) => key);
      const omitted = refusals < PATIENCE ? named : wholeNamespaces(named, keys);
      for (const [key, problems] of omitted) refused.set(key, (refused.get(key) ?? []).concat(problems));
      translation = await translated(refused);
    }
  }

  #addresses(): readonly LoadBalancerAddress[] | undefined {
    if (this.#options.view?.addressService === undefined) return this.#options.addresses;
    return addressesOfService(this.#view.addressService());
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}

function why(error: unknown): { readonly reason: string; readonly right?: string } {
  return { reason: errorText(error), ...missingRight(error) };
}

/** Adds problems of slices that were not published. Their namespaces keep their active slices. */
function withWaiting(translation: Translation, waiting: readonly SliceProblem[] = []): Translation {
  if (waiting.length === 0) return translation;
  const problems = [...translation.assign(waiting).found].flatMap(([key, some]) => {
    const [namespace = "", name = ""] = key.split("/");
    return some.map((problem) => ({ ...problem, namespace, name }));
  });
  return { ...translation, problems: [...translation.problems, ...problems] };
}
