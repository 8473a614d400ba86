/** Runs the conformance suite, and reads what its tests became. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";

import type { Cluster } from "../kube/cluster.ts";

export interface SuiteResult {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** Why it was skipped, or what its asserts said. */
  readonly text: string;
}

export interface SuiteOptions {
  readonly program: string;
  readonly className: string;
  /** Without `only` the suite reads them itself. */
  readonly features: readonly string[];
  /** Only this test. */
  readonly only?: string | undefined;
}

/** Shorter than the suite's own, which are for load balancers of clouds. */
const TIMEOUTS = [
  "GatewayMustHaveAddress",
  "GatewayMustHaveCondition",
  "GatewayStatusMustHaveListeners",
  "GatewayListenersMustHaveConditions",
  "GWCMustBeAccepted",
  "HTTPRouteMustNotHaveParents",
  "HTTPRouteMustHaveCondition",
  "RouteMustHaveParents",
  "LatestObservedGenerationSet",
  "DefaultTestTimeout",
];
const TIMEOUT_SECONDS = 20;
/** Until requests are answered as expected, three times in a row. */
const CONSISTENCY_SECONDS = 10;

/** File in which to read along. */
export const SUITE_LOG: string | undefined = process.env["GATEWAY_SUITE_LOG"];

/** @returns results by name. @throws Error with the end of its output when it ran no test */
export async function runSuite(cluster: Cluster, options: SuiteOptions): Promise<readonly SuiteResult[]> {
  const args = [
    "-test.v",
    "-test.timeout=90m",
    "-test.run=^TestConformance$",
    `-gateway-class=${options.className}`,
    "-conformance-profiles=GATEWAY-HTTP,GATEWAY-GRPC",
    "-disable-parallel-tests",
    `-timeout-config-overrides=${[...TIMEOUTS.map((name) => `${name}:${TIMEOUT_SECONDS}`), `MaxTimeToConsistency:${CONSISTENCY_SECONDS}`].join(";")}`,
    ...(options.only === undefined
      ? []
      : [`-run-test=${options.only}`, `-supported-features=${options.features.join(",")}`]),
  ];
  const env = { ...process.env, KUBECONFIG: cluster.adminConfig, HOME: cluster.directory };
  const child = spawn(options.program, args, { cwd: cluster.directory, env, stdio: ["ignore", "pipe", "pipe"] });
  const cleanUp = (): void => void child.kill("SIGKILL");
  process.once("exit", cleanUp);
  let text = "";
  const log = SUITE_LOG === undefined ? undefined : createWriteStream(SUITE_LOG, { flags: "a" });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      log?.write(chunk);
    });
  }
  await once(child, "close");
  process.off("exit", cleanUp);
  const results = readResults(text);
  if (results.length === 0) throw new Error(`${options.program} ran no test:\n${text.slice(-4000)}`);
  return results;
}

/** @param text of `-test.v` */
export function readResults(text: string): readonly SuiteResult[] {
  const outcomes = { PASS: "passed", FAIL: "failed", SKIP: "skipped" } as const;
  const parts = text.split(/^=== RUN {3}TestConformance\/([A-Za-z0-9]+)$/m);
  const texts = new Map<string, string>();
  for (let at = 1; at < parts.length; at += 2) texts.set(parts[at] ?? "", parts[at + 1] ?? "");
  const found = text.matchAll(/^ {4}--- (PASS|FAIL|SKIP): TestConformance\/([A-Za-z0-9]+) /gm);
  return [...found].map(([, word = "PASS", name = ""]) => {
    const outcome = outcomes[word as keyof typeof outcomes];
    return { name, outcome, text: outcome === "passed" ? "" : reasonIn(texts.get(name) ?? "") };
  });
}

/** The asserts of a failed test, or the reason of a skipped one. */
function reasonIn(text: string): string {
  const skipped = /: (Skipping [^\n]*)/.exec(text);
  if (skipped?.[1] !== undefined) return skipped[1];
  const failed = [...text.matchAll(/^\s*Error: {4,}\t?([^\n]*(?:\n\s+\t {4,}\t[^\n]*)*)/gm)].map(
    ([, said = ""]) => said,
  );
  const messages = [...text.matchAll(/^\s*Messages: {3,}\t?([^\n]*)/gm)].map(([, said = ""]) => said);
  const waited = [...text.matchAll(/(?:not ready yet|failed to [a-z]+):? ([^\n]*)/g)].map(([, said = ""]) =>
    said.replace(/ \(after .*/, ""),
  );
  const all = [...new Set([...failed, ...messages, ...waited.slice(-1)])].map((said) =>
    said.replaceAll(/\s+/g, " ").trim(),
  );
  return all.join(" | ").slice(0, 600) || text.trim().slice(-600);
}
