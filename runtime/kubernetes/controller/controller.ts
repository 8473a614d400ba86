/**
 * The controller: what the cluster says → the slices that a gateway has, and back: status and events.
 *
 * Promises: nothing is published before everything was read once; only who leads publishes and writes; what a gateway
 * refuses takes down the Ingress that caused it and no other; an unreachable cluster or gateway leaves in force what is.
 */
import { setTimeout as delay } from "node:timers/promises";

import { errorText, GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Closable, Clock } from "../../shared/clock.ts";
import { sealSecret } from "../../terraform/resource/seal.ts";
import { type Backoff, createBackoff } from "./backoff.ts";
import { type ClusterView, type ClusterViewOptions, createClusterView } from "./cluster-view.ts";
import { createEventWriter } from "./events.ts";
import { type KubeClient, missingRight } from "./kube-client.ts";
import { type SliceProblem, wholeNamespaces } from "../translate/assign.ts";
import { createLeftAloneLog, whyLeftAlone } from "../translate/left-alone.ts";
import { messageWithPath } from "../../settings/problem.ts";
import { keyOf, type KubeObjects, type LoadBalancerAddress } from "../translate/objects.ts";
import type { DraftProblem } from "../translate/ingress-problem.ts";
import { type SlicePublisher, sliceTexts } from "./publisher.ts";
import { renderSlices } from "../render.ts";
import { createSeals } from "./seals.ts";
import { DEFAULT_OWNER, ownerOf } from "../translate/slices.ts";
import { addressesOfService, clearStatus, writeStatus } from "./status.ts";
import { translate, type TranslateOptions, type Translation } from "../translate/translate.ts";

export interface ControllerOptions {
  readonly client: KubeClient;
  readonly publisher: SlicePublisher;
  readonly translate: Omit<TranslateOptions, "seal" | "refused" | "pairs" | "nowMs">;
  /** Key that secrets are sealed to; the publisher is asked when absent. */
  readonly sealKey?: string | undefined;
  readonly view?: Pick<ClusterViewOptions, "namespaces" | "addressService" | "reflector" | "patienceMs">;
  /** Addresses for the status of served Ingresses, unless `view.addressService` says them. Undefined: no status is written. */
  readonly addresses?: readonly LoadBalancerAddress[] | undefined;
  readonly isLeader: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Changes come in flocks: how long it must be quiet, and how long to wait at most. */
  readonly quietMs?: number;
  readonly mostMs?: number;
  /** How often everything is published again though nothing changed. */
  readonly resyncMs?: number;
  readonly backoff?: Backoff;
  /** After each round. */
  readonly onRound?: (round: Round) => void;
}

export interface Round {
  readonly outcome: "waiting" | "following" | "published" | "unchanged" | "failed";
  readonly translation?: Translation;
  /** Why not every status is written. */
  readonly unwritten?: unknown;
}

export interface Controller extends Closable {
  /** Look again soon; `anew` also publishes what was published already. */
  wake(options?: { readonly anew?: boolean }): void;
  /** Why the cluster cannot be read now, without names. */
  problems(): readonly string[];
}

const QUIET_MS = 200;
const MOST_MS = 2_000;
const RESYNC_MS = 600_000;
/** Answers of the gateway after which a namespace that it still refuses something of is left out whole. */
const PATIENCE = 10;

