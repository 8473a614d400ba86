/**
 * The controller with a real API server that compacts, restarts, freezes and revokes permissions; and with another
 * controller.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { createKubeClient } from "../../../runtime/kubernetes/controller/client.ts";
import { INGRESS_CLASSES_PATH } from "../../../runtime/kubernetes/controller/kube-client.ts";
import { Reflector } from "../../../runtime/kubernetes/controller/reflector.ts";
import { createLog, silentLog } from "../../../runtime/shared/log.ts";
import { ingress, service } from "../../support/kube-manifests.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { type ControllerCommand, type RunningController, startController } from "./controller.ts";
import { ACCOUNT, followReadme } from "./readme.ts";

const LOST = "cluster connection lost, reconnecting";
const NO_LEASE = "cannot read or write lease, controller cannot lead";
const NO_RIGHT = "permission to read cluster missing, retrying";
const INGRESSES = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses";
const ROLES = "/apis/rbac.authorization.k8s.io/v1";
/** Longer than any pause between two tries. */
const LONG = { timeout: 120_000 };

interface Role {
  readonly rules: readonly { readonly resources: readonly string[] }[];
}

let cluster: Cluster;
let kubeconfig: string;
const running: RunningController[] = [];

beforeAll(async () => {
  cluster = await startCluster();
  await followReadme(cluster);
  await cluster.apply(service("web"), ingress("first", { host: "first.example.com" }));
  kubeconfig = await cluster.kubeconfig({ token: await cluster.token(ACCOUNT) });
});
afterEach(async () => {
  cluster.signal("SIGCONT");
  for (const each of running.splice(0)) await each.close();
});
afterAll(() => cluster?.close());

async function start(command: Partial<ControllerCommand> = {}): Promise<RunningController> {
  const controller = await startController(cluster, { kubeconfig, ...command });
  running.push(controller);
  return controller;
}

const create = (name: string): Promise<unknown> =>
  cluster.api("POST", INGRESSES, ingress(name, { host: `${name}.example.com` }));
const remove = (name: string): Promise<unknown> => cluster.api("DELETE", `${INGRESSES}/${name}`);
const ready = async (controller: RunningController): Promise<unknown> => (await controller.readyz()).problems;

/** Takes a right out of the manifests' ClusterRole. @returns what gives it back */
async function withoutRight(resource: string): Promise<() => Promise<unknown>> {
  const path = `${ROLES}/clusterroles/gateway-ingress-controller`;
  const role = await cluster.api<Role>("GET", path);
  const rules = role.rules.filter(({ resources }) => !resources.includes(resource));
  await cluster.api("PATCH", path, { rules });
  return () => cluster.api("PATCH", path, { rules: role.rules });
}

