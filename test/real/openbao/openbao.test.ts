/** Secrets at a real OpenBao server. */
import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import * as jose from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { compileVault, type VaultDoc } from "../../../runtime/features/process/vault.ts";
import { TIMEOUT_MS } from "../../../runtime/vault/requests.ts";
import { Vault, type VaultSecret } from "../../../runtime/vault/vault.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { blockWith, readPage } from "../../support/page-blocks.ts";
import { installOpenBao } from "./install.ts";
import { type OpenBao, startOpenBao } from "./openbao.ts";

const APP = "vault:kv/team-a/app#password";
const POLICY = 'path "kv/data/team-a/*" { capabilities = ["read"] }\npath "kv1/data/*" { capabilities = ["read"] }';

let bao: OpenBao;
let clock: TestClock;
let vault: Vault | undefined;
let role: { readonly role_id: string; readonly secret_id: string };

/** A mount of version 2, an AppRole that may read there, and an entry. */
async function prepare(namespace?: string): Promise<typeof role> {
  const root = <T>(method: string, path: string, body?: unknown): Promise<T> =>
    bao.root<T>(method, path, body, namespace);
  await root("POST", "sys/mounts/kv", { type: "kv", options: { version: "2" } });
  await root("POST", "sys/policies/acl/gateway", { policy: POLICY });
  await root("POST", "sys/auth/approle", { type: "approle" });
  await root("POST", "auth/approle/role/gateway", { token_policies: ["gateway"], token_ttl: "1h" });
  await write("one", namespace);
  const { data: id } = await root<{ data: { role_id: string } }>("GET", "auth/approle/role/gateway/role-id");
  const { data: secret } = await root<{ data: { secret_id: string } }>("POST", "auth/approle/role/gateway/secret-id");
  return { ...id, ...secret };
}

const write = (password: string, namespace?: string): Promise<unknown> =>
  bao.root("POST", "kv/data/team-a/app", { data: { password } }, namespace);

/** @param timeoutMs high, so that it does not depend on the load of this host */
function open(more: Partial<VaultDoc> = {}, shown = role, timeoutMs = 60_000): Vault {
  const login = { approle: { role_id: shown.role_id, secret_id: "read by the test" } };
  const settings = compileVault({ address: bao.origin, login, ...more });
  vault = new Vault(settings, { clock, secretId: () => Promise.resolve(shown.secret_id), timeoutMs, readMs: 60_000 });
  return vault;
}

async function read(from: Vault, ref = APP): Promise<VaultSecret | undefined> {
  return (await from.read([ref])).get(ref);
}

/** After `refresh`, or after the longest pause between tries. */
async function later(from: Vault): Promise<VaultSecret | undefined> {
  clock.advance(600_000);
  return read(from);
}

beforeAll(async () => {
  bao = await startOpenBao();
  role = await prepare();
});
beforeEach(() => {
  clock = createTestClock(Date.now());
});
afterEach(async () => {
  await vault?.close();
  vault = undefined;
});
afterAll(() => bao?.close());

test("the commands of the operations page make an entry that an AppRole reads", async () => {
  const page = readPage("runtime/operations/secret-store.md");
  await bao.root("POST", "sys/namespaces/page", {});
  const { auth } = await bao.root<{ auth: { client_token: string } }>("POST", "auth/token/create", {});
  const PATH = `${dirname(await installOpenBao())}:${process.env["PATH"]}`;
  const env = { ...process.env, PATH, BAO_ADDR: bao.origin, BAO_TOKEN: auth.client_token, BAO_NAMESPACE: "page" };
  const run = (block: string) => promisify(execFile)("sh", ["-e", "-c", block], { cwd: bao.directory, env });
  await run(blockWith(page, "sh", "bao secrets enable"));
  const { stdout } = await run(
    blockWith(page, "sh", "bao auth enable approle").replace("role-id\n", "role-id; echo\n"),
  );
  const [secret_id = "", role_id = ""] = stdout.trim().split("\n").toReversed();

  const from = open({ namespace: "page" }, { role_id, secret_id });

  expect(await read(from, "vault:kv/gateway#idp_client_secret")).toEqual({ value: "…" });
  expect(await read(from, "vault:kv/team-b/app#key")).toEqual({
    failure: expect.stringContaining("is forbidden (403)") as string,
  });
});

