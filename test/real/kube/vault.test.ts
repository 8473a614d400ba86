/** Kubernetes login at a real OpenBao, which verifies the token at a real API server. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { compileVault } from "../../../runtime/features/process/vault.ts";
import { Vault, type VaultSecret } from "../../../runtime/vault/vault.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { startGateway } from "../../support/gateway.ts";
import { type OpenBao, startOpenBao } from "../openbao/openbao.ts";
import { type Cluster, startCluster } from "./cluster.ts";

const APP = "vault:kv/gateway#admin_token";
const VALUE = "admin-token-out-of-openbao";
const ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "gateway", namespace: "gateway" } };

let cluster: Cluster;
let bao: OpenBao;
let clock: TestClock;
let vault: Vault | undefined;
let tokenFile: string;

beforeAll(async () => {
  cluster = await startCluster();
  bao = await startOpenBao();
  tokenFile = join(cluster.directory, "projected-token");
  await cluster.apply(
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "gateway" } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "openbao" } },
    ACCOUNT,
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "reviewer", namespace: "openbao" } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "openbao" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:auth-delegator" },
      subjects: [{ kind: "ServiceAccount", name: "reviewer", namespace: "openbao" }],
    },
  );
  await bao.root("POST", "sys/mounts/kv", { type: "kv", options: { version: "2" } });
  await bao.root("POST", "kv/data/gateway", { data: { admin_token: VALUE } });
  await bao.root("POST", "sys/policies/acl/gateway", { policy: 'path "kv/data/*" { capabilities = ["read"] }' });
  await bao.root("POST", "sys/auth/kubernetes", { type: "kubernetes" });
  await bao.root("POST", "auth/kubernetes/config", {
    kubernetes_host: cluster.server,
    kubernetes_ca_cert: cluster.authority.cert,
    token_reviewer_jwt: await cluster.token("openbao/reviewer"),
  });
  await bao.root("POST", "auth/kubernetes/role/gateway", {
    bound_service_account_names: ["gateway"],
    bound_service_account_namespaces: ["gateway"],
    audience: "openbao",
    token_policies: ["gateway"],
    token_ttl: "1h",
  });
});
beforeEach(async () => {
  clock = createTestClock(Date.now());
  await project();
});
afterEach(async () => {
  await vault?.close();
  vault = undefined;
});
afterAll(async () => {
  await bao?.close();
  await cluster?.close();
});

/** Writes a projected token, like the kubelet for a pod's volume. */
async function project(audience = "openbao", account = "gateway/gateway"): Promise<void> {
  writeFileSync(tokenFile, await cluster.token(account, { audience }));
}

function open(role = "gateway"): Vault {
  const settings = compileVault({ address: bao.origin, login: { kubernetes: { role, token_file: tokenFile } } });
  // No timeout depends on the load of this host.
  const limits = { timeoutMs: 60_000, readMs: 60_000 };
  vault = new Vault(settings, { clock, secretId: () => Promise.resolve(undefined), ...limits });
  return vault;
}

async function read(from: Vault): Promise<VaultSecret | undefined> {
  return (await from.read([APP])).get(APP);
}

async function failure(from: Vault): Promise<string> {
  const secret = await read(from);
  return secret && "failure" in secret ? secret.failure : JSON.stringify(secret);
}

/** After the longest pause between tries. */
function later(from: Vault): Promise<VaultSecret | undefined> {
  clock.advance(600_000);
  return read(from);
}

test("a service account's projected token reads a secret", async () => {
  expect(await read(open())).toEqual({ value: VALUE });
});

test("a role that is not there is named, with the server's reason", async () => {
  expect(await failure(open("other"))).toMatch(
    /login at "auth\/kubernetes\/login" was refused \(4\d\d\): the role "other" .*it says .*role/,
  );
});

test("a token for another audience, or of another service account, is refused with the server's reason", async () => {
  await project(cluster.server);
  expect(await failure(open())).toMatch(/the role "gateway" .*it says .*audience/);
  await project("openbao", "openbao/reviewer");
  expect(await failure(open())).toMatch(/the role "gateway" .*it says .*(not authorized|permission denied)/);
});

test("a deleted service account is rejected; once recreated, the file's next token reads again", async () => {
  await cluster.kubectl("-n", "gateway", "delete", "serviceaccount", "gateway");
  const from = open();
  expect(await failure(from)).toMatch(/was refused \(403\): the role "gateway" .*it says/);
  await cluster.apply(ACCOUNT);
  // The token of before is that of another account with the same name.
  expect(JSON.stringify(await later(from))).toMatch(/was refused \(403\)/);
  await project();
  await expect.poll(() => later(from)).toEqual({ value: VALUE });
});

const gatewayOf = (role: string) =>
  startGateway({
    boot: {
      vault: { address: bao.origin, refresh: "10s", login: { kubernetes: { role, token_file: tokenFile } } },
      admin_token: undefined,
      admin_token_ref: APP,
    },
    yaml: `
routes:
  - from: "{origin}"
    to: http://127.0.0.1:1
    set_request_headers_secret: { X-Api-Key: { secret_ref: "${APP}" } }
    policy: [{ allow: { and: [authenticated_user: true] } }]
`,
  });

test("a gateway does not start with a role that is refused, and says why", async () => {
  await expect(gatewayOf("other")).rejects.toThrow(/the role "other" .*it says/);
});

test("a gateway that runs keeps the last value when its role goes, its log has the server's reason, and it recovers", async () => {
  const role = await bao.root<{ data: object }>("GET", "auth/kubernetes/role/gateway");
  const gateway = await gatewayOf("gateway");
  const status = async (): Promise<string> =>
    (await fetch(`${gateway.adminOrigin}/status`, { headers: { authorization: `Bearer ${VALUE}` } })).text();
  try {
    expect(JSON.parse(await status())).toMatchObject({ bundle: { vault: { reachable: true } } });
    await bao.root("DELETE", "auth/kubernetes/role/gateway");
    const { data } = await bao.root<{ data: { keys: readonly string[] } }>("LIST", "auth/token/accessors");
    for (const accessor of data.keys) {
      const about = { accessor };
      const { data: of } = await bao.root<{ data: { policies: string[] } }>(
        "POST",
        "auth/token/lookup-accessor",
        about,
      );
      if (of.policies.includes("gateway")) await bao.root("POST", "auth/token/revoke-accessor", about);
    }
    await expect.poll(() => gateway.log()).toMatch(/the role \\"gateway\\" .*it says/);
    await bao.root("POST", "auth/kubernetes/role/gateway", role.data);
    await expect
      .poll(async () => JSON.parse(await status()) as unknown)
      .toMatchObject({ bundle: { vault: { reachable: true } } });
  } finally {
    await gateway.close();
  }
});
