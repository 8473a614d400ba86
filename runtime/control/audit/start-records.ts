/** Opens where the records go: the log alone, or the thread that proves them whole and hands on copies. */
import { hostname } from "node:os";

import { createRecordWriter, type RecordWriter } from "../../audit/record-writer.ts";
import type { Clock } from "../../shared/clock.ts";
import type { GatewayError } from "../../shared/errors.ts";
import { type Keys, randomHandle } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../../store/store.ts";
import { keepHeads, readHeads } from "./heads.ts";
import { startRecordThread } from "./records-thread.ts";

export interface RecordsDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly worker: string | undefined;
}

export interface RecordsOptions {
  /** "stdout", or a path. */
  readonly authorizeLog: string;
  readonly audit: boolean;
}

const CLOSE_TIMEOUT_MS = 5_000;

/** @throws GatewayError `record.open`, `record.thread` */
export async function startRecords({ authorizeLog, audit }: RecordsOptions, deps: RecordsDeps): Promise<RecordWriter> {
  const { store, keys, clock, log, worker } = deps;
  const onError = (error: GatewayError, queued: number): void =>
    log.error({ err: error, queued }, "authorization records are not written");
  if (!audit) return createRecordWriter({ destination: authorizeLog, onError });

  const instance = instanceName(worker);
  const heads = keepHeads(instance, { store, clock, log });
  let last: string | undefined;
  const [seed] = keys.derive("audit-signing");
  const records = await startRecordThread(
    {
      instance,
      destination: authorizeLog,
      closeTimeoutMs: CLOSE_TIMEOUT_MS,
      audit: { seed: seed as Buffer, seen: await readHeads({ store, log }) },
    },
    {
      log,
      onError,
      onCheckpoint(note) {
        last = note;
        heads.put(note);
      },
      onDeath(error) {
        log.fatal({ err: error }, "authorization records cannot be written any more");
        throw error;
      },
    },
  );
  return {
    ...records,
    async close() {
      await records.close();
      await heads.close(last);
    },
  };
}

/** Tells an operator where it ran, and is no other run's. */
function instanceName(worker: string | undefined): string {
  const where = (worker ?? hostname()).replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 150);
  return `${where}.${process.pid}.${randomHandle(9)}`;
}