describe("reading", () => {
  test("a secret is read, and read again when it has a new version", async () => {
    await write("one");
    const from = open();
    expect(await read(from)).toEqual({ value: "one" });
    await write("two");
    await expect.poll(() => later(from)).toEqual({ value: "two" });
    expect(await read(from, `${APP}@1`)).toEqual({ value: "one" });
  });

  test("a mount of version 1 and a missing entry have the same response: the message names both causes", async () => {
    await bao.root("POST", "sys/mounts/kv1", { type: "kv", options: { version: "1" } });
    await bao.root("POST", "kv1/app", { password: "one" });
    const from = open();
    const failure = (mount: string): unknown => ({
      failure: expect.stringMatching(new RegExp(`"${mount}".*\\(404\\).*in a mount of KV version 2`)) as string,
    });
    expect(await read(from, "vault:kv1/app#password")).toEqual(failure("kv1/data/app"));
    expect(await read(from, "vault:kv/team-a/none#password")).toEqual(failure("kv/data/team-a/none"));
  });

  test("deleted, destroyed and forbidden entries are named, and other entries stay readable", async () => {
    await write("one");
    for (const name of ["deleted", "destroyed"])
      await bao.root("POST", `kv/data/team-a/${name}`, { data: { password: "one" } });
    await bao.root("POST", "kv/data/team-b/app", { data: { password: "one" } });
    await bao.root("DELETE", "kv/data/team-a/deleted");
    await bao.root("PUT", "kv/destroy/team-a/destroyed", { versions: [1] });
    const from = open();
    const said = async (path: string): Promise<string> => JSON.stringify(await read(from, `vault:kv/${path}#password`));
    expect(await said("team-a/deleted")).toContain("was deleted (404)");
    expect(await said("team-a/destroyed")).toContain("was destroyed (404)");
    expect(await said("team-b/app")).toContain("is forbidden (403)");
    expect(await read(from)).toEqual({ value: "one" });
    expect(from.status().reachable).toBe(true);
  });

  test("a namespace can end with a slash, as the server lists it", async () => {
    await bao.root("POST", "sys/namespaces/team-a");
    const own = await prepare("team-a");
    await write("of the namespace", "team-a");
    expect(await read(open({ namespace: "team-a/" }, own))).toEqual({ value: "of the namespace" });
  });
});

describe("logins", () => {
  test("a rejected AppRole: the message has the server's reason, and no SecretID", async () => {
    const secret = "11111111-2222-3333-4444-555555555555";
    const text = JSON.stringify(await read(open({}, { ...role, secret_id: secret })));
    expect(text).toContain('the login at \\"auth/approle/login\\" was refused (400)');
    expect(text).toMatch(/it says .*invalid role or secret ID/);
    expect(text).not.toContain(secret);
  });

  test("a rejected JWT: the message says which part does not match; a valid one works", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    await bao.root("POST", "sys/auth/jwt", { type: "jwt" });
    await bao.root("POST", "auth/jwt/config", {
      jwt_validation_pubkeys: [publicKey.export({ type: "spki", format: "pem" })],
    });
    await bao.root("POST", "auth/jwt/role/gateway", {
      role_type: "jwt",
      user_claim: "sub",
      bound_audiences: ["openbao"],
      token_policies: ["gateway"],
    });
    const file = join(bao.directory, "platform.jwt");
    const login = { jwt: { role: "gateway", token_file: file } } as VaultDoc["login"];
    const token = (audience: string): Promise<string> =>
      new jose.SignJWT({})
        .setProtectedHeader({ alg: "ES256" })
        .setSubject("gateway")
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime("1h")
        .sign(privateKey);
    writeFileSync(file, await token("somewhere else"));
    const refused = open({ login });
    expect(JSON.stringify(await read(refused))).toMatch(/refused \(400\).*it says .*audience/);
    await write("one");
    writeFileSync(file, await token("openbao"));
    await expect.poll(() => later(refused)).toEqual({ value: "one" });
  });

  test("a revoked token is replaced", async () => {
    await write("one");
    const from = open();
    expect(await read(from)).toEqual({ value: "one" });
    const { data } = await bao.root<{ data: { keys: string[] } }>("LIST", "auth/token/accessors");
    for (const accessor of data.keys) {
      const { data: of } = await bao.root<{ data: { policies: string[] } }>("POST", "auth/token/lookup-accessor", {
        accessor,
      });
      if (of.policies.includes("gateway")) await bao.root("POST", "auth/token/revoke-accessor", { accessor });
    }
    await write("two");
    await expect.poll(() => later(from)).toEqual({ value: "two" });
  });
});

describe("an outage", () => {
  const OUTAGE = { value: "one", late: expect.any(String) as string };

  test("sealed: the last value stays, with the reason, until the server is unsealed", async () => {
    await write("one");
    const from = open();
    expect(await read(from)).toEqual({ value: "one" });
    await bao.root("PUT", "sys/seal");
    await expect.poll(() => later(from)).toEqual({ ...OUTAGE, late: expect.stringContaining("is sealed") as string });
    expect(from.status().reachable).toBe(false);
    await bao.unseal();
    await expect.poll(() => later(from)).toEqual({ value: "one" });
  });

  test("killed: the last value stays, and the new value is read after the restart", async () => {
    await write("one");
    const from = open();
    expect(await read(from)).toEqual({ value: "one" });
    await bao.stop();
    await expect.poll(() => later(from)).toEqual(OUTAGE);
    await bao.start();
    await write("two");
    await expect.poll(() => later(from)).toEqual({ value: "two" });
  });
});

describe("bao proxy", () => {
  test("a secret is read with the token of its sink, also after a restart of the server", async () => {
    await write("one");
    const { origin, tokenFile } = await bao.startProxy(role.role_id, role.secret_id);
    // While the server is unavailable the proxy tries again, longer than the gateway waits.
    const from = open({ address: origin, login: { token_file: tokenFile } }, role, TIMEOUT_MS);
    expect(await read(from)).toEqual({ value: "one" });
    await bao.stop();
    await expect.poll(() => later(from)).toMatchObject({ value: "one", late: expect.any(String) as string });
    await bao.start();
    await write("two");
    await expect.poll(() => later(from)).toEqual({ value: "two" });
  });
});
