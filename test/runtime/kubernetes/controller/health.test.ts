import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, expect, test } from "vitest";

import { createKubeClient } from "../../../../runtime/kubernetes/controller/client.ts";
import { startHealth } from "../../../../runtime/kubernetes/controller/health.ts";
import { usualFiles } from "../../../../runtime/kubernetes/controller/kubeconfig.ts";
import { startKubeApi } from "../../../support/kube-api.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

test("/readyz says why a controller is not ready, /metrics counts", async () => {
  let problem: string | undefined = "Cannot GET /leases: Forbidden";
  const health = await startHealth({ address: "127.0.0.1:0", isLeader: () => false, leaseProblem: () => problem });
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
  await expect(startHealth({ address: "nowhere", isLeader: () => true, leaseProblem: () => "" })).rejects.toThrow(
    "--health-address",
  );
});

test("a kubeconfig's tokenFile is read beside it, again for each request", async () => {
  const api = await startKubeApi();
  closers.push(() => api.close());
  const folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  closers.push(() => rm(folder, { recursive: true }));
  const config = JSON.parse(api.kubeconfig) as { users: object[] };
  const users = [{ name: "test", user: { tokenFile: "token" } }];
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
