/** A process that writes audited records as fast as it can, until it is killed. Arguments: file, name of its run. */
import { chainRecords } from "../../runtime/audit/chain/chain-writer.ts";
import { AUDIT_KEY_NAME } from "../../runtime/audit/chain/checkpoint.ts";
import { createNoteSigner } from "../../runtime/audit/chain/signed-note.ts";
import { createRecordWriter } from "../../runtime/audit/record-writer.ts";
import { systemClock } from "../../runtime/shared/clock.ts";

const [file = "", instance = ""] = process.argv.slice(2);
const lines = createRecordWriter({
  destination: file,
  endsBrokenLine: true,
  batchMs: 1,
  onError: (error) => {
    throw error;
  },
});
const records = chainRecords(lines, {
  instance,
  signer: createNoteSigner(AUDIT_KEY_NAME, Buffer.alloc(32, 7)),
  clock: systemClock,
  seen: [],
  version: "1",
});
for (let number = 0; ; number += 1) {
  const text = "x".repeat((number * 37) % 5_000);
  await records.write(`{"level":"info","service":"authorize","message":"authorize check","text":"${text}"}\n`);
  if (number % 20 === 0) await records.flush();
  // Whoever kills it waits for that.
  if (number % 1_000 === 999) process.stdout.write(".");
}
