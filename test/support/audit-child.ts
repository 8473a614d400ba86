/**
 * A process that writes audited records as fast as it can, as a gateway does (through the thread), until it is killed.
 * Arguments: file, name of its run, and after how many records it says a dot once they are written (1,000).
 */
import { startRecordThread } from "../../runtime/records/records-thread.ts";
import { silentLog } from "../../runtime/shared/log.ts";

const [file = "", instance = "", every = "1000"] = process.argv.slice(2);
const fail = (error: Error): never => {
  throw error;
};
const records = await startRecordThread(
  { instance, destination: file, closeTimeoutMs: 5_000, audit: { seed: Buffer.alloc(32, 7), seen: [] } },
  { log: silentLog(), onError: fail, onDeath: fail, onCheckpoint: () => {} },
);
for (let number = 0; ; number += 1) {
  const text = "x".repeat((number * 37) % 5_000);
  await records.write(`{"level":"info","service":"authorize","message":"authorize check","text":"${text}"}\n`);
  if (number % 20 === 19) await records.flush();
  // The test that kills it waits for this.
  if (number % Number(every) === Number(every) - 1) process.stdout.write(".");
}