describe("watches", () => {
  test("a version that etcd and the API server forgot in mid-watch: everything is listed again", async () => {
    const controller = await start();
    await create("doomed");
    await expect.poll(() => controller.hosts()).toEqual(["doomed.example.com", "first.example.com"]);
    // It receives nothing while the cluster continues and compacts.
    controller.process.signal("SIGSTOP");
    await remove("doomed");
    await create("second");
    // At SIGTERM it would wait a minute for the stopped process's connection.
    await cluster.stop("SIGKILL");
    await cluster.start();
    await cluster.compact();
    controller.process.signal("SIGCONT");
    await expect.poll(() => controller.hosts(), LONG).toEqual(["first.example.com", "second.example.com"]);
    await expect.poll(() => ready(controller), LONG).toEqual([]);
    await remove("second");
    await expect.poll(() => controller.hosts()).toEqual(["first.example.com"]);
  });

  test("pages of a list that etcd forgot on the way are listed again, and none is missed", async () => {
    const names = ["page-1", "page-2", "page-3", "page-4"];
    for (const name of names) await create(name);
    const client = await createKubeClient({ kubeconfigFile: kubeconfig });
    let pages = 0;
    const reflector = new Reflector({
      client: {
        ...client,
        async request<T>(asked: Parameters<typeof client.request>[0]) {
          const page = await client.request<T>(asked);
          pages += 1;
          if (pages === 1) {
            await remove("page-4");
            await cluster.compact();
          }
          return page;
        },
      },
      path: INGRESSES,
      pageSize: 2,
      onChange: () => {},
      log: silentLog(),
    });
    try {
      await expect
        .poll(() => [...reflector.items().keys()])
        .toEqual(["first", "page-1", "page-2", "page-3"].map((name) => `shop/${name}`));
    } finally {
      await reflector.close();
      await client.close();
      for (const name of names.slice(0, 3)) await remove(name);
    }
  });

  test("an API server that was restarted is watched again", async () => {
    const controller = await start();
    await expect.poll(() => controller.hosts()).toEqual(["first.example.com"]);
    await cluster.stop();
    await expect.poll(() => ready(controller)).toContain("ingresses cannot be read");
    await cluster.start();
    await create("after-restart");
    await expect.poll(() => controller.hosts(), LONG).toEqual(["after-restart.example.com", "first.example.com"]);
    await expect.poll(() => ready(controller), LONG).toEqual([]);
    await remove("after-restart");
  });

  test("a frozen API server: the dead connection is found, logged, counted and replaced", async () => {
    const controller = await start();
    await expect.poll(() => controller.hosts()).toEqual(["first.example.com"]);
    await expect.poll(() => ready(controller)).toEqual([]);
    cluster.signal("SIGSTOP");
    const frozenMs = performance.now();
    await expect.poll(() => controller.logged(LOST), LONG).toHaveLength(1);
    console.log(`a dead connection was found after ${((performance.now() - frozenMs) / 1000).toFixed(1)} s`);
    expect(await controller.metric("gateway_ingress_connections_lost_total")).toBe(1);
    expect(await controller.readyz()).toMatchObject({ status: 503 });
    cluster.signal("SIGCONT");
    await create("after-freeze");
    await expect.poll(() => controller.hosts(), LONG).toEqual(["after-freeze.example.com", "first.example.com"]);
    await expect.poll(() => ready(controller), LONG).toEqual([]);
    await remove("after-freeze");
  });

  test("a watch on which nothing happens, and so no bookmark comes, is opened again without a warning", async () => {
    const client = await createKubeClient({ kubeconfigFile: kubeconfig, silenceMs: 2000 });
    const lines: string[] = [];
    let opened = 0;
    const reflector = new Reflector({
      client: {
        ...client,
        watch: (asked) => {
          opened += 1;
          return client.watch(asked);
        },
      },
      path: INGRESS_CLASSES_PATH,
      onChange: () => {},
      log: createLog({ destination: { write: (line) => void lines.push(line) } }),
    });
    try {
      await expect.poll(() => opened).toBeGreaterThan(3);
      expect(lines).toEqual([]);
      await cluster.apply({
        apiVersion: "networking.k8s.io/v1",
        kind: "IngressClass",
        metadata: { name: "late" },
        spec: { controller: "example.com/none" },
      });
      await expect.poll(() => [...reflector.items().keys()]).toContain("default/late");
    } finally {
      await reflector.close();
      await client.close();
    }
  });

  test("a frozen API server is also found by what a watch does not hear", async () => {
    const client = await createKubeClient({ kubeconfigFile: kubeconfig, silenceMs: 3000 });
    const list = await client.request<{ metadata: { resourceVersion: string } }>({ method: "GET", path: INGRESSES });
    const { resourceVersion } = list.metadata;
    const query = { watch: "true", resourceVersion, allowWatchBookmarks: "true", timeoutSeconds: "300" };
    const lines = client.watch({ path: INGRESSES, query })[Symbol.asyncIterator]();
    try {
      await create("heard");
      expect((await lines.next()).value).toContain("heard.example.com");
      await remove("heard");
      expect((await lines.next()).value).toContain('"DELETED"');
      cluster.signal("SIGSTOP");
      await expect(lines.next()).rejects.toThrow("no bookmark within 3000 ms");
      cluster.signal("SIGCONT");
      expect(await client.request({ method: "GET", path: INGRESSES })).toMatchObject({ kind: "IngressList" });
    } finally {
      await client.close();
    }
  });
});

