/** Opens the target of the records: the log only, or the thread that signs them and passes on copies. */
import { hostname } from "node:os";
import { resolve } from "node:path";

import { createRecordWriter, type RecordWriter } from "../audit/record-writer.ts";
import type { RedactorOptions } from "../audit/redaction/redactor.ts";
import type { Clock } from "../shared/clock.ts";
import type { GatewayError } from "../shared/errors.ts";
import type { RecordSettings } from "../features/records/compiled.ts";
import { type Keys, randomHandle } from "../shared/keys.ts";
import type { Log } from "../shared/log.ts";
import { VERSION } from "../shared/version.ts";
import type { RecordStoreOptions } from "../record-store/back-end.ts";
import type { Store } from "../store/store.ts";
import { keepHeads, readHeads } from "./heads.ts";
import { startRecordThread } from "./records-thread.ts";

export interface RecordsDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly worker: string | undefined;
  /** Redaction of copies. */
  readonly redaction: RedactorOptions;
  /** Absent: no record store. */
  readonly recordStore?: RecordStoreOptions | undefined;
}

export interface RecordsOptions extends Pick<
  RecordSettings,
  "authorizeLog" | "audit" | "auditRequired" | "recordSinks" | "recordSpool"
> {
  readonly tracing?: { readonly serviceName: string } | undefined;
}

/** Default of `tracing.service_name`. */
const DEFAULT_SERVICE_NAME = "gateway";
const CLOSE_TIMEOUT_MS = 5_000;

/** @throws GatewayError `record.open`, `record.thread` */
export async function startRecords(options: RecordsOptions, deps: RecordsDeps): Promise<RecordWriter> {
  const { authorizeLog, audit, auditRequired, recordSinks, recordSpool, tracing } = options;
  const { store, keys, clock, log, worker, redaction, recordStore } = deps;
  const onError = (error: GatewayError, queued: number): void =>
    log.error({ err: error, queued }, "cannot write authorization records");
  const hasCopies = recordSinks.length > 0 || recordStore !== undefined;
  if (!audit && !auditRequired && !hasCopies) return createRecordWriter({ destination: authorizeLog, onError });

  const instance = instanceName(worker);
  const heads = audit ? keepHeads(instance, { store, clock, log }) : undefined;
  let last: string | undefined;
  const [seed] = keys.derive("audit-signing");
  const serviceName = tracing?.serviceName ?? DEFAULT_SERVICE_NAME;
  const records = await startRecordThread(
    {
      instance,
      destination: authorizeLog,
      closeTimeoutMs: CLOSE_TIMEOUT_MS,
      ...(audit && { audit: { seed: seed as Buffer, seen: await readHeads({ store, log }) } }),
      ...(hasCopies && { redaction }),
      ...(recordStore && { recordStore }),
      ...(hasCopies && recordSpool !== undefined && { spool: resolve(recordSpool) }),
      sinks: recordSinks.map((sink) => ({ ...sink, serviceName, version: VERSION })),
    },
    {
      log,
      onError,
      onCheckpoint(note) {
        last = note;
        heads?.put(note);
      },
      onDeath(error) {
        log.error({ err: error }, "record writer ended, process exits");
        throw error;
      },
    },
  );
  return {
    ...records,
    async close() {
      await records.close();
      await heads?.close(last);
    },
  };
}

/** Shows an operator where it ran, and is unique per run. */
function instanceName(worker: string | undefined): string {
  const where = (worker ?? hostname()).replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 150);
  return `${where}.${process.pid}.${randomHandle(9)}`;
}
