/**
 * One process with vitest kept warm in it, told by main.ts what to change and which tests to run.
 *
 * Sources are changed where vitest reads them, in memory: the files on disk stay as they are. Whoever reads a source in another
 * way (a process or thread that a test starts) sees it unchanged.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { BaseSequencer, createVitest, type TestSpecification, type Vitest } from "vitest/node";

import { instrument } from "./mutants.ts";

export interface Order {
  /** Files to run, from the root. */
  readonly tests: readonly string[];
  /** One source with another text, or the sources whose reached places are wanted. */
  readonly replace?: { readonly file: string; readonly text: string };
  readonly reach?: readonly string[];
}

export interface Outcome {
  readonly failed: boolean;
  /** A test was not over in its time: it may have hung, or the machine was busy. */
  readonly isLate?: boolean;
  /** The test that failed first, or the error outside of any. */
  readonly by?: string;
  readonly testFiles: readonly { readonly file: string; readonly durationMs: number }[];
}

export const root = new URL("../..", import.meta.url).pathname;

/** Files in the order that they were named in: those that fail soonest come first. */
class AsGiven extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => order?.tests.indexOf(moduleId.slice(root.length)) ?? 0;
    return files.toSorted((one, other) => rank(one) - rank(other));
  }
}

let order: Order | undefined;

async function start(): Promise<Vitest> {
  return await createVitest(
    "test",
    {
      root,
      config: false,
      watch: false,
      // Its key is the file on disk: what is changed in memory would be missed, and kept for others.
      fsModuleCache: false,
      include: ["test/**/*.test.ts"],
      pool: "forks",
      // One worker for all files of an order: their modules are loaded once.
      isolate: false,
      maxWorkers: 1,
      fileParallelism: false,
      bail: 1,
      testTimeout: 45_000,
      hookTimeout: 45_000,
      expect: { poll: { timeout: 5_000 } },
      sequence: { sequencer: AsGiven },
      reporters: [{}],
      setupFiles: ["test/mutation/reached.ts"],
      onConsoleLog: () => false,
    },
    {
      plugins: [
        {
          name: "mutants",
          enforce: "pre",
          async load(id: string) {
            if (!order || !id.startsWith(root)) return undefined;
            const file = id.slice(root.length);
            if (order.replace?.file === file) return order.replace.text;
            if (order.reach?.includes(file)) return instrument(await readFile(id, "utf8")).text;
            return undefined;
          },
        },
      ],
    },
  );
}

async function run(vitest: Vitest, next: Order): Promise<Outcome> {
  const touched = [order?.replace?.file, next.replace?.file, ...(order?.reach ?? []), ...(next.reach ?? [])];
  order = next;
  for (const file of new Set(touched)) if (file !== undefined) vitest.invalidateFile(join(root, file));
  // Or what became of files in earlier runs is told again.
  vitest.state.filesMap.clear();
  vitest.state.idMap.clear();
  vitest.state.clearErrors();
  const project = vitest.getRootProject();
  const { testModules: known, unhandledErrors } = await vitest.runTestSpecifications(
    next.tests.map((file) => project.createSpecification(join(root, file))),
  );
  const testModules = known.filter(({ moduleId }) => next.tests.includes(moduleId.slice(root.length)));
  let by: string | undefined;
  let isLate = false;
  for (const module of testModules) {
    const [error] = module.errors();
    if (error) by ??= `${module.relativeModuleId}: ${error.message.slice(0, 200)}`;
    for (const test of module.children.allTests("failed")) {
      by ??= `${module.relativeModuleId}: ${test.fullName}`;
      isLate ||= test.result().errors?.some(({ message }) => /timed out in/.test(message)) === true;
    }
    for (const suite of module.children.allSuites()) {
      if (suite.errors().length > 0) by ??= `${module.relativeModuleId}: ${suite.fullName}`;
    }
  }
  const [unhandled] = unhandledErrors as readonly { readonly message?: string }[];
  if (unhandled) by ??= `outside of tests: ${String(unhandled.message).slice(0, 200)}`;
  return {
    failed: by !== undefined,
    isLate,
    ...(by === undefined ? {} : { by }),
    testFiles: testModules.map((each) => ({ file: each.relativeModuleId, durationMs: each.diagnostic().duration })),
  };
}

if (process.send && import.meta.main) {
  const vitest = await start();
  process.on("message", (message: Order) => {
    void run(vitest, message).then(
      (outcome) => process.send?.(outcome),
      (error: unknown) => process.send?.({ failed: true, by: `cannot run: ${String(error)}`, testFiles: [] }),
    );
  });
  // Whoever asked is gone: this group of processes has nothing to close that would outlive it.
  process.on("disconnect", () => process.kill(-process.pid, "SIGKILL"));
  process.send({ ready: true });
}
