/** An uncaught error: requests in flight finish, and the process exits so that another one replaces it. */
import { writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { openRaw, type RawConnection } from "../support/raw-client.ts";
import { runGateway, type RunningGateway } from "../support/run-gateway.ts";

/** Loaded first by each process: a signal makes it throw an uncaught error, or cause an unhandled rejection. */
const BOMB = join(tmpdir(), `gateway-bomb-${process.pid}.mjs`);
let upstream: Server;
let waiting: ServerResponse[] = [];

beforeAll(async () => {
  writeFileSync(
    BOMB,
    `process.on("SIGUSR2", () => setImmediate(() => { throw new Error("thrown by the test"); }));
     process.on("SIGPWR", () => void Promise.reject(new Error("rejected by the test")));`,
  );
  upstream = createServer((_request, response) => void waiting.push(response));
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  upstream.closeAllConnections();
  upstream.close();
});

async function start(workers: number): Promise<RunningGateway> {
  waiting = [];
  const { port } = upstream.address() as AddressInfo;
  const gateway = await runGateway({
    workers,
    env: { NODE_OPTIONS: `--import ${BOMB}` },
    boot: { drain_timeout: "20s" },
    yaml: `routes: [{ from: "http://app.localhost", to: "http://127.0.0.1:${port}", allow_public_unauthenticated_access: true }]`,
  });
  onTestFinished(() => gateway.close());
  return gateway;
}

const ask = (gateway: RunningGateway): RawConnection =>
  openRaw(Number(new URL(gateway.origin).port), "GET / HTTP/1.1\r\nhost: app.localhost\r\n\r\n");

test.each(["SIGUSR2", "SIGPWR"] as const)("a single process drains and exits with 1 (%s)", async (signal) => {
  const gateway = await start(1);
  const answer = ask(gateway);
  await Promise.race([
    expect.poll(() => waiting.length).toBe(1),
    answer.contains("HTTP/1.1 ").then(() => expect(answer.text).toBe("")),
  ]);
  gateway.process.kill(signal);
  await expect.poll(() => gateway.log()).toContain("uncaught error");
  waiting[0]?.end("finished");
  await answer.contains("finished");
  expect(await gateway.ended).toBe(1);
  expect(gateway.log()).toContain("by the test");
});

test("a worker drains and is replaced, and the others continue", async () => {
  const gateway = await start(2);
  const [first] = await gateway.workers();
  process.kill(first?.pid ?? 0, "SIGUSR2");
  await expect
    .poll(async () => (await gateway.workers()).filter(({ serving, restarts }) => serving && restarts === 1).length)
    .toBe(1);
  expect(gateway.log()).toContain("thrown by the test");
  const answer = ask(gateway);
  await Promise.race([
    expect.poll(() => waiting.length).toBe(1),
    answer.contains("HTTP/1.1 ").then(() => expect(answer.text).toBe("")),
  ]);
  waiting[0]?.end("finished");
  await answer.contains("finished");
});
