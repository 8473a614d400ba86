/** Configuration whose secrets are at a Vault or OpenBao server: started, refreshed, and gone on with while it is away. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { readBoot } from "../../../runtime/bundle/boot.ts";
import { type Bundle, openBundle } from "../../../runtime/bundle/bundle.ts";
import { createSealing } from "../../../runtime/bundle/secrets.ts";
import { HAND_WRITTEN_OWNER } from "../../../runtime/features/process/owners.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { sealSecret } from "../../../runtime/terraform/resource/seal.ts";
import { checkConfiguration } from "../../../runtime/tools/commands/check.ts";
import type { OnWait, VaultDeps } from "../../../runtime/vault/vault.ts";
import { createConfigFiles, type ConfigFiles } from "../../support/bundle-files.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { TEST_SHARED_SECRET } from "../../support/config.ts";
import { type FakeVault, startFakeVault } from "../../support/fake-vault.ts";

let clock: TestClock;
let files: ConfigFiles;
let server: FakeVault;
const opened: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  clock = createTestClock();
  files = createConfigFiles();
  server = await startFakeVault({ clock });
  server.login("approle", { role_id: "gateway", secret_id: "secret-id-1" });
  server.write("kv/data/gateway", { shared_secret: TEST_SHARED_SECRET, admin_token: "admin-token-of-the-test" });
  server.write("kv/data/a", { key: "a-1" });
  server.write("kv/data/b", { key: "b-1" });
});
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each.close();
  await server.close();
  files.close();
});

const SHARED = 'shared_secret_ref: "vault:kv/gateway#shared_secret"\nadmin_token_ref: "vault:kv/gateway#admin_token"';
const SECRET_ID = 'secret_id_ref: "env:SECRET_ID"';

function boot({ shared = SHARED, secretId = SECRET_ID, more = "", limits = "" } = {}): string {
  return `${shared}
storage_url: "memory:"
insecure_server: true
owners: { a: { allowed_refs: ["vault:kv/a#*"] }, b: { allowed_refs: ["vault:kv/b#*"] } }
vault: { address: "${server.origin}", login: { approle: { role_id: gateway, ${secretId} } }${limits} }
${more}
`;
}

function slice(owner: string, mark = "1", ref = `vault:kv/${owner}#key`): string {
  const route = {
    from: `http://${owner}.example.com`,
    to: ["http://upstream.example.com"],
    policy: [{ allow: { or: [{ authenticated_user: true }] } }],
    set_response_headers: { "X-Mark": mark },
    mcp: { server: { upstream_oauth2: { client_id: "x", client_secret_ref: ref } } },
  };
  return JSON.stringify({ version: 1, owner, routes: { r: route } });
}

async function open(times: Partial<VaultDeps> = {}, onWait?: OnWait): Promise<Bundle> {
  const env = { SECRET_ID: "secret-id-1" };
  // No answer is late for the machine's load.
  const vault = { clock, random: () => 0.5, timeoutMs: 60_000, readMs: 60_000, ...times };
  const start = await readBoot(files.directory, { env, starts: true, vault, ...(onWait && { onWait }) });
  if (start.vault) opened.push(start.vault);
  const more = { quietMs: 5, pollEveryMs: 3_600_000 };
  const bundle = await openBundle({ path: files.directory, log: silentLog(), clock, env, boot: start, ...more });
  opened.push(bundle);
  return bundle;
}

const secrets = (bundle: Bundle): unknown =>
  Object.fromEntries(
    bundle
      .current()
      .routes.map(({ owner, mcp }) => [owner, mcp?.kind === "server" ? mcp.upstreamOAuth?.clientSecret : undefined]),
  );
const soon = { interval: 5 };

/** Time goes on, and the configuration looks, as it does every few seconds. */
async function later(bundle: Bundle): Promise<void> {
  clock.advance(400_000);
  await bundle.reload();
}

function writeAll(): void {
  files.write("gateway.yaml", boot());
  files.replace("a.json", slice("a"));
  files.replace("b.json", slice("b"));
}

