/** Identities from a real API server: kubeconfigs of the controller, and service accounts' tokens presented to a gateway. */
import { mkdtemp, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";

import { createAdminClient } from "../../support/admin-client.ts";
import { makeTestCertificate } from "../../support/certificates.ts";
import { TEST_SHARED_SECRET } from "../../support/config.ts";
import { type EchoUpstream, startEchoUpstream } from "../../support/echo-upstream.ts";
import { ingress, service } from "../../support/kube-manifests.ts";
import { freePort } from "../../support/ports.ts";
import { type RealProcess, startProcess } from "../common/process.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { type RunningController, startController } from "./controller.ts";
import { ACCOUNT, followReadme } from "./readme.ts";

const MAIN = new URL("../../../runtime/main.ts", import.meta.url).pathname;
const PUBLISHING = "gateway-publish";

let cluster: Cluster;
let upstream: EchoUpstream;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  cluster = await startCluster();
  upstream = await startEchoUpstream();
  await followReadme(cluster);
  const account = (name: string): object => ({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace: "shop" },
  });
  await cluster.apply(
    service("web"),
    ingress("web", { host: "web.example.com" }),
    account("agent"),
    account("stranger"),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "operator" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "gateway-ingress-controller" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "operator" }],
    },
  );
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});
afterAll(async () => {
  await upstream?.close();
  await cluster?.close();
});

/** Replaces a file atomically, like its rotation. */
async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

describe("the controller's kubeconfig", () => {
  async function start(user: object): Promise<RunningController> {
    const kubeconfig = await cluster.kubeconfig(user);
    const controller = await startController(cluster, { kubeconfig, args: ["--no-leader-election"] });
    closers.push(() => controller.close());
    return controller;
  }
  const refused = (controller: RunningController): unknown =>
    controller.logged("cannot reach cluster, retrying").map(({ reason }) => reason);

  test("with `tokenFile`: a token that is not good is said, and the next one in the file is used", async () => {
    await writeFile(join(cluster.directory, "token"), "a.b.c");
    const controller = await start({ tokenFile: "token" });
    await expect.poll(() => refused(controller)).toContainEqual(expect.stringContaining("Unauthorized"));
    await replace(join(cluster.directory, "token"), await cluster.token(ACCOUNT));
    await expect.poll(() => controller.hosts()).toEqual(["web.example.com"]);
  });

  test("with a client certificate: another authority's is said, and the next one in the file is used", async () => {
    const folder = await mkdtemp(join(cluster.directory, "client-"));
    const [certFile, keyFile] = [join(folder, "client.crt"), join(folder, "client.key")];
    const write = async ({ cert, key }: { readonly cert: string; readonly key: string }): Promise<void> => {
      await replace(keyFile, key);
      await replace(certFile, cert);
    };
    await write(
      makeTestCertificate({ name: "operator", by: makeTestCertificate({ name: "other", isAuthority: true }) }),
    );
    const controller = await start({ "client-certificate": certFile, "client-key": keyFile });
    await expect.poll(() => refused(controller)).toContainEqual(expect.stringContaining("Unauthorized"));
    await write(makeTestCertificate({ name: "operator", by: cluster.authority }));
    await expect.poll(() => controller.hosts()).toEqual(["web.example.com"]);
  });
});

interface Started {
  readonly origin: string;
  readonly adminOrigin: string;
  readonly process: RealProcess;
}

