/**
 * Another process that writes records into a SQLite file, and reports the number stored, until it is killed: FILE NAME
 * [SPOOL]
 */
import { systemClock } from "../../runtime/shared/clock.ts";
import { copyOf } from "./record-copies.ts";
import { openTestStore } from "./record-store.ts";

const [path = "", name = "", spool] = process.argv.slice(2);
const store = openTestStore(
  { place: { kind: "sqlite", path, isTemporary: false }, maxAgeMs: 24 * 3600_000, maxRecords: 2_000_000 },
  { clock: systemClock, log: () => {}, ...(spool !== undefined && { spool }) },
);
for (let number = 0; ; number += 10) {
  store.take(Array.from({ length: 10 }, (_, more) => copyOf(Date.now(), `${name}-${number + more}`)));
  await store.flush();
  process.stdout.write(`${number + 10}\n`);
}