/** Case 32 of the research. */
describe("secrets of slices", () => {
  test("are refreshed, and a changed one changes only its route", async () => {
    writeAll();
    const bundle = await open();
    expect(secrets(bundle)).toEqual({ a: "a-1", b: "b-1" });
    const [before] = bundle.current().routes;
    server.write("kv/data/b", { key: "b-2" });
    await later(bundle);
    await expect.poll(() => secrets(bundle), soon).toEqual({ a: "a-1", b: "b-2" });
    expect(bundle.current().routes[0]).toBe(before);
    // The third is the boot file's, which is read once.
    expect(bundle.status()).toMatchObject({
      degraded: [],
      vault: { reachable: true, entries: { current: 3, late: 0 } },
    });
  });

  test("keep their values while the server is unavailable, which is reported; changes of slices still take effect", async () => {
    writeAll();
    const bundle = await open();
    const good = bundle.current();
    server.mode = "sealed";
    await later(bundle);
    await expect.poll(() => bundle.status().degraded.length, soon).toBe(2);
    const problem =
      /a\.json: error: "routes\.r" Cannot refresh secret "vault:kv\/a#key", its last value stays active: the server "127\.0\.0\.1:\d+" is sealed/;
    expect(bundle.status()).toMatchObject({
      degraded: [
        { owner: "a", standing: "kept", late: true, problems: [expect.stringMatching(problem) as string] },
        { owner: "b", late: true },
      ],
      owners: { current: 0, kept: 2, absent: 0 },
      lastError: { partial: true },
      // The third is the boot file's.
      vault: { reachable: false, entries: { current: 0, late: 3, unread: 0 } },
      // Said once.
      reloads: { failed: 1 },
    });
    expect(bundle.current()).toBe(good);
    expect(JSON.stringify(bundle.status())).not.toMatch(/a-1|b-1|secret-id-1|hvs\./);

    files.replace("a.json", slice("a", "2"));
    await expect.poll(() => bundle.current().routes[0]?.responseHeaders.set[0]?.value, soon).toBe("2");
    expect(secrets(bundle)).toEqual({ a: "a-1", b: "b-1" });

    server.mode = "active";
    server.write("kv/data/a", { key: "a-2" });
    await later(bundle);
    await expect.poll(() => bundle.status().degraded, soon).toEqual([]);
    expect(secrets(bundle)).toEqual({ a: "a-2", b: "b-1" });
    expect(bundle.status().lastError).toBeUndefined();
  });

  test("that are too old exclude their owner, but not the main configuration file's own routes", async () => {
    writeAll();
    server.write("kv/data/own", { key: "own-1" });
    const own = `routes: [{ from: http://own.example.com, to: http://upstream.example.com,
      policy: [{ allow: { or: [{ authenticated_user: true }] } }],
      mcp: { server: { upstream_oauth2: { client_id: x, client_secret_ref: "vault:kv/own#key" } } } }]`;
    files.write("gateway.yaml", boot({ more: own, limits: ", keep: 10m" }));
    const bundle = await open();
    const all = { [HAND_WRITTEN_OWNER]: "own-1" };
    expect(secrets(bundle)).toEqual({ ...all, a: "a-1", b: "b-1" });
    server.mode = "sealed";
    await later(bundle);
    await expect.poll(() => bundle.status().degraded.length, soon).toBe(3);
    expect(secrets(bundle)).toEqual({ ...all, a: "a-1", b: "b-1" });
    await later(bundle);
    await expect.poll(() => secrets(bundle), soon).toEqual(all);
    expect(bundle.status().owners).toMatchObject({ absent: 2 });
    expect(bundle.status().degraded[0]?.problems.join()).toContain("its last value is too old to be kept");
    server.mode = "active";
    await later(bundle);
    await expect.poll(() => secrets(bundle), soon).toEqual({ ...all, a: "a-1", b: "b-1" });
    await expect.poll(() => bundle.status().degraded, soon).toEqual([]);
  });

  test.each<[string, () => void, string]>([
    ["was deleted", () => server.remove("kv/data/a", "deleted"), "was deleted (404)"],
    ["lost the field", () => server.write("kv/data/a", { other: "x" }), 'has no field "key"'],
    ["is forbidden", () => server.forbid("kv/data/a"), "is forbidden (403)"],
  ])("that %s keep the last value for the one owner", async (_, change, message) => {
    writeAll();
    const bundle = await open();
    change();
    await later(bundle);
    await expect.poll(() => bundle.status().degraded.map(({ owner }) => owner), soon).toEqual(["a"]);
    expect(bundle.status().degraded[0]?.problems.join()).toContain(message);
    expect(secrets(bundle)).toEqual({ a: "a-1", b: "b-1" });
  });

  test("whose field is gone exclude their owner when they are too old; unreferenced secrets do not matter", async () => {
    writeAll();
    files.write("gateway.yaml", boot({ limits: ", keep: 10m" }));
    const bundle = await open();
    server.write("kv/data/a", { other: "x" });
    await later(bundle);
    await expect.poll(() => bundle.status().degraded[0]?.problems.join(), soon).toContain('has no field "key"');
    expect(secrets(bundle)).toEqual({ a: "a-1", b: "b-1" });
    await later(bundle);
    await expect.poll(() => secrets(bundle), soon).toEqual({ b: "b-1" });
    files.remove("a.json");
    files.remove("b.json");
    for (let looks = 0; looks < 4; looks++) await later(bundle);
    expect(bundle.status().vault?.entries).toEqual({ current: 0, late: 0, unread: 0 });
  });

  test("that do not exist exclude their owner until they do", async () => {
    writeAll();
    files.replace("a.json", slice("a", "1", "vault:kv/a#new"));
    const bundle = await open();
    expect(secrets(bundle)).toEqual({ b: "b-1" });
    expect(bundle.status().degraded).toMatchObject([{ owner: "a", standing: "absent" }]);
    server.write("kv/data/a", { new: "a-new" });
    await later(bundle);
    await expect.poll(() => secrets(bundle), soon).toEqual({ a: "a-new", b: "b-1" });
  });

  test("are read before a slice is stored: unreadable ones are rejected, known ones accepted while the server is unavailable", async () => {
    writeAll();
    const bundle = await open();
    const validate = async (text: string): Promise<readonly string[]> =>
      (await bundle.validate([{ owner: "a", digest: text, text, candidate: true }], ["a"])).problems
        .filter(({ severity }) => severity === "error")
        .map(({ message }) => message);
    files.remove("a.json");
    await bundle.reload();
    expect(await validate(slice("a", "1", "vault:kv/a#none"))).toEqual([
      'cannot be read by the gateway: "kv/data/a" has no field "none"',
    ]);
    expect(await validate(slice("a", "1", "vault:kv/b#key"))).toEqual([
      expect.stringContaining('must be allowed by "owners.a.allowed_refs"') as string,
    ]);
    server.mode = "sealed";
    await later(bundle);
    expect(await validate(slice("a", "3"))).toEqual([]);
    expect(await validate(slice("a", "3", "vault:kv/a#key@1"))).toEqual([
      expect.stringMatching(/^cannot be read by the gateway: the server .* is sealed/) as string,
    ]);
  });
});

