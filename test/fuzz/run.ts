/**
 * `node test/fuzz/run.ts`: a target driven for longer than tests have time for.
 *
 *   --target T    one of test/fuzz/targets, or all (default)
 *   --seconds N   for each (60)
 *   --seed S      (1); the same seed makes the same inputs in the same order
 *
 * What falls is written to test-artifacts/fuzz, made smaller first, and the exit code is 1. Put it into the target's corpus
 * when it is mended: it is tried in each test run from then on. With Jazzer.js: `npx jazzer test/fuzz/targets/T -- corpora/T`.
 */
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { randomOf } from "../mutation/sample.ts";
import { mutate, type Mutation } from "./mutate.ts";
import { type Fuzz, loadTarget, targetNames } from "./targets.ts";

const { values } = parseArgs({
  options: {
    target: { type: "string" },
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
  },
});

const names = targetNames().filter((name) => values.target === undefined || name === values.target);
if (names.length === 0) throw new Error(`No target "${values.target}", there are: ${targetNames().join(", ")}`);
for (const name of names) await drive(name, Number(values.seconds) * 1000, Number(values.seed));

async function drive(name: string, ms: number, seed: number): Promise<void> {
  const { fuzz, corpus } = await loadTarget(name);
  const random = randomOf(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = (): Uint8Array => corpus[below(corpus.length)] ?? new Uint8Array();
  const mutation = (): Mutation => ({ kind: below(7), at: below(1 << 16), length: below(17), byte: below(256) });
  const until = performance.now() + ms;
  let [runs, slowest] = [0, 0];
  const known = new Set<string>();
  while (performance.now() < until) {
    const input = mutate(pick(), Array.from({ length: below(6) }, mutation), pick());
    const began = performance.now();
    const fault = await faultOf(fuzz, input);
    slowest = Math.max(slowest, performance.now() - began);
    runs += 1;
    // One of each kind: what is wrong, without the input that it names.
    const kind = fault?.split(/[:\n]/)[0];
    if (fault === undefined || kind === undefined || known.has(kind)) continue;
    known.add(kind);
    await keep(name, fuzz, input, fault);
  }
  console.log(`${name}: ${runs} runs, seed ${seed}, slowest ${slowest.toFixed(0)} ms, ${known.size} fell`);
}

async function faultOf(fuzz: Fuzz, input: Uint8Array): Promise<string | undefined> {
  try {
    await fuzz(input);
    return undefined;
  } catch (error) {
    return error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error);
  }
}

/** Takes pieces out while it still falls in the same way. */
async function keep(name: string, fuzz: Fuzz, input: Uint8Array, fault: string): Promise<void> {
  const kindOf = (text: string | undefined): string | undefined => text?.split(/[:\n]/)[0];
  let small = input;
  for (let size = small.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at + size <= small.length;) {
      const less = Buffer.concat([small.subarray(0, at), small.subarray(at + size)]);
      if (kindOf(await faultOf(fuzz, less)) === kindOf(fault)) small = less;
      else at += size;
    }
  }
  const folder = new URL("../../test-artifacts/fuzz/", import.meta.url);
  mkdirSync(folder, { recursive: true });
  const file = new URL(`${name}-${createHash("sha256").update(small).digest("hex").slice(0, 12)}`, folder);
  writeFileSync(file, small);
  console.log(
    `${name} fell, see ${file.pathname}: ${await faultOf(fuzz, small)}\n${JSON.stringify(Buffer.from(small).toString("latin1"))}`,
  );
  process.exitCode = 1;
}
