/** Secrets of a Vault or OpenBao server, against a strict fake of one. */
import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { compileVault, type VaultLogin, type VaultSettings } from "../../../runtime/features/process/vault.ts";
import { Vault, type VaultDeps } from "../../../runtime/vault/vault.ts";
import { createConfigFiles, type ConfigFiles } from "../../support/bundle-files.ts";
import { makeTestCertificate } from "../../support/certificates.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { type FakeVault, type FakeVaultOptions, startFakeVault } from "../../support/fake-vault.ts";

const APPROLE: VaultLogin = { kind: "approle", mount: "approle", roleId: "role-1" };
const APP = "vault:kv/team-a/app#password";
/** No answer is late for the machine's load. */
const PATIENT = { timeoutMs: 60_000, readMs: 60_000 };

let clock: TestClock;
let files: ConfigFiles;
const opened: { close(): Promise<void> }[] = [];
beforeEach(() => {
  clock = createTestClock();
  files = createConfigFiles();
});
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  files.close();
});

async function startServer(options: Partial<FakeVaultOptions> = {}): Promise<FakeVault> {
  const server = await startFakeVault({ clock, ...options });
  opened.push(server);
  server.login("approle", { role_id: "role-1", secret_id: "secret-1" });
  server.write("kv/data/team-a/app", { password: "one", port: 5432, empty: "", pem: "key\n" });
  return server;
}

function open(
  server: Pick<FakeVault, "origin">,
  more: Partial<VaultSettings> = {},
  deps: Partial<VaultDeps> = {},
): Vault {
  const settings = { origin: server.origin, caFile: undefined, namespace: undefined, login: APPROLE, mounts: [] };
  const own = { clock, secretId: () => Promise.resolve("secret-1"), random: () => 0.5, ...PATIENT, ...deps };
  const vault = new Vault({ ...settings, refreshMs: 300_000, keepMs: Infinity, ...more }, own);
  opened.push(vault);
  return vault;
}

async function read(vault: Vault, ref = APP, again = false): Promise<unknown> {
  return (await vault.read([ref], again)).get(ref);
}

/** Resolves when what was told is not so any more, after the clock went on and somebody asked. */
async function news(vault: Vault, advanceMs: number, ref = APP): Promise<unknown> {
  const told = new Promise<void>((resolve) => {
    const stop = vault.onChange(() => {
      stop();
      resolve();
    });
  });
  clock.advance(advanceMs);
  await read(vault, ref);
  await told;
  return read(vault, ref);
}

test("a namespace may end with a slash, as in the server's list", () => {
  const vault = { address: "https://vault.example", namespace: "team/a/", login: { token_file: "/run/token" } };
  expect(compileVault(vault as never).namespace).toBe("team/a");
});