describe("secrets of the main configuration file", () => {
  test("are read before the start, which waits for a sealed server", async () => {
    writeAll();
    server.mode = "sealed";
    const waits: string[] = [];
    const starting = open({ againMs: 0 }, (reason) => waits.push(reason));
    await expect.poll(() => server.requests.length, { interval: 1 }).toBeGreaterThan(2);
    server.mode = "active";
    const bundle = await starting;
    expect(waits).toEqual([expect.stringContaining("is sealed") as string]);
    expect(bundle.boot.adminToken).toBe("admin-token-of-the-test");
    expect(bundle.boot.sharedSecrets).toEqual([Buffer.alloc(32)]);
  });

  test("that do not exist end the start immediately, by name", async () => {
    files.write("gateway.yaml", boot({ shared: 'shared_secret_ref: "vault:kv/gateway#none"' }));
    await expect(open()).rejects.toMatchObject({
      code: "config.secret",
      message: 'Cannot read secret "vault:kv/gateway#none": "kv/data/gateway" has no field "none"',
    });
  });

  test("a SecretID can be sealed, with a key that is not on the server", async () => {
    const { publicJwk } = await createSealing(createKeys([Buffer.alloc(32)]));
    const sealed = await sealSecret(JSON.stringify(publicJwk), "secret-id-1");
    files.write(
      "gateway.yaml",
      boot({ shared: `shared_secret: "${TEST_SHARED_SECRET}"`, secretId: `secret_id_sealed: "${sealed}"` }),
    );
    files.write("a.json", slice("a"));
    expect(secrets(await open())).toEqual({ a: "a-1" });
  });
});

describe("gateway check", () => {
  const check = (elsewhere: boolean) =>
    checkConfiguration([files.path("gateway.yaml"), files.path("a.json")], {
      env: { SECRET_ID: "secret-id-1" },
      elsewhere,
    });

  test("reads what is referenced, and names what it cannot read", async () => {
    writeAll();
    expect((await check(false)).text).not.toContain("Cannot read");
    server.forbid("kv/data/a");
    const { text, ok } = await check(false);
    expect(ok).toBe(false);
    expect(text).toContain('a.json: error: "routes.r" Cannot read secret "vault:kv/a#key": "kv/data/a" is forbidden');
    expect(text).not.toMatch(/a-1|secret-id-1/);
  });

  test("tries an unavailable server once, and another host's server never", async () => {
    writeAll();
    server.mode = "sealed";
    const { text } = await check(false);
    expect(text).toMatch(/gateway\.yaml: error: Cannot read secret "vault:kv\/gateway#\w+": the server .* is sealed/);
    expect(text).toContain('"vault:kv/a#key": not read, because');
    expect(server.requests).toEqual(["POST auth/approle/login"]);
    expect((await check(true)).text).not.toContain("sealed");
    expect(server.requests).toHaveLength(1);
  });
});
