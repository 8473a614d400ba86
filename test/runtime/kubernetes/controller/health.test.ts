import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, expect, test } from "vitest";

import { createKubeClient } from "../../../../runtime/kubernetes/controller/client.ts";
import { startHealth } from "../../../../runtime/kubernetes/controller/health.ts";
import { usualFiles } from "../../../../runtime/kubernetes/controller/kubeconfig.ts";
import { rightAsked } from "../../../../runtime/kubernetes/controller/kube-client.ts";
import { startIngressWatch } from "../../../../runtime/kubernetes/controller/watch-command.ts";
import { createLog } from "../../../../runtime/shared/log.ts";
import { startKubeApi } from "../../../support/kube-api.ts";
import { ingress, service } from "../../../support/kube-manifests.ts";
import { freePort } from "../../../support/ports.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

test("/readyz says why a controller is not ready, /metrics counts", async () => {
  let problem: string | undefined = "Cannot GET /leases: Forbidden";
  const health = await startHealth({
    address: "127.0.0.1:0",
    isLeader: () => false,
    leaseProblem: () => problem,
    clusterProblems: () => [],
  });
  closers.push(() => health.close());
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${health.port}${path}`);
    return [response.status, await response.text()] as const;
  };
  expect(await get("/healthz")).toEqual([200, "ok\n"]);
  const [status, body] = await get("/readyz");
  expect([status, JSON.parse(body)]).toEqual([
    503,
    { ready: false, leader: false, problems: [`lease: ${problem}`, "the cluster is not read yet"] },
  ]);
  problem = undefined;
  health.leaseFailed();
  health.connectionLost();
  health.round({ outcome: "unchanged" });
  expect((await get("/readyz"))[0]).toBe(200);
  health.round({ outcome: "failed" });
  expect((await get("/readyz"))[1]).toContain("ingresses could not be published");
  const [, metrics] = await get("/metrics");
  for (const line of [
    "gateway_ingress_leader 0",
    "gateway_ingress_lease_failures_total 1",
    "gateway_ingress_connections_lost_total 1",
    'gateway_ingress_rounds_total{outcome="failed"} 1',
  ])
    expect(metrics.split("\n")).toContain(line);
  expect((await get("/"))[0]).toBe(404);
  const nowhere = { address: "nowhere", isLeader: () => true, leaseProblem: () => "", clusterProblems: () => [] };
  await expect(startHealth(nowhere)).rejects.toThrow("--health-address");
});

test("a missing right is named in the log, in /readyz and in /metrics, until it is there", async () => {
  const api = await startKubeApi();
  closers.push(() => api.close());
  const folder = await mkdtemp(join(tmpdir(), "rights-"));
  closers.push(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "config"), api.kubeconfig);
  api.apply(service("web"));
  api.apply(ingress("web", { host: "web.example.com" }));
  const lines: string[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(line) } });
  const port = await freePort();
  const lifts = {
    services: api.forbid(({ path }) => path.endsWith("/services")),
    status: api.forbid(({ path }) => path.endsWith("/status")),
  };
  const watching = await startIngressWatch(
    {
      publishDirectory: join(folder, "slices"),
      kubeconfig: join(folder, "config"),
      healthAddress: `127.0.0.1:${port}`,
      address: ["203.0.113.7"],
      lease: "gateway/controller",
    },
    log,
  );
  closers.push(() => watching.close());
  const get = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  const problems = async (): Promise<readonly string[]> =>
    (JSON.parse(await get("/readyz")) as { problems: readonly string[] }).problems;
  const logged = (message: string) =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>).find(({ msg }) => msg === message);

  await expect.poll(problems).toContain("right missing: list services");
  expect(logged("permission to read cluster missing, retrying")).toMatchObject({ right: "list services" });
  expect(await get("/metrics")).toMatch(/^gateway_ingress_refused_total\{right="list services"\} [1-9]/m);

  lifts.services();
  await expect.poll(problems).toEqual(["right missing: update ingresses/status"]);
  // They are published all the same.
  expect(logged("ingresses published")).toMatchObject({ served: 1 });
  expect(logged("cannot publish ingresses, retrying")).toBeUndefined();
  expect(logged("cannot write ingress status, retrying")).toMatchObject({
    right: "update ingresses/status",
  });

  lifts.status();
  await expect.poll(problems).toEqual([]);
});

test.each([
  ["GET", "/apis/networking.k8s.io/v1/ingressclasses", {}, "list ingressclasses"],
  ["GET", "/api/v1/namespaces/shop/secrets", { watch: "true" }, "watch secrets"],
  ["PUT", "/apis/networking.k8s.io/v1/namespaces/shop/ingresses/web/status", {}, "update ingresses/status"],
  ["PATCH", "/api/v1/namespaces/shop/events/web.1", {}, "patch events"],
  ["POST", "/apis/coordination.k8s.io/v1/namespaces/gateway/leases", {}, "create leases"],
] as const)("the right for %s %s %j", (method, path, query, right) => {
  expect(rightAsked({ method, path, query })).toBe(right);
});

test.each([
  ["a kubeconfig's tokenFile is read beside it, again for each request", () => ({ tokenFile: "token" })],
  [
    "a pod's token is read again for each request",
    (folder: string) => ({ "auth-provider": { name: "tokenFile", config: { tokenFile: join(folder, "token") } } }),
  ],
])("%s", async (_, userIn) => {
  const api = await startKubeApi();
  closers.push(() => api.close());
  const folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  closers.push(() => rm(folder, { recursive: true }));
  const config = JSON.parse(api.kubeconfig) as { users: object[] };
  const users = [{ name: "test", user: userIn(folder) }];
  await writeFile(join(folder, "config"), JSON.stringify({ ...config, users }));
  await writeFile(join(folder, "token"), "old\n");
  const client = await createKubeClient({ kubeconfigFile: join(folder, "config") });
  closers.push(() => client.close());
  const list = () => client.request({ method: "GET", path: "/api/v1/services" });
  await expect(list()).rejects.toMatchObject({ status: 401 });
  await writeFile(join(folder, "token"), `${api.token}\n`);
  expect(await list()).toMatchObject({ items: [] });
  expect(usualFiles({ KUBECONFIG: "/a:/b" })).toEqual(["/a", "/b"]);
});
