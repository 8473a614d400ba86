/** One client opens many streams to an upstream that does not answer: other clients and upstreams still get connections. */
import { connect as connectHttp2 } from "node:http2";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { runGateway } from "../support/run-gateway.ts";

const DESCRIPTORS = 400;
/** Two fifths of them. */
const FOR_UPSTREAMS = 160;
const ATTACKER = "127.0.0.1";
const OTHER = "127.0.0.2";

/** Responds only to /now. */
async function startUpstream() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      if (bytes.toString("latin1").startsWith("GET /now "))
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { sockets, port: (server.address() as AddressInfo).port };
}

test("streams of HTTP/2 to a slow upstream do not use the descriptors of others", { timeout: 120_000 }, async () => {
  const slow = await startUpstream();
  const fast = await startUpstream();
  const route = (name: string, upstream: number): string =>
    `  - { name: ${name}, from: "http://${name}.example", to: "http://127.0.0.1:${upstream}", timeout: 100s, allow_public_unauthenticated_access: true }\n`;
  const gateway = await runGateway({
    descriptors: DESCRIPTORS,
    yaml: `routes:\n${route("slow", slow.port)}${route("fast", fast.port)}`,
  });
  onTestFinished(() => gateway.close());
  const port = Number(new URL(gateway.origin).port);
  let ended = 0;
  const sessions = Array.from({ length: 4 }, () => {
    const session = connectHttp2("http://slow.example", {
      createConnection: () => connect({ port, host: "127.0.0.1", localAddress: ATTACKER }),
    });
    session.on("error", () => {});
    onTestFinished(() => session.destroy());
    for (let count = 0; count < 100; count += 1) {
      const stream = session.request({ ":path": "/wait" });
      stream.on("error", () => {});
      stream.on("close", () => (ended += 1));
      stream.resume();
    }
    return session;
  });
  const ask = async (host: string): Promise<string> => {
    let text = "";
    const socket = connect({ port, host: "127.0.0.1", localAddress: OTHER });
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.on("data", (bytes) => (text += bytes.toString("latin1")));
    socket.write(`GET /now HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    await expect.poll(() => text, { timeout: 30_000 }).toContain("HTTP/1.1 ");
    return text;
  };
  // A third of the connections to upstreams is for one client.
  await expect.poll(() => slow.sockets.size, { timeout: 30_000 }).toBeGreaterThan(FOR_UPSTREAMS / 4);
  expect(await ask("fast.example")).toContain("200 OK");
  expect(await ask("slow.example")).toContain("200 OK");
  expect(slow.sockets.size).toBeLessThanOrEqual(FOR_UPSTREAMS / 2);
  expect(await ask("fast.example")).toContain("200 OK");
  // Those of the client that are above its share wait: none was answered.
  expect(ended).toBe(0);
  for (const session of sessions) session.destroy();
  await expect.poll(() => slow.sockets.size, { timeout: 30_000 }).toBeLessThan(3);
  expect(await ask("slow.example")).toContain("200 OK");
});
