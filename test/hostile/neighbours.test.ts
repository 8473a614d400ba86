/** Owners with invalid, conflicting or incomplete slices, on gateways shared with others. */
import { mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { startGateway, type Gateway } from "../../runtime/gateway.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { createAdminClient, type AdminClient } from "../support/admin-client.ts";
import { TEST_SHARED_SECRET } from "../support/config.ts";
import { findPostgres, startPostgres } from "../support/postgres.ts";
import { ADMIN_TOKEN, runGateway } from "../support/run-gateway.ts";
import { LONG_MS } from "../support/limits.ts";

let directory: string;
const running = new Set<Gateway>();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "gateform-neighbours-"));
  boot();
});
afterEach(async () => {
  for (const gateway of running) await stop(gateway);
  rmSync(directory, { recursive: true, force: true });
});

function write(name: string, text: string): void {
  writeFileSync(join(directory, `.${name}`), text);
  renameSync(join(directory, `.${name}`), join(directory, name));
}

function boot(more: object = {}): void {
  const settings = {
    address: "127.0.0.1:0",
    admin_address: "127.0.0.1:0",
    admin_token: ADMIN_TOKEN,
    insecure_server: true,
    shared_secret: TEST_SHARED_SECRET,
    storage_url: `sqlite:${join(directory, "gateway.db")}`,
    authorize_log: "/dev/null",
    drain_timeout: "0s",
    ...more,
  };
  write("gateway.json", JSON.stringify(settings));
}

const POLICY = [{ allow: { or: [{ accept: true }] } }];
const BROKEN = '{ "version": 1, "owner":';

/** A slice whose hosts respond with a text. */
function slice(owner: string, answers: Readonly<Record<string, string>>, settings: object = {}): string {
  const routes = Object.entries(answers).map(([host, body]) => [
    host,
    { from: `http://${host}.example.com`, response: { status: 200, body }, policy: POLICY },
  ]);
  return JSON.stringify({ version: 1, owner, settings, routes: Object.fromEntries(routes) as object });
}

/** The same with a route that reads a secret. */
function withSecret(owner: string, answers: Readonly<Record<string, string>>, secret: object): string {
  const document = JSON.parse(slice(owner, answers)) as { routes: Record<string, object> };
  document.routes["tools"] = {
    from: `http://tools-${owner}.example.com`,
    to: "http://127.0.0.1:1",
    policy: POLICY,
    mcp: {
      server: {
        upstream_oauth2: {
          client_id: "id",
          ...secret,
          endpoint: { auth_url: "https://as.example/a", token_url: "https://as.example/t" },
        },
      },
    },
  };
  return JSON.stringify(document);
}

async function start(): Promise<Gateway> {
  const gateway = await startGateway({ config: directory, log: silentLog() });
  running.add(gateway);
  return gateway;
}

async function stop(gateway: Gateway): Promise<void> {
  running.delete(gateway);
  await gateway.close();
}

async function restart(gateway: Gateway): Promise<Gateway> {
  await stop(gateway);
  return start();
}

/** Responses of hosts; the status if it is not 200. */
async function answers(port: number, ...hosts: readonly string[]): Promise<readonly string[]> {
  return Promise.all(
    hosts.map(
      (host) =>
        new Promise<string>((resolve, reject) => {
          const options = { host: "127.0.0.1", port, agent: false, headers: { host: `${host}.example.com` } };
          request(options, (response) => {
            let text = "";
            response.on("data", (chunk: Buffer) => (text += chunk.toString()));
            response.on("end", () => resolve(response.statusCode === 200 ? text : String(response.statusCode)));
          })
            .on("error", reject)
            .end();
        }),
    ),
  );
}

const admin = ({ adminOrigin }: { readonly adminOrigin: string }): AdminClient =>
  createAdminClient(adminOrigin, ADMIN_TOKEN);
const standings = (gateway: Gateway): object =>
  Object.fromEntries(gateway.status().degraded.map(({ owner, standing }) => [owner, standing]));

