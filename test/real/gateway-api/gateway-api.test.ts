/** The conformance suite of Gateway API against the controller, a real API server and gateways with real traffic. */
import { appendFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { example } from "../../support/kube-example.ts";
import { type Cluster, startCluster } from "../kube/cluster.ts";
import { grantRights, startGateway } from "./gateways.ts";
import { type ConformancePrograms, installConformance } from "./install.ts";
import { KNOWN_FAILURES } from "./known-failures.ts";
import { openNetwork } from "./network.ts";
import { startNode } from "./node.ts";
import { runSuite, SUITE_LOG, type SuiteResult } from "./suite.ts";

const CLASS = "gateway-conformance";
/** While the tests are collected, since the suite has the names of its tests. */
async function results(): Promise<readonly SuiteResult[]> {
  const programs = await installConformance();
  await openNetwork();
  await using cleanUp = new AsyncDisposableStack();
  const cluster = cleanUp.adopt(await startCluster(), (each) => each.close());
  const policies = join(example, "overlays/controller/gateway-route-policy.yaml");
  await cluster.kubectl("apply", "--server-side", "-f", programs.definitions, "-f", policies);
  await cluster.kubectl("wait", "--for=condition=Established", "crd", "--all");
  await grantRights(cluster);
  await createClass(cluster);
  cleanUp.adopt(await startNode(cluster, programs.echo), (each) => each.close());
  const only = process.env["GATEWAY_SUITE_TEST"];
  return await runWith(cluster, programs, only);
}

/** Requests need no sign-in: the suite has none. */
async function createClass(cluster: Cluster): Promise<void> {
  const policy = { name: CLASS, namespace: "gateway" };
  await cluster.apply(
    {
      apiVersion: "ingress.gateway.io/v1alpha1",
      kind: "GatewayRoutePolicy",
      metadata: policy,
      spec: { settings: { allow_public_unauthenticated_access: true } },
    },
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name: CLASS },
      spec: {
        controllerName: "ingress.gateway.io/controller",
        parametersRef: { group: "ingress.gateway.io", kind: "GatewayRoutePolicy", ...policy },
      },
    },
  );
}

async function runWith(
  cluster: Cluster,
  { suite }: ConformancePrograms,
  only: string | undefined,
): Promise<readonly SuiteResult[]> {
  const gateway = await startGateway(cluster);
  try {
    await cluster.kubectl("wait", "--for=condition=Accepted", "--timeout=20s", `gatewayclass/${CLASS}`);
    const { status } = await cluster.api<{ status: { supportedFeatures: readonly { readonly name: string }[] } }>(
      "GET",
      `/apis/gateway.networking.k8s.io/v1/gatewayclasses/${CLASS}`,
    );
    const features = status.supportedFeatures.map(({ name }) => name);
    const found = await runSuite(cluster, { program: suite, className: CLASS, features, only });
    return only === undefined ? found : found.filter(({ name }) => name === only);
  } catch (error) {
    throw new Error(gateway.logs().slice(-4000), { cause: error });
  } finally {
    await gateway.close();
    if (SUITE_LOG !== undefined) await appendFile(`${SUITE_LOG}.gateway`, gateway.logs());
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

test.skipIf(process.env["GATEWAY_SUITE_TEST"] !== undefined)("only tests that fail are known failures", () => {
  const failed = all.filter(({ outcome }) => outcome === "failed").map(({ name }) => name);
  expect(Object.keys(KNOWN_FAILURES).filter((name) => !failed.includes(name))).toEqual([]);
});
