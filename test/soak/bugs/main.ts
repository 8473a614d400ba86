/**
 * `npm run soak:bugs -- [NAME…] [--seconds 25]`: a short soak for each seeded bug, or those named; says which were caught by the check
 * that must. Without a bug ("none") nothing may be found. Exit code 1 when one was missed.
 */
import { parseArgs } from "node:util";

import { takeOwnMounts } from "../own-mounts.ts";
import { BUGS } from "./bugs.ts";
import { seedBug } from "./seed-bug.ts";
import { soakShortly } from "./short-soak.ts";

const NONE = { name: "none", caughtBy: "", changes: [] };

takeOwnMounts();
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: "string", default: "25" }, seed: { type: "string", default: "1" } },
});
const all = [NONE, ...BUGS];
const unknown = positionals.filter((name) => !all.some((bug) => bug.name === name));
if (unknown.length > 0) {
  console.error(`no such bug: ${unknown.join(", ")}; there are ${all.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
let missed = 0;
for (const bug of all.filter(({ name }) => positionals.length === 0 || positionals.includes(name))) {
  const seeded = seedBug(bug);
  try {
    const found = await soakShortly({
      program: seeded.program,
      seconds: Number(values.seconds),
      seed: Number(values.seed),
    });
    const others = [...found].filter(([name, texts]) => name !== bug.caughtBy && texts.length > 0);
    const own = found.get(bug.caughtBy) ?? [];
    const isAsExpected = bug === NONE ? others.length === 0 : own.length > 0;
    if (!isAsExpected) missed += 1;
    const verdict = bug === NONE ? (isAsExpected ? "nothing found" : "FOUND") : isAsExpected ? "caught" : "MISSED";
    const also = others.map(([name, texts]) => `${name} ${texts.length}`).join(", ");
    console.log(
      `${bug.name.padEnd(32)} ${verdict.padEnd(13)} ${bug.caughtBy} ${own.length}${also === "" ? "" : `; also ${also}`}: ` +
        (own[0] ?? others[0]?.[1][0] ?? ""),
    );
  } finally {
    seeded.close();
  }
}
process.exit(missed === 0 ? 0 : 1);
