/** Reloads under load, shutdown, several upstreams. */
import { Agent, request as httpRequest } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import type { Socket } from "node:net";

import { freePort } from "../../support/ports.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";
import { openRaw, sendRaw } from "../../support/raw-client.ts";
import { answerOk, startVictim, type Victim, type VictimAnswer } from "../../support/victim.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

async function victim(answer: VictimAnswer = answerOk): Promise<Victim> {
  const started = await startVictim(answer);
  open.unshift(started);
  return started;
}

async function pipeline(yaml: string): Promise<Pipeline> {
  const started = await startPipeline(yaml);
  open.unshift(started);
  return started;
}

const route = (to: string, extra = ""): string => `
  routes:
    - from: https://app.example
      to: ${to}
      ${extra}
      policy: [{ allow: { and: [{ accept: true }] } }]
`;
const GET = "GET /a HTTP/1.1\r\nHost: app.example\r\n\r\n";

describe("reload", () => {
  test("20 swaps under load fail no request, and the last one is active", async () => {
    const upstream = await victim();
    const proxy = await pipeline(route(upstream.origin));
    const agent = new Agent({ keepAlive: true, maxSockets: 16 });
    const load = { goesOn: true };
    let answered = 0;
    const failures: unknown[] = [];
    const once = (): Promise<void> =>
      new Promise((resolve) => {
        const sent = httpRequest(
          { port: proxy.port, host: "127.0.0.1", agent, path: "/a", headers: { host: "app.example" } },
          (response) => {
            if (response.statusCode !== 200) failures.push(response.statusCode);
            response.resume();
            response.on("end", () => {
              answered += 1;
              resolve();
            });
          },
        );
        sent.on("error", (error) => {
          failures.push(error);
          resolve();
        });
        sent.end();
      });
    const workers = Array.from({ length: 16 }, async () => {
      while (load.goesOn) await once();
    });
    for (let swap = 1; swap <= 20; swap += 1) {
      const target = answered + 20;
      await expect.poll(() => answered, { interval: 1 }).toBeGreaterThan(target);
      proxy.swap(route(upstream.origin, `set_response_headers: { X-Swap: "${swap}" }`));
    }
    load.goesOn = false;
    await Promise.all(workers);
    agent.destroy();
    expect(failures).toEqual([]);
    expect((await sendRaw(proxy.port, GET)).headers.get("x-swap")).toEqual(["20"]);
  });

  test("a request in flight ends on the configuration it began with", async () => {
    const held = Promise.withResolvers<Socket>();
    const upstream = await victim((_request, socket) => held.resolve(socket));
    const proxy = await pipeline(route(upstream.origin, "set_response_headers: { X-Swap: before }"));
    const client = openRaw(proxy.port, GET);
    const socket = await held.promise;
    proxy.swap("routes: []");
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    await client.contains("X-Swap: before");
    client.socket.destroy();
    expect((await sendRaw(proxy.port, GET)).status).toBe(404);
  });
});

describe("close()", () => {
  test("finishes requests in flight, closes their connections and accepts no more", async () => {
    const held = Promise.withResolvers<Socket>();
    const upstream = await victim((_request, socket) => held.resolve(socket));
    const proxy = await startPipeline(route(upstream.origin));
    const idle = openRaw(proxy.port);
    const client = openRaw(proxy.port, GET);
    const socket = await held.promise;
    const closing = proxy.close({ timeoutMs: 5_000 });
    await idle.closed;
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    await client.contains("ok");
    await client.closed;
    expect(client.text.toLowerCase()).toContain("connection: close");
    await closing;
    expect((await sendRaw(proxy.port, GET)).status).toBe(0);
  });

  test("ends event streams immediately, and aborts the rest at the deadline", async () => {
    const upstream = await victim((request, socket) => {
      socket.write(
        request.target === "/events"
          ? "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
          : "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nbegin",
      );
    });
    const proxy = await startPipeline(route(upstream.origin));
    const events = openRaw(proxy.port, GET.replace("/a", "/events"));
    const slow = openRaw(proxy.port, GET);
    await Promise.all([events.contains("event-stream"), slow.contains("begin")]);
    const closing = proxy.close({ timeoutMs: 300 });
    await events.contains("0\r\n\r\n");
    await closing;
    await slow.closed;
    expect(slow.text).not.toContain("0\r\n\r\n");
  });
});

describe("several upstreams", () => {
  test("take requests by their weights", async () => {
    const [one, two] = [await victim(), await victim()];
    const proxy = await pipeline(route(`["${one.origin},3", "${two.origin},1"]`));
    for (let count = 0; count < 8; count += 1)
      await sendRaw(proxy.port, GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    expect([one.requests.length, two.requests.length]).toEqual([6, 2]);
  });

  test("an unreachable one is ejected, for any method, and no request is sent twice", async () => {
    const up = await victim();
    const proxy = await pipeline(route(`["http://127.0.0.1:${await freePort()}", "${up.origin}"]`));
    const post = "POST /a HTTP/1.1\r\nHost: app.example\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    for (let count = 0; count < 4; count += 1) expect((await sendRaw(proxy.port, post)).status).toBe(200);
    expect(up.requests.map(({ body }) => body.toString())).toEqual(["hello", "hello", "hello", "hello"]);
  });

  test("a POST that was sent and lost is 502 and is not sent again; a GET is, once", async () => {
    const upstream = await victim((_request, socket) => socket.destroy());
    const proxy = await pipeline(route(upstream.origin));
    expect((await sendRaw(proxy.port, GET.replace("GET", "POST"))).status).toBe(502);
    expect(upstream.requests).toHaveLength(1);
    expect((await sendRaw(proxy.port, GET)).status).toBe(502);
    expect(upstream.requests).toHaveLength(3);
  });
});
