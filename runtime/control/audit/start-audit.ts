/** Begins the audit of this run of the process: its name, its key, what it knows of others. */
import { hostname } from "node:os";

import { AUDIT_KEY_NAME } from "../../audit/chain/checkpoint.ts";
import { chainRecords } from "../../audit/chain/chain-writer.ts";
import { createNoteSigner } from "../../audit/chain/signed-note.ts";
import type { RecordWriter } from "../../audit/record-writer.ts";
import type { Clock } from "../../shared/clock.ts";
import { type Keys, randomHandle } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import { VERSION } from "../../shared/version.ts";
import type { Store } from "../../store/store.ts";
import { keepHeads, readHeads } from "./heads.ts";

export interface AuditDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly worker: string | undefined;
}

/** @param lines where the records go; closed with what is returned */
export async function startAudit(lines: RecordWriter, deps: AuditDeps): Promise<RecordWriter> {
  const { store, keys, clock, log, worker } = deps;
  const instance = instanceName(worker);
  const [seed] = keys.derive("audit-signing");
  const heads = keepHeads(instance, { store, clock, log, flush: () => lines.flush() });
  let last: string | undefined;
  const records = chainRecords(lines, {
    instance,
    signer: createNoteSigner(AUDIT_KEY_NAME, seed as Buffer),
    clock,
    seen: await readHeads({ store, log }),
    version: VERSION,
    onCheckpoint(note) {
      last = note;
      heads.put(note);
    },
  });
  return {
    write: (line) => records.write(line),
    get lastSeq() {
      return records.lastSeq as number;
    },
    flush: () => records.flush(),
    reopen: () => records.reopen(),
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