/** As a pod of the cluster, or (`https://…`) outside of it. */
async function startGateway(issuer: string, jwks?: string): Promise<Started> {
  const pod = await cluster.pod(ACCOUNT, await cluster.token(ACCOUNT));
  const isInPod = issuer.startsWith("kubernetes:");
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const folder = await mkdtemp(join(cluster.directory, "gateway-"));
  const claims = { sub: ["system:serviceaccount:shop:agent"] };
  const from = { issuer, ...(jwks !== undefined && { jwks }) };
  await writeFile(
    join(folder, "gateway.yaml"),
    stringify({
      address: `127.0.0.1:${port}`,
      admin_address: "127.0.0.1:0",
      admin_token: "admin-token-of-the-tests",
      insecure_server: true,
      development: true,
      shared_secret: TEST_SHARED_SECRET,
      storage_url: "memory:",
      owners: { team: { publish_workloads: { job: { ...from, audience: PUBLISHING, claims } } } },
      identity_issuers: {
        cluster: {
          ...from,
          uses: ["workload"],
          replay: "allowed",
          workload_rules: { agent: { claims, resources: [origin], groups: ["agents"] } },
        },
      },
      routes: [
        {
          from: origin,
          to: upstream.origin,
          bearer_token_format: "jwt",
          policy: [{ allow: { and: [{ groups: { has: "agents" } }] } }],
        },
      ],
    }),
  );
  const prefix = isInPod ? pod.prefix : [];
  const env = isInPod ? pod.env : { NODE_EXTRA_CA_CERTS: join(cluster.directory, "ca.crt") };
  const [command, ...args] = [...prefix, process.execPath, MAIN, "run", "--config", folder];
  const running = await startProcess(command, args, /gateway serves on \S+, admin on ([^\s"]+)/, { cwd: folder, env });
  closers.push(() => running.close());
  return { origin, adminOrigin: running.ready[1] ?? "", process: running };
}

/** Allows all callers to read the issuer's metadata; by default only service accounts of the cluster may. */
async function allowDiscovery(): Promise<void> {
  await cluster.apply({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "discovery-for-all" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "system:service-account-issuer-discovery",
    },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:unauthenticated" }],
  });
}

describe.each<[string, () => Promise<Started>]>([
  ["in a pod, with issuer kubernetes:///", () => startGateway("kubernetes:///")],
  [
    "elsewhere, with the cluster's issuer and its discovery",
    () => allowDiscovery().then(() => startGateway(cluster.server)),
  ],
  [
    "elsewhere, with the cluster's keys in its file",
    async () => startGateway(cluster.server, await cluster.kubectl("get", "--raw", "/openid/v1/jwks")),
  ],
])("a gateway %s", (_, startIt) => {
  test("lets in the service account of its rule, by a token for its origin alone", async () => {
    const { origin, process: running } = await startIt();
    const ask = async (token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
      return (await fetch(`${origin}/`, { headers })).status;
    };
    expect(await ask(await cluster.token("shop/agent", { audience: origin })), running.text()).toBe(200);
    expect(await ask(await cluster.token("shop/agent"))).toBe(401);
    expect(await ask(await cluster.token("shop/stranger", { audience: origin }))).toBe(401);
  });

  test("lets it publish for its owner, with a token for that alone", async () => {
    const { adminOrigin, process: running } = await startIt();
    const mint = (token: string) => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ owner: "team", lifetime: "1m" });
      return createAdminClient(adminOrigin, token).ask(
        "POST",
        "/publish-tokens",
        { authorization: `Bearer ${token}`, ...headers },
        body,
      );
    };
    const minted = await mint(await cluster.token("shop/agent", { audience: PUBLISHING }));
    expect([minted.status, running.text()]).toEqual([201, expect.any(String)]);
    const team = createAdminClient(adminOrigin, String(minted.body["token"]));
    const slice = JSON.stringify({ version: 1, owner: "team", routes: {} });
    expect((await team.publish("team", slice)).status).toBe(200);
    expect((await mint(await cluster.token("shop/agent"))).status).toBe(401);
    expect((await mint(await cluster.token("shop/stranger", { audience: PUBLISHING }))).status).toBe(401);
  });
});

test("a gateway in a pod without a reachable API server rejects a workload, and accepts it once the server is back", async () => {
  const { origin } = await startGateway("kubernetes:///");
  const token = await cluster.token("shop/agent", { audience: origin });
  const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
  const ask = async (): Promise<number> => (await fetch(`${origin}/`, { headers })).status;
  await cluster.stop("SIGKILL");
  expect(await ask()).toBe(503);
  await cluster.start();
  await expect.poll(ask, { timeout: 120_000 }).toBe(200);
});

test("the controller continues when the API server has a certificate of another CA in its file", async () => {
  const kubeconfig = await cluster.kubeconfig({ token: await cluster.token(ACCOUNT) });
  const controller = await startController(cluster, { kubeconfig });
  closers.push(() => controller.close());
  await expect.poll(() => controller.hosts()).toEqual(["web.example.com"]);
  await cluster.replaceAuthority();
  const path = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses";
  await cluster.api("POST", path, ingress("renewed", { host: "renewed.example.com" }));
  await expect.poll(() => controller.hosts(), { timeout: 120_000 }).toEqual(["renewed.example.com", "web.example.com"]);
});