describe("reading", () => {
  test("logs in once and sends one request for all fields of an entry", async () => {
    const server = await startServer();
    const vault = open(server);
    const refs = [APP, "vault:kv/team-a/app#pem", "vault:kv/team-a/app#password@1"];
    expect([...(await vault.read(refs)).values()]).toEqual([{ value: "one" }, { value: "key" }, { value: "one" }]);
    expect(server.requests.toSorted()).toEqual([
      "GET kv/data/team-a/app",
      "GET kv/data/team-a/app?version=1",
      "POST auth/approle/login",
    ]);
    await vault.read(refs);
    expect(server.requests).toHaveLength(3);
    expect(vault.status()).toEqual({ reachable: true, entries: { current: 2, late: 0, unread: 0 } });
  });

  test("mounts of several segments must be listed", async () => {
    const server = await startServer({ mounts: ["team/kv", "team"] });
    server.write("team/kv/data/app", { k: "listed" });
    server.write("team/data/other/app", { k: "first segment" });
    const vault = open(server, { mounts: [["team", "kv"]] });
    expect(await read(vault, "vault:team/kv/app#k")).toEqual({ value: "listed" });
    expect(await read(vault, "vault:team/other/app#k")).toEqual({ value: "first segment" });
  });

  test.each<[string, string, string]>([
    ["a field that is not there", "vault:kv/team-a/app#none", '"kv/data/team-a/app" has no field "none"'],
    ["a name of every object", "vault:kv/team-a/app#constructor", 'has no field "constructor"'],
    ["a number", "vault:kv/team-a/app#port", 'the field "port" of "kv/data/team-a/app" is not text, must be text'],
    ["an entry that is not there", "vault:kv/none/app#k", '"kv/data/none/app" is missing (404)'],
    ["a mount that is not there", "vault:nokv/app#k", '"nokv/data/app" is missing (404)'],
    ["a deleted version", "vault:kv/deleted#k", "was deleted (404)"],
    ["a destroyed version", "vault:kv/destroyed#k", "was destroyed (404)"],
    [
      "a version that never was",
      "vault:kv/team-a/app#password@9",
      'version 9 of "kv/data/team-a/app" is missing (404)',
    ],
    ["an engine of version 1", "vault:kv1/app#password", "must be there, in a mount of KV version 2"],
    ["an entry of version 1", "vault:kv1/odd#password", "is not an entry of KV version 2"],
    [
      "what the policy forbids",
      "vault:kv/forbidden#k",
      '"kv/data/forbidden" is forbidden (403): the token is not valid, or none of its policies gives "read" there',
    ],
    ["a value above 64 KiB", "vault:kv/large#k", "has more than 65536 bytes"],
  ])("refuses %s, and shows no value", async (_, ref, message) => {
    const server = await startServer();
    for (const how of ["deleted", "destroyed"] as const) {
      server.write(`kv/data/${how}`, { k: "hunter2" });
      server.remove(`kv/data/${how}`, how);
    }
    server.write("kv/data/forbidden", { k: "hunter2" });
    server.forbid("kv/data/forbidden");
    server.write("kv/data/large", { k: "hunter2".repeat(10_000) });
    const vault = open(server);
    const found = await read(vault, ref);
    expect(found).toEqual({ failure: expect.stringContaining(message) as string });
    expect(JSON.stringify(found)).not.toMatch(/hunter2|of version 1|5432|secret-1|hvs\./);
    expect(vault.status().reachable).toBe(true);
  });

  test.each<[FakeVault["mode"], string]>([
    ["sealed", "is sealed, or cannot serve now (503), must be unsealed"],
    ["limited", "has exceeded its request quota (429)"],
    ["broken", "cannot serve now (502)"],
    ["huge", "answered with more than 2097152 bytes"],
  ])("a server that is %s fails all alike, after one request", async (mode, message) => {
    const server = await startServer();
    server.mode = mode;
    const vault = open(server);
    const host = new URL(server.origin).host;
    const failure = `the server "${host}" ${message}`;
    expect(await read(vault)).toEqual({ failure });
    expect(await read(vault, "vault:kv/other#k")).toEqual({ failure });
    expect(server.requests).toEqual(["POST auth/approle/login"]);
    expect(vault.status()).toEqual({ reachable: false, problem: failure, entries: { current: 0, late: 0, unread: 2 } });
  });

  test("a server that does not answer fails all alike once its time is over", async () => {
    const server = await startServer();
    server.mode = "hanging";
    const vault = open(server, {}, { timeoutMs: 50 });
    const failure = expect.stringMatching(/^the server .* did not answer within 0\.05 s$/) as string;
    expect(await read(vault)).toEqual({ failure });
    expect(await read(vault, "vault:kv/other#k")).toEqual({ failure });
    // None, where the connection took as long.
    expect(server.requests.length).toBeLessThan(2);
    expect(vault.status()).toMatchObject({ reachable: false, problem: failure, entries: { unread: 2 } });
  });

  test.each<[string, string, unknown]>([
    ["no JSON", "<html>hunter2</html>", "answered 200 with something other than a JSON object"],
    ["a list", '["hunter2"]', "answered 200 with something other than a JSON object"],
    ["nothing", "", "is not an entry of KV version 2"],
    ["data that is no object", '{"data":{"metadata":{},"data":"hunter2"}}', "is not an entry of KV version 2"],
    [
      "other fields without end",
      `{"data":{"metadata":{},"data":{"big":1e999,"deep":${"[".repeat(99_999)}${"]".repeat(99_999)}}}}`,
      "has no field",
    ],
    [
      "a field that is deep",
      `{"data":{"metadata":{},"data":{"password":${"[".repeat(99_999)}${"]".repeat(99_999)}}}}`,
      "is not text",
    ],
  ])("a response that is %s is rejected with the expectation", async (_, body, message) => {
    const server = await startServer();
    const vault = open(server);
    await read(vault, "vault:kv/other#k");
    server.mode = { body };
    const found = await read(vault);
    expect(found).toEqual({ failure: expect.stringContaining(message as string) as string });
    expect(JSON.stringify(found)).not.toContain("hunter2");
  });

  test("a response with a content coding is rejected, and ends nothing", async () => {
    const server = await startServer();
    const vault = open(server);
    await read(vault, "vault:kv/other#k");
    const uncaught: unknown[] = [];
    const note = (error: unknown): void => void uncaught.push(error);
    process.on("uncaughtException", note);
    // Also of an attempt that fails and is repeated.
    onTestFinished(() => void process.off("uncaughtException", note));
    server.mode = { body: "x", headers: { "content-encoding": "gzip" } };
    expect(await read(vault)).toEqual({ failure: expect.stringContaining("content coding") as string });
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(uncaught).toEqual([]);
  });

  test.each([500, 502, 429, 412])("a failure of one path with %i is not an outage of the server", async (status) => {
    const server = await startServer();
    server.break("kv/data/broken", status);
    const vault = open(server);
    expect(await read(vault, "vault:kv/broken#k")).toEqual({ failure: expect.stringContaining(`${status}`) as string });
    expect(vault.status().reachable).toBe(true);
    expect(await read(vault)).toEqual({ value: "one" });
  });

  test("a server that is not there is named", async () => {
    const server = await startServer();
    await server.close();
    expect(await read(open(server))).toEqual({
      failure: expect.stringMatching(/^the server "127.0.0.1:\d+" cannot be reached/) as string,
    });
  });

  test("a namespace is sent, also at the login", async () => {
    const server = await startServer({ namespace: "team/a" });
    expect(await read(open(server, { namespace: "team/a" }))).toEqual({ value: "one" });
    expect(await read(open(server))).toEqual({ failure: expect.stringContaining("was refused (404)") as string });
  });

  test("over TLS, under an authority of its own and no other", async () => {
    const authority = makeTestCertificate({ name: "vault authority", isAuthority: true });
    const server = await startServer({
      tls: makeTestCertificate({ name: "vault", dns: ["localhost"], by: authority }),
    });
    files.write("ca.pem", authority.cert);
    expect(await read(open(server, { caFile: files.path("ca.pem") }))).toEqual({ value: "one" });
    const unknown = /cannot be reached \(\w+\); name the PEM file of its CA in "vault\.ca_file"$/;
    expect(await read(open(server))).toEqual({ failure: expect.stringMatching(unknown) as string });
    files.write("later.pem", makeTestCertificate({ name: "another", isAuthority: true }).cert);
    const renewed = open(server, { caFile: files.path("later.pem") });
    expect(await read(renewed)).toMatchObject({ failure: expect.any(String) as string });
    files.write("later.pem", authority.cert);
    clock.advance(60_000);
    expect(await read(renewed, APP, true)).toEqual({ value: "one" });
    const unread = open(server, { caFile: files.path("none.pem") });
    expect(await read(unread)).toEqual({
      failure: expect.stringContaining('"vault.ca_file" cannot be read') as string,
    });
  });
});

