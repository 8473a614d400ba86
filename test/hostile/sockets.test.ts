/**
 * Attackers who keep their end of a connection open: the gateway closes its own end soon after any response, so that they
 * cannot use up its descriptors. A real process, whose open descriptors are counted.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { makeTestCertificate, openCertificateFolder } from "../support/certificates.ts";
import { freePort } from "../support/ports.ts";
import { runGateway, type RunningGateway } from "../support/run-gateway.ts";
import { startWebSocketUpstream, type WebSocketUpstream } from "../support/websocket-upstream.ts";
import { mayStall } from "../support/stall-limit.ts";

// Opens thousands of sockets in one turn.
mayStall(600);

let folder: Awaited<ReturnType<typeof openCertificateFolder>>;
let upstream: WebSocketUpstream;
const gateways = new Map<string, RunningGateway>();
/** Takes every handshake, and keeps its end open whatever comes. */
let deaf: Server;
let redirectPort = 0;

beforeAll(async () => {
  folder = await openCertificateFolder();
  const { certificateFile, keyFile } = await folder.write(
    "0",
    makeTestCertificate({ name: "app.example", dns: ["app.example"] }),
  );
  const certified = {
    insecure_server: undefined,
    development: undefined,
    certificates: [{ certificate_file: certificateFile, certificate_key_file: keyFile }],
  };
  upstream = await startWebSocketUpstream();
  deaf = await startDeafUpstream();
  redirectPort = await freePort();
  await start("plain", {});
  await start("secure", {
    ...certified,
    use_proxy_protocol: true,
    http_redirect_address: `127.0.0.1:${redirectPort}`,
  });
});
afterAll(async () => {
  await Promise.all([...gateways.values()].map((each) => each.close()));
  await upstream?.close();
  deaf?.close();
  await folder?.close();
});

async function start(name: string, boot: object): Promise<void> {
  const route = (path: string, policy: string, more = "", to?: Server): string => {
    const origin = to === undefined ? upstream.origin : `http://127.0.0.1:${(to.address() as AddressInfo).port}`;
    return `  - { from: "https://app.example", prefix: "${path}", to: "${origin}", ${more} policy: [{ ${policy} }] }\n`;
  };
  const gateway = await runGateway({
    // All of them come together, to a process that has just started.
    boot: { ...boot, queue_timeout: "60s" },
    yaml: [
      "routes:\n",
      route("/no", "allow: { and: [{ accept: true }] }", "allow_websockets: true,"),
      route("/deaf", "allow: { and: [{ accept: true }] }", "allow_websockets: true,", deaf),
      route("/without", "allow: { and: [{ accept: true }] }"),
      route(
        "/denied",
        "allow: { and: [{ accept: true }] }, deny: { and: [{ http_method: { is: GET } }] }",
        "allow_websockets: true,",
      ),
    ].join(""),
  });
  gateways.set(name, gateway);
}

