/** Which test files reach which places of the sources, and how long each takes: measured once on unchanged behaviour. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { startRunner } from "./pool.ts";
import { root } from "./runner.ts";

export interface Reach {
  /** For each source, for each of its places, the test files that reach it. */
  readonly tests: ReadonlyMap<string, ReadonlyMap<number, readonly string[]>>;
  readonly durationMs: ReadonlyMap<string, number>;
  /** Tests that fail without any change, so that they say nothing about mutants. */
  readonly left: readonly string[];
}

export async function measureReach(
  sources: readonly string[],
  tests: readonly string[],
  progress: (text: string) => void,
): Promise<Reach> {
  const folder = await mkdtemp(join(tmpdir(), "mutation-"));
  const file = join(folder, "reached.jsonl");
  const runner = startRunner({ MUTATION_REACHED: file });
  const durationMs = new Map<string, number>();
  const left: string[] = [];
  try {
    for (const [at, test] of tests.entries()) {
      progress(`reach ${at + 1}/${tests.length} ${test}`);
      const began = performance.now();
      const outcome = await runner.run({ tests: [test], reach: sources }, 120_000);
      if (!outcome || outcome.failed) left.push(`${test} (${outcome?.by ?? "too long"})`);
      else durationMs.set(test, performance.now() - began);
    }
    // All of them in one worker, as mutants have them: a file that others disturb would kill mutants that it does not know.
    const together = startRunner();
    try {
      for (;;) {
        progress(`reach: ${durationMs.size} test files together`);
        const outcome = await together.run({ tests: [...durationMs.keys()] }, 600_000);
        const disturbed = [...durationMs.keys()].find((each) => outcome?.by?.startsWith(`${each}: `));
        if (outcome?.failed === false) break;
        if (disturbed === undefined) throw new Error(`The tests do not pass together: ${outcome?.by ?? "too long"}`);
        durationMs.delete(disturbed);
        left.push(`${disturbed} (beside others: ${outcome?.by ?? ""})`);
      }
    } finally {
      together.close();
    }
    const found = new Map<string, Map<number, string[]>>();
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
    for (const line of lines) {
      const { test, reached } = JSON.parse(line) as { test: string; reached: string[] };
      const name = test.slice(root.length);
      if (!durationMs.has(name)) continue;
      for (const each of reached) {
        const [url = "", place] = each.split(" ");
        const source = url.slice(pathToFileURL(root).href.length);
        const places = found.get(source) ?? new Map<number, string[]>();
        found.set(source, places.set(Number(place), [...(places.get(Number(place)) ?? []), name]));
      }
    }
    return { tests: found, durationMs, left };
  } finally {
    runner.close();
    await rm(folder, { recursive: true, force: true });
  }
}
