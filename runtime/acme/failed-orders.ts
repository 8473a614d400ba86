/** Records a failed order for all processes and restarts, and reports it: in the log, and to the webhook. */
import type { AcmeSettings } from "../features/listener/acme.ts";
import type { Notify } from "../audit/events.ts";
import { type Clock, epochSeconds } from "../shared/clock.ts";
import type { Log } from "../shared/log.ts";
import { dateOf, type FailedOrder, failedRecord, limitedPause, pauseOf } from "./due.ts";
import type { AcmeFailure } from "./failure.ts";
import type { AcmeRecords, Pause } from "./records.ts";
import type { KnownHost, SharedState } from "./shared-state.ts";

export interface FailureDeps {
  readonly settings: Pick<AcmeSettings, "directory">;
  readonly records: AcmeRecords;
  readonly state: SharedState;
  /** The last known pause. */
  readonly onPause: (pause: Pause | undefined) => void;
  readonly notify: Notify;
  readonly clock: Clock;
  readonly log: Log;
}

export interface HostFailure {
  readonly host: string;
  readonly known: KnownHost | undefined;
  readonly failure: AcmeFailure;
  /** 0 … 1. */
  readonly random: number;
}

/** @returns false: other hosts must also wait. @throws GatewayError `store.unavailable` */
export async function recordFailure(
  deps: FailureDeps,
  { host, known, failure, random }: HostFailure,
): Promise<boolean> {
  const { state, log, records, notify, onPause } = deps;
  if (failure.scope === "directory") {
    await pauseAll(deps, failure, random);
    return false;
  }
  const order = orderOf(deps, failure, random);
  const failed = failedRecord(known?.record, order);
  await records.putHost(host, failed);
  await state.refresh(host);
  const { reason, failures } = failed;
  const ends = known?.used && dateOf(failed.endsAt);
  log.warn({ host, reason, failures, next: dateOf(failed.nextAt), ends }, "cannot get certificate");
  const data = { host, reason, failures, ...(ends !== undefined && { ends }) };
  notify({ type: "certificate.failed", subject: host, data });
  if (failure.retryAfterMs === undefined) return true;
  const pause = limitedPause(order);
  await records.putPause(pause);
  onPause(pause);
  return false;
}

/** @throws GatewayError `store.unavailable` */
export async function pauseAll(deps: FailureDeps, failure: AcmeFailure, random: number): Promise<void> {
  const { records, settings, log, notify, onPause } = deps;
  const pause = pauseOf(await records.pause(), orderOf(deps, failure, random));
  await records.putPause(pause);
  onPause(pause);
  const { reason, failures, until } = pause;
  const { host: authority } = new URL(settings.directory);
  log.warn({ authority, reason, failures, next: dateOf(until) }, "cannot order certificates");
  const data = { authority, reason, failures };
  notify({ type: "certificate.failed", subject: JSON.stringify([settings.directory]), data });
}

function orderOf({ settings, clock }: FailureDeps, failure: AcmeFailure, random: number): FailedOrder {
  const { message, retryAfterMs } = failure;
  return { directory: settings.directory, reason: message, retryAfterMs, now: epochSeconds(clock), random };
}
