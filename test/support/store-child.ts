/**
 * Another process on the same SQLite file, for store tests. Arguments: file, job.
 *
 * - `write`: puts pairs of records that must stay equal, one after the other, and says each confirmed number, until killed.
 * - `take`: takes "code:0" … "code:99" and says how many it got.
 */
import { systemClock } from "../../runtime/shared/clock.ts";
import { openSqliteStore } from "../../runtime/store/sqlite/sqlite.ts";

const [path = "", job = ""] = process.argv.slice(2);
const store = await openSqliteStore({ path, clock: systemClock });

if (job === "write") {
  for (let number = 1; ; number++) {
    await store.put("pair", { left: number, right: number }, { tags: [`number:${number}`] });
    await store.append("numbers", number, 4_000_000_000);
    process.stdout.write(`${number}\n`);
  }
}
if (job === "take") {
  const taken = await Promise.all(Array.from({ length: 100 }, (_, index) => store.take(`code:${index}`)));
  process.stdout.write(`${taken.filter(Boolean).length}\n`);
}
await store.close();