describe("redirects of a standby", () => {
  test("are followed to the same path, with the token", async () => {
    const active = await startServer();
    const standby = await startServer();
    standby.mode = { redirectTo: (path) => active.origin + path };
    expect(await read(open(standby))).toEqual({ value: "one" });
    expect(active.requests).toEqual(["POST auth/approle/login", "GET kv/data/team-a/app"]);
  });

  test.each<[string, (origin: string) => (path: string) => string]>([
    ["another path", (origin) => () => `${origin}/v1/kv/data/other`],
    ["another query", (origin) => (path) => `${origin}${path}?x=1`],
    ["another scheme", (origin) => (path) => origin.replace("http:", "https:") + path],
    ["another machine over http", () => (path) => `http://vault.example.com${path}`],
    ["an address with a user", (origin) => (path) => origin.replace("//", "//a:b@") + path],
    ["what is no address", () => () => "http://["],
    ["itself, without end", (origin) => (path) => origin + path],
  ])("are not followed to %s", async (_, redirect) => {
    const other = await startServer();
    const server = await startServer();
    server.mode = { redirectTo: redirect(_.startsWith("itself") ? server.origin : other.origin) };
    expect(await read(open(server))).toEqual({
      failure: expect.stringContaining("redirects (307) where it must not") as string,
    });
    expect(other.requests).toEqual([]);
    expect(server.requests.length).toBeLessThanOrEqual(3);
  });
});

