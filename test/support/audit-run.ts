/** Runs of audited records in memory, and what verification says of them. */
import { FIRST_PLACE, startChain } from "../../runtime/audit/chain/chain.ts";
import { AUDIT_KEY_NAME } from "../../runtime/audit/chain/checkpoint.ts";
import { countPlaces } from "../../runtime/audit/chain/places.ts";
import { createNoteSigner, parseVerifierKey } from "../../runtime/audit/chain/signed-note.ts";
import type { VerifyReport } from "../../runtime/tools/audit/findings.ts";
import { startVerification } from "../../runtime/tools/audit/verify.ts";

const signer = createNoteSigner(AUDIT_KEY_NAME, Buffer.alloc(32, 7));
const verifier = parseVerifierKey(signer.verifierKey);
if (!verifier) throw new Error("no key");
export const verifiers = [verifier];

export interface AuditRun {
  readonly lines: string[];
  readonly records: { write(line: string): void; close(): Promise<void> };
  readonly notes: string[];
}

let now = Date.UTC(2026, 0, 1);

export function beginRun(instance: string, seen: readonly string[] = [], by = signer): AuditRun {
  const lines: string[] = [];
  const notes: string[] = [];
  const chain = startChain({
    instance,
    signer: by,
    clock: { now: () => (now += 1) },
    seen,
    version: "1",
    write: (line) => lines.push(line.toString()),
    onCheckpoint: (note) => notes.push(note),
  });
  const places = countPlaces(FIRST_PLACE, () => chain.checkpoint());
  const records = {
    write(line: string) {
      chain.add(Buffer.from(line));
      places.take();
    },
    close() {
      places.close();
      chain.end();
      return Promise.resolve();
    },
  };
  return { lines, records, notes };
}

let number = 0;

export function writeRecords({ records }: AuditRun, count: number): void {
  for (let index = 0; index < count; index += 1) {
    number += 1;
    records.write(`{"level":"info","service":"authorize","message":"authorize check","n":${number}}\n`);
  }
}

/** Number of records after which a segment is signed without waiting for the clock. */
export { MAX_UNSIGNED as SEGMENT } from "../../runtime/audit/chain/places.ts";

/** Verifies the bytes of one file, without the file. */
export function verifyBytes(bytes: Buffer): VerifyReport {
  const verification = startVerification({ verifiers, heads: [] });
  let offset = 0;
  for (let number = 1; offset < bytes.length; number += 1) {
    const end = bytes.indexOf(0x0a, offset);
    const isEnded = end !== -1;
    const line = bytes.subarray(offset, isEnded ? end : bytes.length);
    verification.take({ number, offset, bytes: line, isEnded }, "memory");
    offset += line.length + 1;
  }
  return verification.end();
}

/** A run that ended, with a few records: start, checkpoint, 4 records, end, checkpoint. */
export async function smallRun(count = 4): Promise<readonly string[]> {
  const run = beginRun(`small-${(number += 1)}`);
  writeRecords(run, count);
  await run.records.close();
  return run.lines;
}
