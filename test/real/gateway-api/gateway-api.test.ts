/** The conformance suite of Gateway API against the controller, a real API server and gateways with real traffic. */
import { expect, test } from "vitest";

import { startCluster } from "../kube/cluster.ts";
import { startGateways } from "./gateways.ts";
import { installConformance } from "./install.ts";
import { KNOWN_FAILURES } from "./known-failures.ts";
import { openNetwork } from "./network.ts";
import { startNode } from "./node.ts";
import { runSuite, type SuiteResult } from "./suite.ts";

const CLASS = "gateway-conformance";

/** While the tests are collected, since the suite has the names of its tests. */
async function results(): Promise<readonly SuiteResult[]> {
  const { suite, echo, definitions } = await installConformance();
  await openNetwork();
  await using cleanUp = new AsyncDisposableStack();
  const cluster = cleanUp.adopt(await startCluster(), (each) => each.close());
  await cluster.kubectl("apply", "--server-side", "-f", definitions);
  await cluster.kubectl("wait", "--for=condition=Established", "crd", "--all");
  cleanUp.adopt(await startNode(cluster, echo), (each) => each.close());
  await cluster.apply({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name: CLASS },
    spec: { controllerName: "ingress.gateway.io/controller" },
  });
  const gateways = cleanUp.adopt(await startGateways(cluster), (each) => each.close());
  try {
    await cluster.kubectl("wait", "--for=condition=Accepted", "--timeout=20s", `gatewayclass/${CLASS}`);
    return await runSuite(cluster, { program: suite, className: CLASS, only: process.env["GATEWAY_SUITE_TEST"] });
  } catch (error) {
    throw new Error(gateways.logs().slice(-4000), { cause: error });
  }
}

const all = await results();
for (const outcome of ["passed", "failed", "skipped"] as const) {
  const of = all.filter((each) => each.outcome === outcome);
  console.log(`${of.length} ${outcome}:\n${of.map(({ name, text }) => `  ${name}${text && `: ${text}`}`).join("\n")}`);
}

test.for(all.filter(({ outcome, name }) => outcome === "passed" || (outcome === "failed" && !KNOWN_FAILURES[name])))(
  "$name",
  ({ outcome, text }) => expect(outcome, text).toBe("passed"),
);

for (const [name, reason] of Object.entries(KNOWN_FAILURES)) test.skip(`${name}: ${reason}`, () => {});

test("the list of known failures has those that fail, and no others", () => {
  const failed = all.filter(({ outcome }) => outcome === "failed").map(({ name }) => name);
  expect(Object.keys(KNOWN_FAILURES).filter((name) => !failed.includes(name))).toEqual([]);
});