describe("a missing right", () => {
  test("to read Services is named in the log, /readyz and a metric; what it gives back is used without a restart", async () => {
    const restore = await withoutRight("services");
    const controller = await start();
    await expect
      .poll(() => controller.logged(NO_RIGHT))
      .toMatchObject([
        { right: "list services", reason: expect.stringContaining('cannot list resource "services"') as string },
      ]);
    await expect.poll(() => ready(controller)).toContain("right missing: list services");
    expect(await controller.metric('gateway_ingress_refused_total{right="list services"}')).toBeGreaterThan(0);
    await restore();
    await expect.poll(() => controller.hosts(), LONG).toEqual(["first.example.com"]);
    await expect.poll(() => ready(controller), LONG).toEqual([]);
  });

  test("to write the status or Events is named, and the Ingresses are served all the same", async () => {
    const restoreStatus = await withoutRight("ingresses/status");
    const restoreEvents = await withoutRight("events");
    const controller = await start({ args: ["--address", "203.0.113.7"] });
    await cluster.apply(ingress("wrong", { host: "wrong.example.com", annotations: { timeuot: "1s" } }));
    await expect.poll(() => controller.hosts()).toEqual(["first.example.com"]);
    await expect.poll(() => ready(controller)).toEqual(["right missing: update ingresses/status"]);
    expect(controller.logged("cannot write ingress status, retrying")[0]).toMatchObject({
      right: "update ingresses/status",
    });
    await expect.poll(() => controller.logged("cannot write event")[0]).toMatchObject({ right: "create events" });
    await restoreEvents();
    await restoreStatus();
    await expect.poll(() => ready(controller), LONG).toEqual([]);
    await expect.poll(() => cluster.kubectl("-n", "shop", "describe", "ingress", "wrong"), LONG).toContain("Rejected");
    await remove("wrong");
  });

  test("to the Lease is said at warn, in /readyz and a metric, and the controller leads once it is there", async () => {
    const path = `${ROLES}/namespaces/gateway/rolebindings`;
    const binding = await cluster.api<{ metadata: object; roleRef: object; subjects: object }>(
      "GET",
      `${path}/gateway-ingress-controller`,
    );
    await cluster.api("DELETE", `${path}/gateway-ingress-controller`);
    const controller = await start();
    await expect
      .poll(() => controller.logged(NO_LEASE))
      .toMatchObject([{ level: 40, right: "get, create and update leases in namespace gateway" }]);
    expect(await ready(controller)).toContainEqual(expect.stringMatching(/^lease: .*cannot get resource "leases"/));
    expect(await controller.metric("gateway_ingress_lease_failures_total")).toBeGreaterThan(0);
    const { roleRef, subjects } = binding;
    await cluster.api("POST", path, { metadata: { name: "gateway-ingress-controller" }, roleRef, subjects });
    await expect.poll(() => ready(controller), LONG).toEqual([]);
    await expect.poll(() => controller.hosts()).toEqual(["first.example.com"]);
  });
});

describe("an election", () => {
  test("one of two controllers leads; when it is killed the other one takes over", async () => {
    const both = [await start(), await start()];
    const leads = async (): Promise<readonly boolean[]> =>
      Promise.all(both.map(async (each) => (await each.readyz()).leader));
    await expect.poll(async () => (await leads()).filter(Boolean)).toEqual([true]);
    const first = (await leads()).indexOf(true);
    const [leader, other] = [both[first], both[1 - first]];
    await expect.poll(() => leader?.hosts()).toEqual(["first.example.com"]);
    expect(await other?.hosts()).toEqual([]);
    await leader?.process.close("SIGKILL");
    const killedMs = performance.now();
    await expect.poll(async () => (await other?.readyz())?.leader, LONG).toBe(true);
    console.log(`the other one led after ${((performance.now() - killedMs) / 1000).toFixed(1)} s`);
    await expect.poll(() => other?.hosts()).toEqual(["first.example.com"]);
  });

  test("a leader that ends gives the Lease back: the next one need not wait for its end", async () => {
    const first = await start();
    await expect.poll(async () => (await first.readyz()).leader, LONG).toBe(true);
    const second = await start();
    await first.close();
    const path = "/apis/coordination.k8s.io/v1/namespaces/gateway/leases/gateway-ingress-controller";
    const { spec } = await cluster.api<{ readonly spec: { readonly leaseTransitions: number } }>("GET", path);
    await expect.poll(async () => (await second.readyz()).leader).toBe(true);
    const after = await cluster.api<{ readonly spec: { readonly leaseTransitions: number } }>("GET", path);
    expect(after.spec.leaseTransitions).toBeLessThanOrEqual(spec.leaseTransitions + 1);
  });
});