describe("an owner with an invalid slice", () => {
  test.each([
    ["no JSON", BROKEN],
    ["refused by a rule", slice("a", { a: "a2" }).replace("http://a.", "ftp://a.")],
    ["a file that is no text", "\xff\xfe"],
  ])("(%s) keeps their previous version and blocks no other owner's change, across a restart", async (_, bad) => {
    write("a.json", slice("a", { a: "a1" }));
    write("b.json", slice("b", { b: "b1" }));
    let gateway = await start();
    if (bad.startsWith("\xff")) writeFileSync(join(directory, "a.json"), Buffer.from(bad, "latin1"));
    else write("a.json", bad);
    write("b.json", slice("b", { b: "b2" }));
    await gateway.reload();
    expect(await answers(gateway.port, "a", "b")).toEqual(["a1", "b2"]);
    expect(standings(gateway)).toEqual({ a: "kept" });

    gateway = await restart(gateway);
    expect(await answers(gateway.port, "a", "b")).toEqual(["a1", "b2"]);
    expect(standings(gateway)).toEqual({ a: "kept" });

    write("a.json", slice("a", { a: "a3" }));
    await gateway.reload();
    expect(await answers(gateway.port, "a", "b")).toEqual(["a3", "b2"]);
    expect(gateway.status()).toMatchObject({ degraded: [], owners: { current: 2, kept: 0, absent: 0 } });
    expect(gateway.status().lastError).toBeUndefined();
  });

  test("is named by status, readiness and metrics, and the gateway stays ready", async () => {
    write("a.json", BROKEN);
    write("b.json", slice("b", { b: "b1" }));
    const gateway = await start();
    const ready = await admin(gateway).get("/readyz");
    expect(ready.status).toBe(200);
    expect(ready.body).toMatchObject({ ready: true, reload: "failed", owners: { current: 1, kept: 0, absent: 1 } });
    const { bundle } = (await admin(gateway).get("/status")).body as { bundle: Record<string, unknown> };
    expect(bundle).toMatchObject({
      degraded: [
        {
          owner: "unknown",
          standing: "absent",
          files: [join(directory, "a.json")],
          since: expect.any(Number) as number,
          problems: [expect.stringContaining(`${join(directory, "a.json")}:1:`) as string],
        },
      ],
    });
    const metrics = (await admin(gateway).get("/metrics")).text;
    expect(metrics).toContain('gateway_bundle_owners{state="absent"} 1');
    expect(metrics).toContain("gateway_bundle_current 0");
  });

  test("is not served from before when the boot file no longer lets him, nor when his file was removed", async () => {
    write("a.json", slice("a", { a: "a1" }));
    write("b.json", slice("b", { b: "b1" }));
    let gateway = await start();
    write("a.json", BROKEN);
    boot({ owners: { a: { allowed_from: ["other.example.com"] }, b: {} } });
    await gateway.reload();
    expect(await answers(gateway.port, "a", "b")).toEqual(["404", "b1"]);
    gateway = await restart(gateway);
    expect(await answers(gateway.port, "a", "b")).toEqual(["404", "b1"]);
    expect(gateway.status().degraded[0]?.problems.join("\n")).toContain('which owner "a" may not serve');

    boot();
    gateway = await restart(gateway);
    expect(await answers(gateway.port, "a", "b")).toEqual(["a1", "b1"]);
    rmSync(join(directory, "a.json"));
    await gateway.reload();
    write("a.json", BROKEN);
    gateway = await restart(gateway);
    expect(await answers(gateway.port, "a", "b")).toEqual(["404", "b1"]);
  });

  test("leaves no secret of theirs in the store with their slice", async () => {
    write("a.json", withSecret("a", { a: "a1" }, { client_secret: "hunter2-in-plain-text" }));
    await stop(await start());
    const files = readdirSync(directory).filter((name) => name.startsWith("gateway.db"));
    const stored = Buffer.concat(files.map((name) => readFileSync(join(directory, name))));
    expect(stored.includes("kept:a")).toBe(true);
    expect(stored.includes("hunter2")).toBe(false);
  });
});

