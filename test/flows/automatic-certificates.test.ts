/**
 * Automatic certificates by a real certificate authority (pebble): two replicas over one PostgreSQL store, behind load
 * balancers without affinity. pebble validates each challenge three times, so both replicas answer it.
 */
import { randomBytes, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { get as getTls } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";

import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";

import { type Acme, openAcme } from "../../runtime/acme/acme.ts";
import type { GatewayEvent } from "../../runtime/audit/events.ts";
import type { Snapshot } from "../../runtime/config/snapshot.ts";
import { type Gateway, startGateway } from "../../runtime/gateway.ts";
import { openCertificates } from "../../runtime/http/listener/certificates.ts";
import { startPlainServer } from "../../runtime/http/listener/plain-server.ts";
import { createHttpServer } from "../../runtime/http/listener/server.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { closeAll } from "../../runtime/shared/faults/close-all.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { snapshotFrom, TEST_SHARED_SECRET } from "../support/config.ts";
import { findPebble, type Pebble, startPebble } from "../support/pebble.ts";
import { freePort } from "../support/ports.ts";
import { runGateway } from "../support/run-gateway.ts";
import { makeTestCertificate } from "../support/certificates.ts";
import { findPostgres, type Postgres, startPostgres } from "../support/postgres.ts";

const pebbleFound = findPebble();
const postgresFound = findPostgres();
for (const found of [pebbleFound, postgresFound])
  if ("missing" in found) console.warn(`Automatic certificates: skipped, ${found.missing}`);

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

function snapshotOf(...hosts: readonly string[]): Snapshot {
  const routes = hosts.map((host) => ({ from: `https://${host}`, to: "http://127.0.0.1:1", policy: [] }));
  return snapshotFrom(stringify({ routes }));
}

describe.skipIf("missing" in pebbleFound || "missing" in postgresFound)("automatic certificates", () => {
  let pebble: Pebble;
  let postgres: Postgres;
  let lines = "";
  const log = pino({ base: null }, { write: (line: string) => void (lines += line) });
  let aheadMs = 0;
  const clock = { now: () => Date.now() + aheadMs };
  const events: GatewayEvent[] = [];
  let snapshot = snapshotOf("localhost");
  /** Called while a challenge is pending. */
  let onPending: () => void = () => {};
  const replicas: Replica[] = [];

  interface Replica {
    readonly acme: Acme;
    readonly port: number;
    readonly httpPort: number;
    close(): Promise<void>;
  }

  async function start(): Promise<Replica> {
    const store = await openRecords(postgres.url, { clock, log: silentLog() });
    const { directory, caFile, externalAccount } = pebble;
    const settings = { directory, caFile, externalAccount, email: "ops@example.com", isAllowed: () => true };
    const keys = createKeys([Buffer.from(TEST_SHARED_SECRET, "base64")]);
    const acme = await openAcme(settings, {
      store,
      keys,
      snapshots: { current: () => snapshot, subscribe: () => () => {} },
      spread: async (host, { token }) => {
        onPending();
        const answers = ({ acme: { issued } }: Replica) => issued.httpAnswer(host, token) ?? issued.challenge(host);
        await expect.poll(() => replicas.every((each) => answers(each) !== undefined)).toBe(true);
      },
      notify: (event) => void events.push(event),
      clock,
      log,
      everyMs: DAY,
      pollMs: 50,
    });
    const certificates = await openCertificates([], { log, issued: acme.issued });
    const server = await createHttpServer({
      address: "127.0.0.1:0",
      insecure: false,
      certificates,
      handle: (exchange) => exchange.broke(new Error("no request is sent")),
      log: silentLog(),
    });
    const redirect = await startPlainServer({
      address: "127.0.0.1:0",
      securePort: server.port,
      servesHost: () => true,
      challengeAnswer: (host, token) => acme.issued.httpAnswer(host, token),
      log: silentLog(),
    });
    acme.start({ covers: (host) => certificates.covers(host), challenges: ["tls-alpn-01", "http-01"] });
    const replica = {
      acme,
      port: server.port,
      httpPort: redirect.port,
      close: () => closeAll([store, acme, certificates, { close: () => server.close({ timeoutMs: 0 }) }, redirect]),
    };
    replicas.push(replica);
    pebble.tls.targets = replicas.map(({ port }) => port);
    pebble.http.targets = replicas.map(({ httpPort }) => httpPort);
    return replica;
  }

  /** Rounds of all replicas, one of which orders. */
  const rounds = (): Promise<unknown> => Promise.all(replicas.map(({ acme }) => acme.work()));
  const shown = (host: string): Promise<readonly string[]> =>
    Promise.all(replicas.map(({ port }) => serial(port, host)));
  const agreed = async (host: string): Promise<string | undefined> => {
    const all = await shown(host);
    return new Set(all).size === 1 ? all[0] : undefined;
  };
  const orders = (): number =>
    replicas.reduce((sum, { acme }) => sum + (acme.counts().get("ok") ?? 0) + (acme.counts().get("failed") ?? 0), 0);

  /** Of the certificate that a verifying client accepts; a code without one. */
  function serial(port: number, servername: string, protocols = ["http/1.1"]): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect({ host: "127.0.0.1", port, servername, ca: pebble.root, ALPNProtocols: protocols });
      socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
      socket.once("secureConnect", () => {
        resolve(socket.getPeerX509Certificate()?.serialNumber ?? "none");
        socket.destroy();
      });
    });
  }

  function oneFile(folder: string, port: number) {
    const { keyId: key_id, hmacKey: hmac_key } = pebble.externalAccount;
    return {
      address: `127.0.0.1:${port}`,
      admin_address: "127.0.0.1:0",
      acme: { directory: pebble.directory, ca_file: pebble.caFile, external_account: { key_id, hmac_key } },
      downstream_mtls: { ca_file: join(folder, "users.crt") },
      storage_url: `sqlite:${join(folder, "gateway.db")}`,
    };
  }

  /** Status of a request with a client certificate. */
  function answer(
    port: number,
    servername: string,
    own: { readonly cert?: string; readonly key?: string },
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      const options = {
        host: "127.0.0.1",
        port,
        servername,
        ca: pebble.root,
        headers: { host: servername },
        agent: false,
      };
      getTls({ ...options, cert: own.cert, key: own.key }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      }).on("error", reject);
    });
  }

  beforeAll(async () => {
    if ("missing" in pebbleFound || "missing" in postgresFound) return;
    [pebble, postgres] = await Promise.all([startPebble(pebbleFound), startPostgres(postgresFound.bin)]);
    await start();
    await start();
  });
  afterAll(async () => {
    await Promise.all(replicas.map((each) => each.close()));
    await Promise.all([pebble?.close(), postgres?.close()]);
  });

  test("one replica orders by TLS-ALPN-01, both serve the certificate; a name without a route orders nothing", async () => {
    await rounds();
    expect(await serial(replicas[0]?.port ?? 0, "app.example.test")).toMatch(/ALERT|ECONNRESET/);
    expect(orders()).toBe(0);
    snapshot = snapshotOf("app.example.test", "localhost");
    await rounds();
    await expect.poll(() => agreed("app.example.test")).toMatch(/^[0-9A-F]{6,}$/);
    expect(orders()).toBe(1);
    // Clients that name another host get the fallback, whose name does not match.
    expect(await serial(replicas[0]?.port ?? 0, "other.example.test")).toBe("ERR_TLS_CERT_ALTNAME_INVALID");
    // The validation's protocol is spoken only while an order is pending.
    expect(await serial(replicas[0]?.port ?? 0, "app.example.test", ["acme-tls/1"])).toMatch(/ALERT|ECONNRESET/);
    // Without a name.
    expect(await serial(replicas[0]?.port ?? 0, "", ["acme-tls/1"])).toMatch(/ALERT|ECONNRESET/);
    await rounds();
    expect(orders()).toBe(1);
    expect(pebble.log()).not.toContain("other.example.test");
    expect(lines).not.toContain("PRIVATE KEY");
    expect(lines).not.toContain(pebble.externalAccount.hmacKey);
  });

  test("a failed order is recorded and repeated after a pause, by HTTP-01", async () => {
    const tls = pebble.tls.targets;
    pebble.tls.targets = [];
    snapshot = snapshotOf("app.example.test", "second.example.test");
    await rounds();
    const failing = {
      host: "second.example.test",
      failures: 1,
      reason: expect.stringContaining("tls-alpn-01") as string,
    };
    await expect.poll(() => replicas.map(({ acme }) => acme.status().failing)).toMatchObject([[failing], [failing]]);
    expect(events.map(({ type, data }) => [type, data["host"]])).toEqual([
      ["certificate.failed", "second.example.test"],
    ]);
    await rounds();
    expect(orders()).toBe(2);

    aheadMs += 5 * MINUTE;
    await rounds();
    await expect.poll(() => agreed("second.example.test")).toMatch(/^[0-9A-F]{6,}$/);
    expect(orders()).toBe(3);
    expect(replicas.map(({ acme }) => acme.status().failing)).toEqual([[], []]);
    pebble.tls.targets = tls;
    // Without a pending order, the path redirects like any other.
    const { port } = { port: replicas[0]?.httpPort ?? 0 };
    expect(await status(port, "second.example.test", `/.well-known/acme-challenge/${"a".repeat(43)}`)).toBe(308);
  });

  test("a host whose route is removed while its order is pending gets no certificate, and no failure", async () => {
    snapshot = snapshotOf("app.example.test", "second.example.test", "third.example.test");
    onPending = () => (snapshot = snapshotOf("app.example.test", "second.example.test"));
    await rounds();
    onPending = () => {};
    expect(orders()).toBe(3);
    snapshot = snapshotOf("app.example.test", "second.example.test", "third.example.test");
    expect(replicas.map(({ acme }) => acme.status())).toMatchObject([
      { hosts: 3, missing: 1, failing: [] },
      { hosts: 3, missing: 1, failing: [] },
    ]);
    snapshot = snapshotOf("app.example.test");
  });

  test("a gateway of one file: client certificates are verified, and a new shared secret opens what is stored", async () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-acme-"));
    const port = await freePort();
    const targets = pebble.tls.targets;
    pebble.tls.targets = [port];
    const accounts = (): number => pebble.log().match(/There are now \d+ accounts/g)?.length ?? 0;
    const users = makeTestCertificate({ name: "users", isAuthority: true });
    writeFileSync(join(folder, "users.crt"), users.cert);
    const client = makeTestCertificate({ name: "client", by: users });
    const run = async (hosts: readonly string[], secrets: object, use: (gateway: Gateway) => Promise<void>) => {
      const served = { response: { status: 200, body: "served" }, allow_public_unauthenticated_access: true };
      const boot = {
        ...oneFile(folder, port),
        ...secrets,
        routes: hosts.map((host) => ({ from: `https://${host}`, ...served })),
      };
      writeFileSync(join(folder, "gateway.yaml"), stringify(boot));
      const gateway = await startGateway({ config: join(folder, "gateway.yaml"), log: silentLog() });
      try {
        await use(gateway);
      } finally {
        await gateway.close();
      }
    };
    const ordered = async (gateway: Gateway): Promise<string | undefined> =>
      /^gateway_acme_orders_total\{result="ok"\} (\d+)$/m.exec((await gateway.pages.metrics()).text)?.[1];
    const [first, second] = [TEST_SHARED_SECRET, randomBytes(32).toString("base64")];
    let issued = "";
    try {
      await run(["one.example.test"], { shared_secret: first }, async (gateway) => {
        await expect.poll(() => serial(port, "one.example.test")).toMatch(/^[0-9A-F]{6,}$/);
        issued = await serial(port, "one.example.test");
        expect(await gateway.pages.status()).toMatchObject({
          acme: { hosts: 1, missing: 0, paused: null, failing: [] },
          certificates: [{ listener: "public", names: ["one.example.test"], isAutomatic: true }],
        });
        expect(await ordered(gateway)).toBe("1");
        expect((await gateway.pages.metrics()).text).toContain('gateway_acme_hosts{state="missing"} 0');
        expect(await answer(port, "one.example.test", {})).toBe(495);
        expect(await answer(port, "one.example.test", client)).toBe(200);
        // Signed by a public authority is not enough.
        const other = makeTestCertificate({
          name: "client",
          by: makeTestCertificate({ name: "others", isAuthority: true }),
        });
        expect(await answer(port, "one.example.test", other)).toBe(495);
      });
      const known = accounts();
      expect(known).toBeGreaterThan(0);
      const both = { shared_secret: second, previous_shared_secret: [first] };
      await run(["one.example.test", "two.example.test"], both, async (gateway) => {
        await expect.poll(() => serial(port, "two.example.test")).toMatch(/^[0-9A-F]{6,}$/);
        expect(await ordered(gateway)).toBe("1");
      });
      await run(["one.example.test", "two.example.test"], { shared_secret: second }, async (gateway) => {
        expect(await serial(port, "one.example.test")).toBe(issued);
        expect(await gateway.pages.status()).toMatchObject({ acme: { hosts: 2, missing: 0, paused: null } });
        expect(await ordered(gateway)).not.toBe("1");
      });
      expect(accounts()).toBe(known);
    } finally {
      pebble.tls.targets = targets;
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("workers of one process order once, and all answer the validation and serve the certificate", async () => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-acme-"));
    const port = await freePort();
    const targets = pebble.tls.targets;
    pebble.tls.targets = [port];
    const boot = { ...oneFile(folder, port), downstream_mtls: undefined, insecure_server: undefined };
    const route = { from: "https://workers.example.test", to: "http://127.0.0.1:1", policy: [] };
    const gateway = await runGateway({ workers: 2, boot, yaml: stringify({ routes: [route] }) });
    try {
      await expect.poll(() => serial(port, "workers.example.test")).toMatch(/^[0-9A-F]{6,}$/);
      const own = async (): Promise<readonly string[]> =>
        Promise.all(Array.from({ length: 16 }, () => serial(port, "workers.example.test")));
      await expect.poll(async () => new Set(await own()).size).toBe(1);
      expect(await gateway.workers()).toHaveLength(2);
      expect(gateway.log().split("certificate issued")).toHaveLength(2);
    } finally {
      await gateway.close();
      pebble.tls.targets = targets;
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("renews at two thirds of the lifetime; without the authority, the last certificate stays, also after a restart", async () => {
    const first = await agreed("app.example.test");
    const leaf = replicas[0]?.acme.certificates()[0];
    expect(leaf?.host).toBe("app.example.test");
    const { validFrom, validTo } = new X509Certificate(leaf?.certificate ?? "");
    const lifetimeMs = Date.parse(validTo) - Date.parse(validFrom);
    aheadMs += lifetimeMs * 0.8;
    await rounds();
    // Undefined while only one of them has it.
    await expect.poll(async () => [undefined, first].includes(await agreed("app.example.test"))).toBe(false);
    const second = await agreed("app.example.test");
    expect(second).toMatch(/^[0-9A-F]{6,}$/);
    expect(orders()).toBe(4);

    await pebble.stop();
    aheadMs += lifetimeMs * 0.8;
    await rounds();
    expect(await agreed("app.example.test")).toBe(second);
    expect(replicas.some(({ acme }) => acme.status().paused?.reason.includes("cannot be reached"))).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: "certificate.failed", data: { failures: 1 } });
    const attempts = orders();
    await rounds();
    expect(orders()).toBe(attempts);
    // Expired by the gateway's clock; it is still the last one.
    const restarted = await start();
    await restarted.acme.work();
    expect(await serial(restarted.port, "app.example.test")).toBe(second);
    expect(orders()).toBe(attempts);
  });
});

function status(port: number, host: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, path, headers: { host }, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    }).on("error", reject);
  });
}