describe("logging in", () => {
  test("by JWT, with the content of the file at each login", async () => {
    const server = await startServer();
    files.write("jwt", "aaa.bbb.ccc\n");
    server.login("kubernetes", { role: "gateway", jwt: "aaa.bbb.ccc" });
    const login = { kind: "jwt", mount: "kubernetes", role: "gateway", tokenFile: files.path("jwt") } as const;
    const vault = open(server, { login });
    expect(await read(vault)).toEqual({ value: "one" });
    server.login("kubernetes", { role: "gateway", jwt: "ddd.eee.fff" });
    files.write("jwt", "ddd.eee.fff");
    server.revokeTokens();
    server.write("kv/data/team-a/app", { password: "two" });
    expect(await news(vault, 400_000)).toEqual({ value: "two" });
  });

  test("with a token file that something else keeps, read at each request", async () => {
    const server = await startServer();
    files.write("token", "hvs.one\n");
    server.addToken("hvs.one");
    const vault = open(server, { login: { kind: "token-file", tokenFile: files.path("token") } });
    expect(await read(vault)).toEqual({ value: "one" });
    server.revokeTokens();
    server.addToken("hvs.two");
    writeFileSync(files.path("token"), "hvs.two");
    server.write("kv/data/team-a/app", { password: "two" });
    expect(await news(vault, 400_000)).toEqual({ value: "two" });
    writeFileSync(files.path("token"), "not a token\r\nX-Other: 1");
    expect(await news(vault, 400_000)).toEqual({
      value: "two",
      late: expect.stringContaining("has no token") as string,
    });
  });

  test.each<[string, Partial<VaultSettings>, Partial<VaultDeps>, string]>([
    [
      "a wrong SecretID",
      {},
      { secretId: () => Promise.resolve("hunter2") },
      'was refused (400): the AppRole is missing or does not accept the RoleID and SecretID; it says "error validating token: invalid role or secret [redacted]"',
    ],
    ["a mount that is not there", { login: { ...APPROLE, mount: "none" } }, {}, "was refused (403)"],
    [
      "a file that is not there",
      { login: { kind: "jwt", mount: "jwt", role: "r", tokenFile: "/none/jwt" } },
      {},
      "what it logs in with cannot be read",
    ],
    [
      "a SecretID that cannot be read",
      {},
      { secretId: () => Promise.reject(new Error("the file does not exist")) },
      "the file does not exist",
    ],
  ])("rejected for %s reports it, without a secret", async (_, settings, deps, message) => {
    const found = await read(open(await startServer(), settings, deps));
    expect(found).toEqual({ failure: expect.stringContaining(message) as string });
    expect(JSON.stringify(found)).not.toMatch(/hunter2|secret-1/);
  });

  test("a token is renewed after two thirds of its life, and replaced when that no longer extends it", async () => {
    const server = await startServer({ tokenSeconds: 600, maxSeconds: 1000 });
    const vault = open(server);
    await read(vault);
    const step = async (): Promise<string[]> => {
      server.requests.length = 0;
      server.write("kv/data/team-a/app", { password: String(clock.now()) });
      await news(vault, 420_000);
      return server.requests.filter((each) => each.startsWith("POST"));
    };
    expect(await step()).toEqual(["POST auth/token/renew-self"]);
    expect(await step()).toEqual(["POST auth/token/renew-self", "POST auth/approle/login"]);
  });

  test("a forbidden path never causes a login, and does not invalidate a valid token", async () => {
    const server = await startServer();
    server.forbid("kv/data/forbidden");
    let logins = 0;
    const secretId = (): Promise<string> => Promise.resolve(++logins === 1 ? "secret-1" : "used up");
    const vault = open(server, {}, { secretId });
    await read(vault);
    for (let tries = 0; tries < 5; tries++) {
      clock.advance(61_000);
      expect(await read(vault, "vault:kv/forbidden#k", true)).toMatchObject({
        failure: expect.stringContaining("(403)") as string,
      });
    }
    expect(logins).toBe(1);
    expect(vault.status().reachable).toBe(true);
    expect(await read(vault, "vault:kv/team-a/app#pem")).toEqual({ value: "key" });
  });

  test("a revoked token costs one login, and a forbidden path none", async () => {
    const server = await startServer();
    server.forbid("kv/data/forbidden");
    const vault = open(server);
    await read(vault);
    server.requests.length = 0;
    expect(await read(vault, "vault:kv/forbidden#k")).toMatchObject({
      failure: expect.stringContaining("(403)") as string,
    });
    expect(server.requests).toEqual(["GET kv/data/forbidden"]);
    server.revokeTokens();
    server.write("kv/data/team-a/app", { password: "two" });
    server.requests.length = 0;
    expect(await news(vault, 400_000)).toEqual({ value: "two" });
    expect(server.requests.filter((each) => each.startsWith("POST"))).toEqual(["POST auth/approle/login"]);
  });
});