export function startController(options: ControllerOptions): Controller {
  const { client, publisher, clock, log, onRound } = options;
  const backoff = options.backoff ?? createBackoff({ firstMs: 1_000, mostMs: 60_000 });
  const events = createEventWriter({ client, clock, log });
  const leftAlone = createLeftAloneLog(log);
  const owner = options.translate.owner ?? DEFAULT_OWNER;
  const seals = createSeals((key, value, { namespace }) => sealSecret(key, value, ownerOf(owner, namespace)));
  const stop = new AbortController();
  /** What was wanted for when all went well last, and what the gateway refused of it. */
  let lastPublished:
    | {
        readonly text: string;
        readonly refused: ReadonlyMap<string, readonly DraftProblem[]>;
        readonly waiting: readonly SliceProblem[];
      }
    | undefined;
  /** Certificates of Secrets when they were good last: one that goes bad leaves what it held. */
  let pairs: Translation["pairs"] = new Map();
  let wokenMs: number | undefined;
  let endRest: () => void = () => {};
  const view: ClusterView = createClusterView({ ...options.view, client, onChange: () => wake(), clock, log });
  const resync = setInterval(() => wake({ anew: true }), options.resyncMs ?? RESYNC_MS);
  resync.unref();
  const running = run();

  return {
    wake,
    problems: () => view.problems(),
    async close() {
      stop.abort();
      clearInterval(resync);
      endRest();
      await running;
      await view.close();
    },
  };

  function wake({ anew = false }: { readonly anew?: boolean } = {}): void {
    if (anew) lastPublished = undefined;
    wokenMs = performance.now();
    endRest();
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      await rest();
      if (stop.signal.aborted) return;
      wokenMs = undefined;
      try {
        const round = await reconcile();
        onRound?.(round);
        if (round.unwritten === undefined) backoff.reset();
        else {
          const waitMs = Math.round(backoff.next());
          log.error({ ...why(round.unwritten), waitMs }, "cannot write the status of ingresses, trying again");
          await pauseAfterFailure(waitMs);
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        onRound?.({ outcome: "failed" });
        const waitMs = Math.round(backoff.next());
        log.error({ ...why(error), place: publisher.place, waitMs }, "ingresses not published, trying again");
        await pauseAfterFailure(waitMs);
      }
    }
  }

  async function pauseAfterFailure(waitMs: number): Promise<void> {
    await pause(waitMs);
    wokenMs ??= performance.now();
  }

  /** Until something changed and it has been quiet since, but not for ever. */
  async function rest(): Promise<void> {
    if (wokenMs === undefined) await new Promise<void>((resolve) => (endRest = resolve));
    const beganMs = performance.now();
    const { quietMs = QUIET_MS, mostMs = MOST_MS } = options;
    for (;;) {
      const nowMs = performance.now();
      const leftMs = Math.min((wokenMs ?? nowMs) + quietMs - nowMs, beganMs + mostMs - nowMs);
      if (leftMs <= 0 || stop.signal.aborted) return;
      await pause(leftMs);
    }
  }

  async function reconcile(): Promise<Round> {
    const objects = view.objects();
    if (!objects) return { outcome: "waiting" };
    const seal = seals.begin(view.hasSecrets() ? (options.sealKey ?? (await publisher.sealKey())) : undefined);
    const about = { ...options.translate, ...(seal && { seal }), pairs, nowMs: clock.now() };
    const translated = (refused: ReadonlyMap<string, readonly DraftProblem[]>): Promise<Translation> =>
      translate(objects, { ...about, refused });
    const desired = await translated(new Map());
    // Reading what is named for the first time wakes us again.
    if (view.follow({ secrets: desired.secrets, endpoints: desired.usesEndpoints })) {
      return { outcome: "following", translation: desired };
    }
    seals.end();
    ({ pairs } = desired);
    if (!options.isLeader()) return { outcome: "waiting", translation: desired };
    const text = renderSlices(desired, "json");
    const isNew = lastPublished?.text !== text;
    const translation = isNew
      ? await publish(desired, translated)
      : lastPublished && lastPublished.refused.size > 0
        ? withWaiting(await translated(lastPublished.refused), lastPublished.waiting)
        : withWaiting(desired, lastPublished?.waiting);
    const unwritten = await tell(objects, translation);
    const outcome = isNew ? "published" : "unchanged";
    return { outcome, translation, ...(unwritten !== undefined && { unwritten }) };
  }

  /** @throws GatewayError */
  async function publish(
    desired: Translation,
    translated: (refused: ReadonlyMap<string, readonly DraftProblem[]>) => Promise<Translation>,
  ): Promise<Translation> {
    const refused = new Map<string, readonly DraftProblem[]>();
    let translation = desired;
    // Ends: each time at least one Ingress, or its certificate, is left out, and soon one namespace, or its certificates.
    for (let refusals = 0; ; refusals++) {
      const answer = await publisher.publish(sliceTexts(translation.slices));
      if (answer.kind === "published") {
        const { waiting = [] } = answer;
        lastPublished = { text: renderSlices(desired, "json"), refused, waiting };
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
        throw new GatewayError("publish.invalid", `Cannot publish, the gateway refuses: ${reasons.join("; ")}`);
      }
      const keys = translation.ingresses.map(({ key }) => key);
      const bad = refusals < PATIENCE ? named : wholeNamespaces(named, keys);
      for (const [key, problems] of bad) refused.set(key, (refused.get(key) ?? []).concat(problems));
      translation = await translated(refused);
    }
  }

  /** Status and events. What cannot be written now is written in a later round. @returns why a status could not be written */
  async function tell(objects: KubeObjects, translation: Translation): Promise<unknown> {
    const byKey = new Map(objects.ingresses.map((ingress) => [keyOf(ingress), ingress]));
    const wrong = Map.groupBy(translation.problems, ({ namespace, name }) => `${namespace}/${name}`);
    const addresses =
      options.view?.addressService === undefined ? options.addresses : addressesOfService(view.addressService());
    let failure: unknown;
    for (const { key, served } of translation.ingresses) {
      const ingress = byKey.get(key);
      if (!ingress || stop.signal.aborted) continue;
      await events.tell(ingress, wrong.get(key) ?? [], served);
      if (!addresses) continue;
      try {
        await writeStatus(client, ingress, served ? addresses : []);
      } catch (error) {
        failure ??= error;
      }
    }
    leftAlone.tell(translation.foreign);
    for (const foreign of translation.foreign) {
      const problem = whyLeftAlone(foreign);
      if (problem) await events.tell(foreign.ingress, [problem], false);
      if (!addresses) continue;
      try {
        await clearStatus(client, foreign.ingress);
      } catch (error) {
        failure ??= error;
      }
    }
    events.keepOnly(new Set(objects.ingresses.map(({ metadata }) => metadata.uid ?? "")));
    return failure;
  }

  async function pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: stop.signal }).catch(() => {});
  }
}

function why(error: unknown): { readonly reason: string; readonly right?: string } {
  return { reason: errorText(error), ...missingRight(error) };
}

/** Their namespaces are told, and served as they were. */
function withWaiting(translation: Translation, waiting: readonly SliceProblem[] = []): Translation {
  if (waiting.length === 0) return translation;
  const problems = [...translation.assign(waiting).found].flatMap(([key, some]) => {
    const [namespace = "", name = ""] = key.split("/");
    return some.map((problem) => ({ ...problem, namespace, name }));
  });
  return { ...translation, problems: [...translation.problems, ...problems] };
}
