/**
 * A provider or token endpoint that never responds, and many callers that make the gateway request it: others are
 * served meanwhile.
 */
import { createServer, type AddressInfo, type Socket } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { createOperatorFetch } from "../../runtime/http/fetch/operator-fetch.ts";
import { createRefreshTurns } from "../../runtime/oauth/client/tokens/token-refresh.ts";
import type { UpstreamTarget } from "../../runtime/oauth/client/target.ts";
import { createFairLimiter } from "../../runtime/shared/limiter.ts";

/** @param answer absent: it takes connections, and says nothing */
async function startProvider(answer?: string) {
  const sockets = new Set<Socket>();
  let most = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.on("data", () => answer !== undefined && socket.write(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, most: () => most };
}

test("requests to a provider that hangs use half of the connections, and requests to another provider are sent immediately", async () => {
  const hanging = await startProvider();
  const other = await startProvider("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
  const fetch = createOperatorFetch({ atOnce: 8, timeoutMs: 60_000 });
  const leave = new AbortController();
  const asked = Array.from({ length: 400 }, () =>
    fetch(hanging.url, { signal: leave.signal }).then(
      () => "answered",
      () => "failed",
    ),
  );
  await expect.poll(hanging.most).toBe(4);
  expect(await (await fetch(other.url)).text()).toBe("ok");
  expect(hanging.most()).toBe(4);
  // Waiting requests end with their callers, without leaks.
  leave.abort();
  expect(new Set(await Promise.all(asked))).toEqual(new Set(["failed"]));
  expect(await (await fetch(other.url)).text()).toBe("ok");
});

test("2,000 requests that wait too long for a provider get an error, and do not block others", async () => {
  const hanging = await startProvider();
  const fetch = createOperatorFetch({ atOnce: 64, timeoutMs: 50 });
  // They time out together: none begins then, and the others are notified a few in each turn.
  const answers = await Promise.allSettled(Array.from({ length: 2000 }, () => fetch(hanging.url)));
  for (const answer of answers) expect(answer).toMatchObject({ reason: { code: "fetch.timeout" } });
  expect(hanging.most()).toBeLessThanOrEqual(32);
});

test("refreshes at a token endpoint that hangs delay no user of another route or owner", async () => {
  const turns = createRefreshTurns();
  const never = new Promise<never>(() => {});
  let asked = 0;
  const ask = (owner: string, key: string, work: () => Promise<void>): Promise<void> =>
    turns.take({ route: { owner, key } } as UpstreamTarget, work);
  const hang = (): Promise<never> => {
    asked += 1;
    return never;
  };
  // One owner has several such routes.
  for (let user = 0; user < 1000; user += 1) void ask("a", `a/${user % 3}`, hang);
  await new Promise(setImmediate);
  expect(asked).toBeLessThan(64);
  await ask("a", "a/other", async () => {});
  await ask("b", "b/route", async () => {});
});

test("createFairLimiter() gives each party its turn, and as many as are free", async () => {
  const limiter = createFairLimiter(4);
  const ends: (() => void)[] = [];
  const begun: string[] = [];
  const run = (party: string): Promise<void> =>
    limiter.take(party, () => {
      begun.push(party);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const settled = async (): Promise<string> => {
    // One turn for expired requests, and the next for new ones.
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
    return begun.splice(0).join("");
  };
  const all = "aaaaabbbbbcc".split("").map(run);
  expect(await settled()).toBe("aabc");
  ends.shift()?.();
  // One is free, and all have one.
  expect(await settled()).toBe("");
  ends.shift()?.();
  expect(await settled()).toBe("a");
  while (ends.length > 0) {
    ends.shift()?.();
    await settled();
  }
  await Promise.all(all);
  await expect(limiter.take("a", async () => "free")).resolves.toBe("free");
});