describe("an owner with a missing secret", () => {
  const NAME = "GATEFORM_TEST_NEIGHBOUR_SECRET";
  const refs = {
    owners: { a: { allowed_refs: [`env:${NAME}`, `file:${tmpdir()}/*`] }, b: { allowed_settings: ["cookie_name"] } },
  };

  test("at start is omitted, or served as before, and the others are served", async () => {
    boot(refs);
    write("a.json", withSecret("a", { a: "a1" }, { client_secret_ref: `env:${NAME}` }));
    write("b.json", slice("b", { b: "b1" }));
    let gateway = await start();
    expect(await answers(gateway.port, "a", "b")).toEqual(["404", "b1"]);
    expect(gateway.status().degraded).toMatchObject([{ owner: "a", standing: "absent" }]);
    expect(gateway.status().degraded[0]?.problems[0]).toMatch(
      /a\.json:1:\d+: error: "routes\.tools" Cannot read secret "env:GATEFORM_TEST_NEIGHBOUR_SECRET": .*not set$/,
    );

    write("a.json", slice("a", { a: "a0" }));
    await gateway.reload();
    expect(await answers(gateway.port, "a", "b")).toEqual(["a0", "b1"]);
    write("a.json", withSecret("a", { a: "a1" }, { client_secret_ref: `env:${NAME}` }));
    gateway = await restart(gateway);
    expect(await answers(gateway.port, "a", "b")).toEqual(["a0", "b1"]);
    expect(standings(gateway)).toEqual({ a: "kept" });

    process.env[NAME] = "here now";
    onTestFinished(() => void delete process.env[NAME]);
    await gateway.reload();
    expect(await answers(gateway.port, "a", "b")).toEqual(["a1", "b1"]);
    expect(standings(gateway)).toEqual({});
  });

  test("at runtime keeps the previous version, and the others' changes go live", async () => {
    boot(refs);
    const secret = join(directory, "secret");
    writeFileSync(secret, "one");
    write("a.json", withSecret("a", { a: "a1" }, { client_secret_ref: `file:${secret}` }));
    write("b.json", slice("b", { b: "b1" }));
    const gateway = await start();
    rmSync(secret);
    write("b.json", slice("b", { b: "b2" }, { cookie_name: "other" }));
    await gateway.reload();
    expect(await answers(gateway.port, "a", "b")).toEqual(["a1", "b2"]);
    expect(standings(gateway)).toEqual({ a: "kept" });
    writeFileSync(secret, "two");
    await gateway.reload();
    expect(standings(gateway)).toEqual({});
  });
});

describe("owners in conflict", () => {
  test("are both omitted at a first start, and later the existing one stays", async () => {
    write("a.json", slice("a", { x: "of a", a: "a1" }));
    write("b.json", slice("b", { x: "of b" }));
    write("c.json", slice("c", { c: "c1" }));
    let gateway = await start();
    expect(await answers(gateway.port, "x", "a", "c")).toEqual(["404", "404", "c1"]);
    expect(standings(gateway)).toEqual({ a: "absent", b: "absent" });
    for (const { problems } of gateway.status().degraded) expect(problems.join("\n")).toMatch(/[ab]\.json:1:/);

    rmSync(join(directory, "a.json"));
    await gateway.reload();
    expect(await answers(gateway.port, "x", "c")).toEqual(["of b", "c1"]);
    // A name that sorts before the other's is no claim.
    write("a.json", slice("a", { x: "of a", a: "a1" }));
    await gateway.reload();
    expect(await answers(gateway.port, "x", "a", "c")).toEqual(["of b", "404", "c1"]);
    gateway = await restart(gateway);
    expect(await answers(gateway.port, "x", "a", "c")).toEqual(["of b", "404", "c1"]);
    expect(standings(gateway)).toEqual({ a: "absent" });
  });

  test("over a path or a setting block no other changes of the owner", async () => {
    const url = "https://a.example.com/";
    write("a.json", slice("a", { a: "a1", x: "a1" }, { signout_redirect_url: url }));
    let gateway = await start();
    write("b.json", slice("b", { x: "b" }));
    write("c.json", slice("c", {}, { signout_redirect_url: "https://c.example.com/" }));
    await gateway.reload();

    write("a.json", slice("a", { a: "a2", x: "a2", y: "a2" }, { signout_redirect_url: url }));
    await gateway.reload();
    expect(await answers(gateway.port, "a", "x", "y")).toEqual(["a2", "a2", "a2"]);
    expect(standings(gateway)).toEqual({ b: "absent", c: "absent" });

    gateway = await restart(gateway);
    expect(await answers(gateway.port, "a", "x", "y")).toEqual(["a2", "a2", "a2"]);
  });

  test("over a name neither remove the other owner's slice nor block its changes", async () => {
    write("b.json", slice("b", { b: "b1" }));
    write("c.json", slice("c", { c: "c1" }));
    const gateway = await start();

    // "a.json" sorts before the file of the owner that it names, "d.json" after it.
    write("a.json", slice("b", { evil: "evil" }));
    write("c.json", slice("b", { evil: "evil" }));
    write("b.json", slice("b", { b: "b2" }));
    await gateway.reload();
    expect(await answers(gateway.port, "b", "c", "evil")).toEqual(["b2", "c1", "404"]);

    write("b.json", BROKEN);
    await gateway.reload();
    expect(await answers(gateway.port, "b", "c", "evil")).toEqual(["b2", "c1", "404"]);
  });

  test("over a setting keep the active one", async () => {
    write("b.json", slice("b", { b: "b1" }, { cookie_name: "of-b" }));
    const gateway = await start();
    write("a.json", slice("a", { a: "a1" }, { cookie_name: "of-a" }));
    write("b.json", slice("b", { b: "b2" }, { cookie_name: "of-b" }));
    await gateway.reload();
    // Both wrote at the same time, but the setting belonged to b before.
    expect(await answers(gateway.port, "a", "b")).toEqual(["404", "b2"]);
    rmSync(join(directory, "a.json"));
    await gateway.reload();
    expect(await answers(gateway.port, "a", "b")).toEqual(["404", "b2"]);
  });
});

