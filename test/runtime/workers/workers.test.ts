/** `gateway run --workers 2` as real processes: one port, one admin address, publishing to all, crashes. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { connect } from "node:net";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { VERSION } from "../../../runtime/shared/version.ts";
import { findPostgres, startPostgres, type Postgres } from "../../support/postgres.ts";
import { openSlice, startUpstream, visit, type MarkedUpstream, type Seen } from "../../support/marked-upstream.ts";
import { runGateway, type RunningGateway, type RunOptions } from "../../support/run-gateway.ts";
import { LONG_MS } from "../../support/limits.ts";

const found = findPostgres();
if ("missing" in found) console.warn(`PostgreSQL: skipped, ${found.missing}`);

let upstream: MarkedUpstream;
let running: RunningGateway[] = [];
/** Of the tests of one group that leave it as they found it: to start one takes longer than most of them. */
let shared: RunningGateway | undefined;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());
afterEach(async () => {
  await Promise.all(running.map((gateway) => gateway.close()));
  running = [];
});

async function run(options: RunOptions): Promise<RunningGateway> {
  const gateway = await runGateway(options);
  running.push(gateway);
  return gateway;
}

async function share(options: RunOptions): Promise<RunningGateway> {
  shared ??= await runGateway(options);
  return shared;
}

async function closeShared(): Promise<void> {
  await shared?.close();
  shared = undefined;
}

const slice = (mark: string, routes = 1): string => openSlice("team", mark, upstream.origin, routes);
/** Connections are handed round, so a few of them reach every worker. */
const ask = (gateway: RunningGateway, times = 8): Promise<Seen[]> =>
  Promise.all(Array.from({ length: times }, () => visit(gateway.origin, "team-0.example.com")));
const PRLIMIT = "/usr/bin/prlimit";
/** Of each worker, half of them for one client: all that any test opens at once may come to one worker. */
const MAX_CONNECTIONS = 60;
const FEW_CONNECTIONS = { workers: 2, boot: { max_connections: MAX_CONNECTIONS } };
const soon = { interval: 50 };

const stores = [["SQLite", undefined] as const, ["PostgreSQL", "postgres"] as const];

