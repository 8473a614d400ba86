/** Writes the results of a round to the cluster: statuses, and events on Ingresses. */
import type { Clock } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import { createLeftAloneLog, whyLeftAlone } from "../translate/left-alone.ts";
import { keyOf, type KubeObjects, type LoadBalancerAddress } from "../translate/objects.ts";
import type { Translation } from "../translate/translate.ts";
import { createEventWriter } from "./events.ts";
import type { KubeClient } from "./kube-client.ts";
import { clearStatus, writeObjectStatus, writeStatus } from "./status.ts";

export interface ReportOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly isStopped: () => boolean;
}

/**
 * Writes status and events; failed writes are repeated in a later round. @returns the error because of which a status was not
 * written @param addresses undefined: no status of an Ingress is written
 */
export type WriteReport = (
  objects: KubeObjects,
  translation: Translation,
  addresses: readonly LoadBalancerAddress[] | undefined,
) => Promise<unknown>;

/** Many routes change together, for example with their Gateway. */
const WRITES_AT_ONCE = 16;

export function createReport({ client, clock, log, isStopped }: ReportOptions): WriteReport {
  const events = createEventWriter({ client, clock, log });
  const leftAlone = createLeftAloneLog(log);

  return async (objects, translation, addresses) => {
    let failure: unknown;
    const attempt = async (write: () => Promise<void>): Promise<void> => {
      if (isStopped()) return;
      try {
        await write();
      } catch (error) {
        failure ??= error;
      }
    };
    await eachOf(translation.statuses(translation.problems), (status) =>
      attempt(() => writeObjectStatus(client, status, clock.now())),
    );
    const byKey = new Map(objects.ingresses.map((ingress) => [keyOf(ingress), ingress]));
    const problemsByKey = Map.groupBy(translation.problems, ({ namespace, name }) => `${namespace}/${name}`);
    for (const { key, served } of translation.ingresses) {
      const ingress = byKey.get(key);
      if (!ingress || isStopped()) continue;
      await events.tell(ingress, problemsByKey.get(key) ?? [], served);
      if (addresses) await attempt(() => writeStatus(client, ingress, served ? addresses : []));
    }
    leftAlone.tell(translation.foreign);
    for (const foreign of translation.foreign) {
      const problem = whyLeftAlone(foreign);
      if (problem) await events.tell(foreign.ingress, [problem], false);
      if (addresses) await attempt(() => clearStatus(client, foreign.ingress));
    }
    events.keepOnly(new Set(objects.ingresses.map(({ metadata }) => metadata.uid ?? "")));
    return failure;
  };
}

/** Runs a task for each item, several at the same time. */
async function eachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (const item of left) await run(item);
  };
  await Promise.all(Array.from({ length: WRITES_AT_ONCE }, work));
}