async function startDeafUpstream(): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    socket.on("data", (head: Buffer) => {
      const key = /sec-websocket-key: (\S+)/i.exec(head.toString("latin1"))?.[1];
      if (key === undefined) return;
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** Sockets among the open descriptors of the gateway's processes. */
async function openDescriptors(gateway: RunningGateway): Promise<number> {
  const pids = [gateway.process.pid, ...(await gateway.workers()).map(({ pid }) => pid)];
  return [...new Set(pids)].reduce<number>((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0);
}

type Listener = "plain" | "secure" | "redirecting";

interface Stranger {
  readonly socket: Socket;
  readonly text: () => string;
}

/** Connects, writes, reads, and never closes its own end. @param bytes undefined: it does not even begin with TLS */
function stranger(listener: Listener, bytes: string | undefined, head = PROXY_HEAD): Stranger {
  const port = listener === "redirecting" ? redirectPort : portOf(listener);
  const raw = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  if (listener !== "plain") raw.write(head);
  const socket =
    listener === "secure" && bytes !== undefined
      ? connectTls({ socket: raw, servername: "app.example", rejectUnauthorized: false })
      : raw;
  let text = "";
  // TLS clients of node close their end with the server's: these do not react to it.
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  for (const each of [raw, socket]) each.on("error", () => {});
  if (bytes !== undefined) socket.write(bytes, "latin1");
  return { socket: raw, text: () => text };
}

function gatewayOf(listener: Listener): RunningGateway {
  const gateway = gateways.get(listener === "plain" ? "plain" : "secure");
  if (!gateway) throw new Error("the gateway has not started");
  return gateway;
}

function portOf(listener: Listener): number {
  return Number(new URL(gatewayOf(listener).origin).port);
}

const handshake = (path: string, host = "app.example", version = "13", key = "dGhlIHNhbXBsZSBub25jZQ=="): string =>
  [
    `GET ${path} HTTP/1.1`,
    `Host: ${host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    `Sec-WebSocket-Key: ${key}`,
    `Sec-WebSocket-Version: ${version}`,
    "",
    "",
  ].join("\r\n");

const GET = "GET /no HTTP/1.1\r\nHost: app.example\r\n";
const PROXY_HEAD = "PROXY TCP4 192.0.2.1 192.0.2.2 1000 443\r\n";

const HANDSHAKES: readonly [string, string, number][] = [
  ["that the upstream answers with 403", handshake("/no"), 403],
  ["to a route without WebSocket", handshake("/without"), 403],
  ["that needs a sign-in", handshake("/denied"), 401],
  ["to a foreign host", handshake("/no", "evil.example"), 404],
  ["of an old version", handshake("/no", "app.example", "8"), 426],
  ["without a good key", handshake("/no", "app.example", "13", "c2hvcnQ="), 400],
];

const OTHERS: readonly [string, string, number][] = [
  ["CONNECT", "CONNECT app.example:443 HTTP/1.1\r\nHost: app.example\r\n\r\n", 405],
  ["no HTTP", "what is this\r\n\r\n", 400],
  ["a bad Host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400],
  ["an expectation that cannot be met", `${GET}Expect: tea\r\n\r\n`, 417],
  ["a body for an unknown host", "POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 10000000\r\n\r\nab", 404],
  ["Connection: close", `${GET}Connection: close\r\n\r\n`, 200],
  ["HTTP/1.0", "GET /no HTTP/1.0\r\nHost: app.example\r\n\r\n", 200],
];

const REDIRECTED: readonly [string, string, number][] = [
  ["a page", "GET /no HTTP/1.1\r\nHost: app.example\r\n\r\n", 308],
  ["a handshake", handshake("/no"), 308],
  ["CONNECT", "CONNECT app.example:443 HTTP/1.1\r\nHost: app.example\r\n\r\n", 405],
  ["no HTTP", "what is this\r\n\r\n", 400],
  ["a body", "POST / HTTP/1.1\r\nHost: app.example\r\nContent-Length: 10000000\r\n\r\nab", 403],
];

/** 240 attackers' connections that expect a response, and some that never send a valid request. */
async function expectNoneLeft(
  name: "plain" | "secure",
  cases: readonly (readonly [Listener, string, string, number])[],
  arriveSilent: () => readonly Stranger[] = () => [],
): Promise<void> {
  const before = await openDescriptors(gatewayOf(name));
  const silent = arriveSilent();
  const asking = Array.from({ length: 240 }, (_, index) => {
    const [listener, title, bytes, status] = cases[index % cases.length] as (typeof cases)[number];
    return { ...stranger(listener, bytes), title, status };
  });
  try {
    await expect.poll(() => asking.filter(({ text }) => !text().startsWith("HTTP/1.1 ")).length).toBe(0);
    for (const { text, title, status } of asking) expect(text(), title).toContain(`HTTP/1.1 ${status} `);
    // A few more may stay: connections to upstreams and of this very look.
    await expect.poll(() => openDescriptors(gatewayOf(name)), { interval: 200 }).toBeLessThanOrEqual(before + 12);
  } finally {
    for (const { socket } of [...asking, ...silent]) socket.destroy();
  }
}

/** TLS connections are opened for app.example, so an unknown host is misdirected there. */
const to = (listener: Listener, cases: readonly (readonly [string, string, number])[]) =>
  cases.map(
    ([title, bytes, status]) =>
      [listener, title, bytes, status === 404 && listener === "secure" ? 421 : status] as const,
  );

describe.concurrent("240 clients that never close their end leave no descriptor behind", () => {
  test("handshakes answered otherwise, requests whose answer closes, and WebSockets half closed", () => {
    const halfClosed = (): readonly Stranger[] =>
      Array.from({ length: 40 }, () => {
        const each = stranger("plain", handshake("/deaf"));
        each.socket.once("data", () => each.socket.end());
        return each;
      });
    return expectNoneLeft("plain", to("plain", [...HANDSHAKES, ...OTHERS]), halfClosed);
  });

  test("the same over TLS behind PROXY heads, at the plain listener next to it, and without good TLS or head", () => {
    const arriveSilent = (): readonly Stranger[] =>
      Array.from({ length: 40 }, () => [
        stranger("secure", undefined),
        stranger("secure", undefined, ""),
        stranger("secure", undefined, `${PROXY_HEAD}no TLS\r\n\r\n`),
        stranger("redirecting", undefined),
        stranger("redirecting", undefined, ""),
      ]).flat();
    const cases = [...to("secure", [...HANDSHAKES, ...OTHERS]), ...to("redirecting", REDIRECTED)];
    return expectNoneLeft("secure", cases, arriveSilent);
  });
});

test.each(["plain", "secure", "redirecting"] as const)("an idle connection is probed: %s", async (listener) => {
  const { socket } = stranger(listener, undefined);
  try {
    await expect.poll(() => hasKeepAliveTimer(listener === "redirecting" ? redirectPort : portOf(listener))).toBe(true);
  } finally {
    socket.destroy();
  }
});

const PRLIMIT = "/usr/bin/prlimit";

test.skipIf(!existsSync(PRLIMIT))(
  "without a descriptor left newcomers are closed, it is said once, and then they are served again",
  async () => {
    const gateway = gatewayOf("plain");
    const pid = gateway.process.pid ?? 0;
    const limitTo = (descriptors: string): void => {
      expect(spawnSync(PRLIMIT, [`--pid=${pid}`, `--nofile=${descriptors}:`]).status).toBe(0);
    };
    const limit = /^Max open files\s+(\S+)/m.exec(readFileSync(`/proc/${pid}/limits`, "latin1"))?.[1] ?? "";
    const strangers: Stranger[] = [];
    const arrive = (): Stranger => {
      const each = stranger("plain", `${GET}\r\n`);
      strangers.push(each);
      return each;
    };
    const soon = { interval: 100 };
    try {
      limitTo(String(readdirSync(`/proc/${pid}/fd`).length));
      await expect
        .poll(() => {
          arrive();
          return strangers.some(({ socket, text }) => socket.destroyed && text() === "");
        }, soon)
        .toBe(true);
      // Connections that they hold open.
      limitTo("1");
      await expect.poll(() => gateway.log(), soon).toContain("out of file descriptors");
      limitTo(limit);
      await expect.poll(() => gateway.log(), soon).toContain("file descriptors available again");
      const last = arrive();
      await expect.poll(last.text, soon).toContain("HTTP/1.1 200 ");
      expect(gateway.log().split("out of file descriptors")).toHaveLength(2);
    } finally {
      limitTo(limit);
      for (const { socket } of strangers) socket.destroy();
    }
  },
);

/** True for an established connection at our port; see proc_net_tcp.txt of the kernel: timer 02 is keep-alive's. */
function hasKeepAliveTimer(port: number): boolean {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")} `;
  const lines = readFileSync("/proc/net/tcp", "latin1").split("\n");
  return lines.some((line) => line.slice(0, 24).includes(local) && / 01 [0-9A-F]{8}:[0-9A-F]{8} 02:/.test(line));
}