describe("publishing over http while another owner's slice is bad", () => {
  test("is validated against the active configuration, and goes live", async () => {
    write("a.json", slice("a", { a: "a1" }));
    const gateway = await start();
    const client = admin(gateway);
    write("a.json", BROKEN);
    await gateway.reload();
    const published = await client.publish("b", slice("b", { b: "b1" }));
    expect(published.body).toMatchObject({ live: true, laggards: [] });
    expect(await answers(gateway.port, "a", "b")).toEqual(["a1", "b1"]);

    const taken = await client.publish("c", slice("c", { a: "of c" }));
    expect(taken.status).toBe(422);
    expect(taken.text).toContain("a.json (kept)");
    const bad = await client.publish("b", slice("b", { b: "b2" }).replace("http://b.", "ftp://b."), "*");
    expect(bad.status).toBe(422);
    expect(await answers(gateway.port, "a", "b")).toEqual(["a1", "b1"]);
  });

  test("is reported to the owner that is not served only", async () => {
    const gateway = await start();
    const client = admin(gateway);
    await client.publish("a", slice("a", { a: "a1" }));
    boot({ owners: { b: {} } });
    await gateway.reload();
    expect((await client.publish("b", slice("b", { b: "b1" }))).body).toMatchObject({ live: true });
    expect(await answers(gateway.port, "a", "b")).toEqual(["404", "b1"]);
    expect((await client.get("/config/slices/a")).headers["gateway-live"]).toBe("false");
    expect((await client.get("/config/slices/b")).headers["gateway-live"]).toBe("true");
    expect((await client.get("/config/slices")).text).toContain('does not serve what \\"a\\" published');
  });

  test("does not remove what others depend on", async () => {
    const gateway = await start();
    const client = admin(gateway);
    await client.publish("idp", slice("idp", {}, { idp_provider_url: "https://idp.example", idp_client_id: "id" }));
    const document = JSON.parse(slice("a", { a: "a1" })) as { routes: Record<string, object> };
    Object.assign(document.routes["a"] ?? {}, { bearer_token_format: "idp_access_token" });
    expect((await client.publish("a", JSON.stringify(document))).body).toMatchObject({ live: true });
    const removed = await client.remove("idp");
    expect(removed.status).toBe(422);
    expect(removed.text).toContain("idp_provider_url");
    expect(await answers(gateway.port, "a")).toEqual(["a1"]);
  });
});

const postgres = findPostgres();
test.skipIf("missing" in postgres)(
  "replicas that share PostgreSQL serve the others alike, and one that starts later serves the stored versions",
  { timeout: LONG_MS },
  async () => {
    if ("missing" in postgres) return;
    const server = await startPostgres(postgres.bin);
    onTestFinished(() => server.close());
    boot({ storage_url: server.url });
    write("a.json", slice("a", { a: "a1" }));
    const replicas = [await start(), await start()];
    write("a.json", BROKEN);
    for (const replica of replicas) await replica.reload();
    const [first] = replicas;
    const published = first && (await admin(first).publish("b", slice("b", { b: "b1" })));
    expect(published?.body).toMatchObject({ live: true, replicas: 2 });
    replicas.push(await start());
    for (const replica of replicas) {
      expect(await answers(replica.port, "a", "b")).toEqual(["a1", "b1"]);
      expect(standings(replica)).toEqual({ a: "kept" });
    }
    for (const replica of replicas) await stop(replica);
  },
);

test("workers start despite an invalid slice, and apply what others publish", async () => {
  const gateway = await runGateway({ workers: 2, boot: { development: false } });
  onTestFinished(() => gateway.close());
  gateway.write("a.json", BROKEN);
  const published = await gateway.admin.publish("b", slice("b", { b: "b1" }));
  expect(published.body).toMatchObject({ live: true, replicas: 2 });
  expect(await answers(Number(new URL(gateway.origin).port), "b")).toEqual(["b1"]);
  const ready = await gateway.admin.get("/readyz");
  expect(ready.status).toBe(200);
});
