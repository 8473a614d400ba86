/**
 * Many simultaneous clients, and clients that leave at any moment: no client gets another's response, and nothing is left
 * open.
 */
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;
const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown): void => void unhandled.push(reason);

beforeAll(async () => {
  process.on("unhandledRejection", noteUnhandled);
  // Responds in another order, in pieces, each with the content and user of its request.
  victim = await startVictim((request, socket) => {
    const tag = request.header("x-tag") ?? "";
    const text = `${tag} ${request.header("x-gateway-assertion") ?? ""} ${request.body.toString()} `;
    const body = text.padEnd(tag.endsWith("7") ? 60_000 : 200, "x");
    const answer = `HTTP/1.1 200 OK\r\nx-tag: ${tag}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    setTimeout(
      () => {
        socket.write(answer.slice(0, 150));
        setImmediate(() => socket.write(answer.slice(150)));
      },
      (Number(tag.slice(1)) * 7) % 20,
    );
  });
  pipeline = await startPipeline(`
    runtime_flags: { mcp: true }
    routes:
      - from: https://app.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ authenticated_user: true }] } }]
      - from: https://mcp.example
        to: ${victim.origin}
        mcp: { server: { max_request_bytes: 100000 } }
        policy: [{ allow: { and: [{ authenticated_user: true }] } }]
  `);
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
  process.off("unhandledRejection", noteUnhandled);
});

const USERS = ["alice", "bob", "carol", "dave"] as const;
const userOf = (index: number): string => USERS[index % USERS.length] ?? "alice";

/** Request `index`: its user, route and content. */
function describeRequest(index: number) {
  const user = userOf(index);
  const isMcp = index % 3 === 0;
  const body = JSON.stringify({ jsonrpc: "2.0", id: index, method: "ping" });
  const headers = {
    host: isMcp ? "mcp.example" : "app.example",
    "x-tag": `t${index}`,
    "content-type": "application/json",
    "content-length": String(body.length),
    ...(isMcp ? { authorization: `Bearer gwt_${user}` } : { cookie: `gateway_session=${user}` }),
  };
  const assertion = `assertion.${user}.${headers.host}`;
  return { body, headers, expected: `t${index} ${assertion} ${body} ` };
}

test("each of 600 interleaved requests of four users gets its own answer", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 40 });
  const ask = (index: number): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const { body, headers, expected } = describeRequest(index);
      const sent = httpRequest({ port: pipeline.port, host: "127.0.0.1", agent, method: "POST", path: "/", headers });
      sent.on("error", reject);
      sent.on("response", (response) => {
        let text = "";
        response.setEncoding("latin1");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve(response.headers["x-tag"] === `t${index}` && text.startsWith(expected)));
      });
      sent.end(body);
    });

  const results = await Promise.all(Array.from({ length: 600 }, (_, index) => ask(index)));

  agent.destroy();
  expect(results.filter((isOwn) => !isOwn)).toEqual([]);
});

test("clients that leave at any moment leave nothing behind", async () => {
  const before = pipeline.records.length;
  const visit = (index: number): Promise<void> =>
    new Promise((resolve) => {
      const { body, headers } = describeRequest(index);
      const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      const text = ["POST / HTTP/1.1", ...head, "", body].join("\r\n");
      const socket = connect(pipeline.port, "127.0.0.1");
      socket.on("error", () => {});
      socket.on("close", () => resolve());
      // Before the head is complete, within the body, after it, while the answer comes; by FIN and by RST.
      socket.write(text.slice(0, Math.ceil((text.length * ((index * 13) % 40)) / 30)));
      const leave = (): void => void (index % 2 === 0 ? socket.destroy() : socket.resetAndDestroy());
      if (index % 5 === 0) socket.once("data", leave);
      setTimeout(leave, (index * 3) % 35);
    });

  await Promise.all(Array.from({ length: 400 }, (_, index) => visit(index)));

  await expect.poll(() => pipeline.proxy.underWay).toBe(0);
  await expect.poll(() => pipeline.server.connections()).toBe(0);
  expect(pipeline.proxy.streams.size).toBe(0);
  expect(unhandled).toEqual([]);
  // One record for each check, never two.
  const ids = pipeline.records.slice(before).map((record) => record["request-id"]);
  expect(new Set(ids).size).toBe(ids.length);
});