describe("refreshing", () => {
  test("a due value is read in the background, and reported", async () => {
    const server = await startServer();
    const vault = open(server);
    await read(vault);
    server.write("kv/data/team-a/app", { password: "two" });
    clock.advance(299_000);
    expect(await read(vault)).toEqual({ value: "one" });
    expect(server.requests).toHaveLength(2);
    expect(await news(vault, 2_000)).toEqual({ value: "two" });
  });

  test("the last value stays while the server is unavailable, is marked as late, and retries have growing pauses", async () => {
    const server = await startServer();
    const vault = open(server);
    await read(vault);
    server.mode = "sealed";
    const late = { value: "one", late: expect.stringContaining("is sealed") as string };
    expect(await news(vault, 400_000)).toEqual(late);
    expect(vault.status()).toMatchObject({ reachable: false, entries: { current: 0, late: 1, unread: 0 } });
    const tries = server.requests.length;
    clock.advance(500);
    expect(await read(vault)).toEqual(late);
    expect(server.requests).toHaveLength(tries);
    server.mode = "active";
    expect(await news(vault, 60_000)).toEqual({ value: "one" });
    expect(vault.status()).toMatchObject({ reachable: true, entries: { current: 1, late: 0, unread: 0 } });
  });

  test("an outage makes all values late at the same time, and causes one notification, as does its end", async () => {
    const server = await startServer();
    for (const name of ["b", "c"]) server.write(`kv/data/${name}`, { k: "one" });
    const vault = open(server);
    let told = 0;
    vault.onChange(() => (told += 1));
    const [first, fresh] = [[APP, "vault:kv/b#k"], "vault:kv/c#k"];
    const look = (): Promise<unknown> => vault.read([...first, fresh]);
    await vault.read(first);
    clock.advance(200_000);
    await look();
    server.mode = "sealed";
    clock.advance(110_000);
    await look();
    await expect.poll(() => told).toBe(1);
    expect([...(await vault.read([...first, fresh])).values()]).toEqual(
      Array.from({ length: 3 }, () => ({ value: "one", late: expect.stringContaining("is sealed") as string })),
    );
    expect(vault.status().entries).toEqual({ current: 0, late: 3, unread: 0 });
    server.mode = "active";
    clock.advance(60_000);
    await look();
    await expect.poll(() => told).toBe(2);
    expect(vault.status().entries).toEqual({ current: 3, late: 0, unread: 0 });
  });

  test("an entry that hangs is late alone where the server answers others", async () => {
    const server = await startServer();
    server.write("kv/data/b", { k: "one" });
    const vault = open(server, {}, { slowMs: 1 });
    await vault.read([APP, "vault:kv/b#k"]);
    server.hang("kv/data/b");
    clock.advance(400_000);
    await vault.read(["vault:kv/b#k"]);
    await expect.poll(() => server.requests.at(-1)).toBe("GET auth/token/lookup-self");
    const told = new Promise<void>((resolve) => vault.onChange(resolve));
    server.hangUp();
    await told;
    expect(vault.status()).toMatchObject({ reachable: true, entries: { current: 1, late: 1, unread: 0 } });
    expect(await read(vault)).toEqual({ value: "one" });
    const late = expect.stringContaining("cannot be reached (") as string;
    expect(await read(vault, "vault:kv/b#k")).toEqual({ value: "one", late });
  });

  test("a value that is too old is not returned, until it is read again", async () => {
    const server = await startServer();
    const vault = open(server, { keepMs: 600_000 });
    await read(vault);
    clock.advance(599_000);
    server.remove("kv/data/team-a/app", "deleted");
    expect(await news(vault, 0)).toMatchObject({ value: "one", late: expect.any(String) as string });
    clock.advance(2_000);
    const failure = expect.stringMatching(/^its last value is too old to be kept: .* was deleted \(404\)/) as string;
    expect(await read(vault)).toEqual({ failure, isOver: true });
    server.write("kv/data/team-a/app", { password: "two" });
    expect(await news(vault, 60_000)).toEqual({ value: "two" });
  });

  test("nor one whose entry no longer has the field", async () => {
    const server = await startServer();
    const vault = open(server, { keepMs: 600_000 });
    await read(vault);
    server.write("kv/data/team-a/app", { other: "x" });
    const gone = '"kv/data/team-a/app" has no field "password"';
    expect(await news(vault, 400_000)).toEqual({ failure: gone });
    clock.advance(201_000);
    await read(vault, "vault:kv/team-a/app#never");
    const over = { failure: `its last value is too old to be kept: ${gone}`, isOver: true };
    expect(await read(vault)).toEqual(over);
    expect(await read(vault, "vault:kv/team-a/app#never")).not.toHaveProperty("isOver");
  });

  test("a value that was never read is requested again immediately when a caller waits for it", async () => {
    const server = await startServer();
    const vault = open(server);
    expect(await read(vault, "vault:kv/new#k")).toMatchObject({ failure: expect.any(String) as string });
    server.write("kv/data/new", { k: "now" });
    expect(await read(vault, "vault:kv/new#k", true)).toMatchObject({ failure: expect.any(String) as string });
    clock.advance(1_000);
    expect(await read(vault, "vault:kv/new#k", true)).toEqual({ value: "now" });
  });

  test("values without requests are dropped", async () => {
    const vault = open(await startServer());
    await read(vault);
    clock.advance(16 * 60_000);
    await vault.read([]);
    expect(vault.status().entries).toEqual({ current: 0, late: 0, unread: 0 });
  });

  test("a value that was never read is dropped sooner: rejected slices request ever more", async () => {
    const vault = open(await startServer());
    await vault.read([APP, "vault:kv/none#k"]);
    clock.advance(61_000);
    await read(vault);
    expect(vault.status().entries).toEqual({ current: 1, late: 0, unread: 0 });
  });

  test("only referenced fields of an entry are stored, and another field is requested on demand", async () => {
    const server = await startServer();
    const vault = open(server);
    await read(vault);
    server.write("kv/data/team-a/app", { password: "one", pem: "later", port: 5432 });
    expect(await read(vault, "vault:kv/team-a/app#pem")).toEqual({ value: "later" });
    server.requests.length = 0;
    expect(await read(vault)).toEqual({ value: "one" });
    expect(await read(vault, "vault:kv/team-a/app#pem")).toEqual({ value: "later" });
    expect(server.requests).toEqual([]);
    server.mode = "sealed";
    const failure = expect.stringContaining("is sealed") as string;
    expect(await read(vault, "vault:kv/team-a/app#port")).toEqual({ failure });
    expect(await read(vault)).toEqual({ value: "one", late: failure });
    server.mode = "active";
    clock.advance(60_000);
    expect(await news(vault, 0, "vault:kv/team-a/app#port")).toEqual({
      failure: expect.stringContaining("is not text") as string,
    });
  });

  test("a read is bounded: later values are reported afterwards", async () => {
    const server = await startServer();
    server.mode = "hanging";
    const vault = open(server, {}, { readMs: 1 });
    const told = new Promise<void>((resolve) => vault.onChange(resolve));
    expect(await read(vault)).toEqual({ failure: "is not answered yet" });
    await expect.poll(() => server.requests.length).toBe(1);
    server.hangUp();
    await told;
    expect(await read(vault)).toEqual({ failure: expect.stringContaining("cannot be reached (") as string });
  });

  test("a process that starts waits until the server is unsealed", async () => {
    const server = await startServer();
    server.mode = "sealed";
    const vault = open(server, {}, { againMs: 0 });
    const started = vault.readAtStart([APP]);
    await expect.poll(() => server.requests.length, { interval: 1 }).toBeGreaterThan(2);
    server.mode = "active";
    await started;
    expect(await read(vault)).toEqual({ value: "one" });
  });

  test("a thousand references to an unavailable server cost a few requests", async () => {
    const server = await startServer();
    server.mode = "sealed";
    const vault = open(server);
    const refs = Array.from({ length: 1_000 }, (_, index) => `vault:kv/app-${index}#k`);
    const found = await vault.read(refs);
    expect([...found.values()].filter((each) => "failure" in each)).toHaveLength(1_000);
    expect(server.requests.length).toBeLessThanOrEqual(8);
  });
});
