/** Memory of the controller with 1,500 Ingresses, each with a Service: below the limit of the manifests. */
import { readFile } from "node:fs/promises";

import { afterAll, beforeAll, expect, test } from "vitest";

import { rendered } from "../../support/kube-example.ts";
import { podOf } from "../../support/kube-pod.ts";
import { ingress, service } from "../../support/kube-manifests.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { startController } from "./controller.ts";
import { ACCOUNT, followReadme } from "./readme.ts";

const INGRESSES = 1500;
const AT_ONCE = 16;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
  await followReadme(cluster);
  const numbers = Array.from({ length: INGRESSES }, (_, index) => index).values();
  const work = async (): Promise<void> => {
    for (const number of numbers) {
      const name = `web-${number}`;
      await cluster.api("POST", "/api/v1/namespaces/shop/services", service(name));
      const object = ingress(name, { host: `${name}.example.com`, service: name });
      await cluster.api("POST", "/apis/networking.k8s.io/v1/namespaces/shop/ingresses", object);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
});
afterAll(() => cluster?.close());

test(`${INGRESSES} Ingresses are served and have their status, below the limit of the manifests`, async () => {
  const container = podOf(rendered("controller")).containers.find(({ name }) => name === "ingress-controller");
  const limit = /^(\d+)Mi$/.exec(container?.resources.limits["memory"] ?? "")?.[1];
  const env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]));
  const kubeconfig = await cluster.kubeconfig({ token: await cluster.token(ACCOUNT) });
  const controller = await startController(cluster, { kubeconfig, env, args: ["--address", "203.0.113.7"] });
  try {
    await expect.poll(async () => (await controller.hosts()).length, { timeout: 300_000 }).toBe(INGRESSES);
    const served = async (): Promise<number> => {
      const text = await cluster.kubectl("-n", "shop", "get", "ingresses", "--no-headers");
      return text.split("\n").filter((line) => line.includes("203.0.113.7")).length;
    };
    await expect.poll(served, { timeout: 300_000, interval: 5000 }).toBe(INGRESSES);
    const status = await readFile(`/proc/${controller.process.pid}/status`, "utf8");
    const mebibytes = Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024);
    console.log(`${INGRESSES} Ingresses: at most ${mebibytes} MiB in memory, of ${limit}`);
    expect(mebibytes).toBeLessThan(Number(limit));
  } finally {
    await controller.close();
  }
});