describe.each(stores)("two workers on %s", { timeout: LONG_MS }, (name, postgres) => {
  const skip = postgres !== undefined && "missing" in found;
  let server: Postgres | undefined;
  beforeAll(async () => {
    if (postgres !== undefined && !("missing" in found)) server = await startPostgres(found.bin);
  });
  afterAll(async () => {
    await closeShared();
    await server?.close();
  });
  const options = (): RunOptions => ({ workers: 2, boot: server ? { storage_url: server.url } : {} });

  test.skipIf(skip)(`share the port, and a publish that is answered is live in both (${name})`, async () => {
    const gateway = await share(options());
    const workers = await gateway.workers();
    expect(workers.map(({ serving }) => serving)).toEqual([true, true]);
    expect(new Set(workers.map(({ pid }) => pid)).size).toBe(2);

    let answer = await gateway.admin.publish("team", slice("1"));
    expect(answer.body).toMatchObject({ live: true, replicas: 2, laggards: [] });
    expect(new Set((await ask(gateway)).map(({ mark }) => mark))).toEqual(new Set(["1"]));

    answer = await gateway.admin.publish("team", slice("2"), String(answer.body["digest"]));
    expect(answer.body).toMatchObject({ live: true, replicas: 2, laggards: [] });
    expect(new Set((await ask(gateway)).map(({ mark }) => mark))).toEqual(new Set(["2"]));
    const after = await gateway.workers();
    expect(new Set(after.map(({ digest }) => digest)).size).toBe(1);
    expect(after.map(({ published }) => published)).toEqual([2, 2]);
    await gateway.admin.remove("team");
  });

  test.skipIf(skip)(
    `see what another replica of the store published, and count its limits with it (${name})`,
    async () => {
      const first = await share(options());
      const storage = server?.url ?? `sqlite:${first.directory}/gateway.db`;
      const second = await run({ workers: 1, boot: { storage_url: storage } });
      const answer = await second.admin.publish("team", slice("1"));
      // Answered when the first one's workers have it too, though nobody told them over a channel.
      expect(answer.body).toMatchObject({ live: true, replicas: 3 });
      expect(answer.body).toMatchObject({ laggards: [] });
      expect(new Set((await ask(first)).map(({ mark }) => mark))).toEqual(new Set(["1"]));
      expect((await ask(second)).map(({ mark }) => mark)).toContain("1");

      const limited = JSON.parse(slice("2")) as { routes: Record<string, object> };
      Object.assign(limited.routes["r0"] ?? {}, { rate_limits: [{ name: "all", requests: 7, window: "1h" }] });
      const published = await second.admin.publish("team", JSON.stringify(limited), String(answer.body["digest"]));
      expect(published.body).toMatchObject({ live: true, replicas: 3 });
      const statuses = (await Promise.all([ask(first, 20), ask(second, 20)])).flat().map(({ status }) => status);
      expect(statuses.filter((status) => status !== 429)).toEqual(Array.from({ length: 7 }, () => 200));
      await second.admin.remove("team");
    },
  );

  // A server that can be stopped.
  if (postgres === undefined) return;
  test.skipIf(skip)("serve, and stay ready for a while, without the store, and say since when", async () => {
    const gateway = await share(options());
    await gateway.admin.publish("team", slice("1"));
    const readiness = async (query = ""): Promise<unknown> => {
      const { status, body } = await gateway.admin.get(`/readyz${query}`);
      return { status, ready: body["ready"], store: body["store"], seconds: body["store_failing_seconds"] };
    };
    expect(await readiness()).toEqual({ status: 200, ready: true, store: "ok" });
    await server?.stop();
    const since = expect.any(Number) as number;
    await expect.poll(() => readiness(), soon).toEqual({ status: 200, ready: true, store: "down", seconds: since });
    expect(await readiness("?store=required")).toEqual({ status: 503, ready: false, store: "down", seconds: since });
    expect((await ask(gateway)).map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    // Each worker notices it by itself.
    await expect
      .poll(async () => (await gateway.admin.get("/status")).body, soon)
      .toMatchObject({
        store: "down",
        store_failing_seconds: since,
        workers: [{ store: "down" }, { store: "down" }],
      });
    await server?.start();
    await expect.poll(() => readiness(), soon).toEqual({ status: 200, ready: true, store: "ok" });
    await gateway.admin.remove("team");
  });
});

describe("a worker", { timeout: LONG_MS }, () => {
  afterAll(closeShared);

  test("that is killed is started again, and has what was published meanwhile", async () => {
    const gateway = await share({ workers: 2 });
    const first = await gateway.admin.publish("team", slice("1"));
    const [victim] = await gateway.workers();
    process.kill(victim?.pid ?? 0, "SIGKILL");
    // At once: it is not waited for, and nobody else is disturbed.
    const answer = await gateway.admin.publish("team", slice("2"), String(first.body["digest"]));
    expect(answer.status).toBe(200);
    expect(answer.body["live"]).toBe(true);
    await expect
      .poll(async () => (await gateway.workers()).map(({ serving, restarts }) => ({ serving, restarts })), soon)
      .toEqual([
        { serving: true, restarts: 1 },
        { serving: true, restarts: 0 },
      ]);
    expect((await gateway.workers())[0]?.pid).not.toBe(victim?.pid);
    expect(new Set((await ask(gateway)).map(({ mark }) => mark))).toEqual(new Set(["2"]));
    expect(gateway.log()).toContain('"msg":"worker exited"');
    await gateway.admin.remove("team");
  });

  test("that is killed answers no connection that waits for it, and none waits on", async () => {
    const gateway = await share({ workers: 2 });
    await gateway.admin.publish("team", slice("1"));
    await expect.poll(async () => (await gateway.workers()).every(({ serving }) => serving), soon).toBe(true);
    const [, victim] = await gateway.workers();
    const pid = victim?.pid ?? 0;
    // It can be given a connection, and cannot take it.
    process.kill(pid, "SIGSTOP");
    const ends: string[] = [];
    for (let index = 0; index < 8; index += 1) {
      visit(gateway.origin, "team-0.example.com").then(
        ({ status }) => ends.push(String(status)),
        () => ends.push("closed"),
      );
    }
    await expect.poll(() => ends, soon).toEqual(Array.from({ length: 7 }, () => "200"));
    process.kill(pid, "SIGKILL");
    await expect.poll(() => ends.slice(7), soon).toEqual(["closed"]);
    await expect.poll(async () => (await gateway.workers()).every(({ serving }) => serving), soon).toBe(true);
    expect(new Set((await ask(gateway)).map(({ status }) => status))).toEqual(new Set([200]));
    await gateway.admin.remove("team");
  });

  test("that is killed in the middle of a publish leaves all of it or nothing", async () => {
    const gateway = await run({ workers: 2 });
    let last = await gateway.admin.publish("team", slice("0", 300));
    for (const mark of ["1", "2"]) {
      await expect.poll(async () => (await gateway.workers()).every(({ serving }) => serving), soon).toBe(true);
      const [, victim] = await gateway.workers();
      const answer = gateway.admin.publish("team", slice(mark, 300), String(last.body["digest"]));
      process.kill(victim?.pid ?? 0, "SIGKILL");
      last = await answer;
      expect(last.body).toMatchObject({ changed: true, live: true });
      const seen = await ask(gateway);
      expect(new Set(seen.map((one) => one.mark))).toEqual(new Set([mark]));
    }
  });

  test("that is stopped drains, and another one replaces it", async () => {
    const gateway = await share({ workers: 2 });
    await gateway.admin.publish("team", slice("1"));
    const [first] = await gateway.workers();
    const before = first?.restarts ?? 0;
    process.kill(first?.pid ?? 0, "SIGTERM");
    await expect.poll(async () => (await gateway.workers())[0]?.restarts, soon).toBe(before + 1);
    await expect.poll(async () => (await gateway.workers()).every(({ serving }) => serving), soon).toBe(true);
    expect((await ask(gateway)).every(({ status }) => status === 200)).toBe(true);
  });

  test.skipIf(!existsSync(PRLIMIT))("that has no descriptor for a connection is replaced", async () => {
    const gateway = await share({ workers: 2 });
    await gateway.admin.publish("team", slice("1"));
    const [first] = await gateway.workers();
    const before = first?.restarts ?? 0;
    spawnSync(PRLIMIT, [`--pid=${first?.pid}`, "--nofile=1:"]);
    const isReplaced = async (): Promise<boolean> => {
      // Those that it was given break off.
      await ask(gateway).catch(() => []);
      return (await gateway.workers())[0]?.restarts === before + 1;
    };
    await expect.poll(isReplaced, soon).toBe(true);
    await expect.poll(async () => (await gateway.workers()).every(({ serving }) => serving), soon).toBe(true);
    expect((await ask(gateway)).every(({ status }) => status === 200)).toBe(true);
  });
});

describe("the supervisor", { timeout: LONG_MS }, () => {
  afterAll(closeShared);

  test("speaks for its workers: readiness, status, metrics", async () => {
    const gateway = await share(FEW_CONNECTIONS);
    await gateway.admin.publish("team", slice("1", 3));
    await ask(gateway, 20);
    expect((await gateway.admin.get("/readyz")).body).toMatchObject({
      ready: true,
      generation: 1,
      store: "ok",
      workers: { serving: 2, wanted: 2 },
    });
    const { text } = await gateway.admin.get("/metrics");
    // Sums over the workers, except where a sum says nothing.
    expect(text).toMatch(/^gateway_requests_total\{route="team\/r0",status="2xx"\} 20$/m);
    expect(text).toMatch(/^gateway_bundle_routes 3$/m);
    expect(text).toMatch(/^gateway_bundle_current 1$/m);
    expect(text).toMatch(/^gateway_workers\{state="serving"\} 2$/m);
    expect(text).toMatch(/^gateway_worker_restarts_total 0$/m);
    expect((await gateway.admin.get("/status")).body).toMatchObject({
      counters: { requests: 20 },
      store: "ok",
      version: VERSION,
    });
    expect((await gateway.admin.ask("GET", "/status", { authorization: "" })).status).toBe(401);
    // Tokens that are minted are in the store, which it has too.
    const { token } = (await gateway.admin.ask("POST", "/publish-tokens", {}, '{"owner":"team"}')).body;
    const authorization = `Bearer ${token as string}`;
    expect((await gateway.admin.ask("GET", "/config/slices/team", { authorization })).status).toBe(200);
    await gateway.admin.remove("team");
  });

  test("closes connections when all workers are at their limit, and serves later ones", async () => {
    const gateway = await share(FEW_CONNECTIONS);
    await gateway.admin.publish("team", slice("1"));
    const port = Number(new URL(gateway.origin).port);
    let closed = 0;
    // Of many clients: one has no more than half.
    const sockets = Array.from({ length: 2 * MAX_CONNECTIONS + 10 }, (_, index) =>
      connect({ port, host: "127.0.0.1", localAddress: `127.0.4.${index + 1}` })
        .on("error", () => {})
        .on("close", () => (closed += 1)),
    );
    await expect.poll(() => closed, soon).toBeGreaterThanOrEqual(10);
    expect(gateway.log()).toContain("connection limit reached, new connections closed");
    for (const socket of sockets) socket.destroy();
    const isServed = async (): Promise<boolean> =>
      (await ask(gateway).catch(() => [])).filter(({ status }) => status === 200).length === 8;
    await expect.poll(isServed, soon).toBe(true);
    await gateway.admin.remove("team");
  });

  test("passes on the authorization records of all workers, whole and without loss", async () => {
    const gateway = await run({ workers: 2, boot: { authorize_log: "stdout" } });
    await gateway.admin.publish("team", slice("1"));
    for (let round = 0; round < 20; round += 1) await ask(gateway, 20);
    gateway.process.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    const lines = gateway.output().trimEnd().split("\n");
    expect(lines).toHaveLength(400);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ service: "authorize", allow: true });
  });

  test("reads changed files through its workers, and reports invalid ones", async () => {
    const gateway = await share(FEW_CONNECTIONS);
    gateway.write("extra.json", slice("file").replaceAll("team", "extra"));
    await expect.poll(async () => (await visit(gateway.origin, "extra-0.example.com")).mark, soon).toBe("file");
    gateway.write("extra.json", "{");
    await expect.poll(async () => (await gateway.admin.get("/readyz")).body["reload"], soon).toBe("failed");
    expect((await visit(gateway.origin, "extra-0.example.com")).mark).toBe("file");
    // Bad files are their owner's, and keep nobody else from publishing.
    const answer = await gateway.admin.publish("team", slice("1"));
    expect(answer.body).toMatchObject({ live: true, replicas: 2 });
    expect((await visit(gateway.origin, "extra-0.example.com")).mark).toBe("file");
  });

  test("drains its workers on SIGTERM and leaves nothing behind", async () => {
    const gateway = await share(FEW_CONNECTIONS);
    const workers = await gateway.workers();
    gateway.process.kill("SIGTERM");
    expect(await gateway.ended).toBe(0);
    for (const { pid } of workers) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  test("its workers end with it when it is killed", async () => {
    const gateway = await run({ workers: 2 });
    const workers = await gateway.workers();
    gateway.process.kill("SIGKILL");
    await gateway.ended;
    for (const { pid } of workers) await expect.poll(() => isAlive(pid), soon).toBe(false);
  });

  test.each([
    ["a store that workers cannot share", { storage_url: "memory:" }, '"storage_url" is "memory:"'],
    ["no shared secret", { shared_secret: undefined }, '"shared_secret" is not set'],
    ["a bad configuration", { log_level: "loud" }, '"log_level" is "loud"'],
    ["an address that is taken", {}, "EADDRINUSE"],
  ])("does not start with %s", async (_name, boot, message) => {
    const address = message === "EADDRINUSE" ? { address: new URL(upstream.origin).host } : {};
    await expect(runGateway({ workers: 2, boot: { ...boot, ...address } })).rejects.toThrow(message);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
