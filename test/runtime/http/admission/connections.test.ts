import { createServer, type Server, type Socket } from "node:net";

import { expect, test } from "vitest";

import { boundConnections } from "../../../../runtime/http/admission/connections.ts";
import { goOnAfterErrors } from "../../../../runtime/http/listener/listen.ts";
import { createLog } from "../../../../runtime/shared/log.ts";

const MAX = 12;
const ALICE = "192.0.2.1";
const BOB = "192.0.2.2";

/** A server whose connections the test makes: from any address, and only as far as the bounds look at them. */
function openServer({ perClient = true } = {}) {
  const served: string[] = [];
  const logged: Record<string, unknown>[] = [];
  const server: Server = createServer((socket) => served.push(socket.remoteAddress ?? ""));
  const log = createLog({ destination: { write: (line: string) => void logged.push(JSON.parse(line) as never) } });
  boundConnections(server, { max: MAX, perClient, log }).close();
  return {
    server,
    served,
    logged,
    /** @returns closes it; undefined when the server did */
    connect(remoteAddress: string): (() => void) | undefined {
      let isCut = false;
      let onClose = (): void => {};
      const socket = {
        remoteAddress,
        destroy: () => (isCut = true),
        once: (_name: "close", listener: () => void) => (onClose = listener),
      };
      server.emit("connection", socket as unknown as Socket);
      return isCut ? undefined : () => onClose();
    },
  };
}

function connectMany(server: ReturnType<typeof openServer>, address: string, count: number): (() => void)[] {
  return Array.from({ length: count }, () => server.connect(address)).filter((close) => close !== undefined);
}

test("boundConnections() gives a client as many as are free, and there is room for others", () => {
  const server = openServer();
  expect(connectMany(server, ALICE, 20)).toHaveLength(MAX / 2);
  expect(server.served).toHaveLength(MAX / 2);
  expect(connectMany(server, BOB, 20)).toHaveLength(MAX / 4);
  expect(connectMany(server, "192.0.2.3", 1)).toHaveLength(1);
  expect(server.logged).toMatchObject([
    { msg: "connection limit reached, new connections closed", reason: "client", peer: ALICE },
  ]);
});

test("boundConnections() takes a network of IPv6 for one client", () => {
  const server = openServer();
  const taken = Array.from({ length: 20 }, (_, index) => server.connect(`2001:db8:1:2::${index + 1}`));
  expect(taken.filter((close) => close !== undefined)).toHaveLength(MAX / 2);
  expect(server.connect("2001:db8:1:3::1")).toBeDefined();
});

test("boundConnections() counts down for closed connections, but not for those it closed itself", () => {
  const server = openServer();
  for (let round = 0; round < 3; round += 1) {
    const taken = connectMany(server, ALICE, 20);
    expect(taken).toHaveLength(MAX / 2);
    for (const close of taken) close();
  }
});

test("boundConnections() counts no clients where a proxy holds connections for them", () => {
  const server = openServer({ perClient: false });
  expect(connectMany(server, ALICE, MAX)).toHaveLength(MAX);
  expect(server.server.maxConnections).toBe(MAX);
});

test("a connection that the system cannot accept ends nothing", () => {
  const { server } = openServer();
  const logged: unknown[] = [];
  const log = createLog({ destination: { write: (line: string) => void logged.push(JSON.parse(line)) } });
  goOnAfterErrors(server, log);
  server.emit("error", Object.assign(new Error("accept ENOBUFS"), { code: "ENOBUFS" }));
  expect(logged).toMatchObject([{ failure: "ENOBUFS", msg: "cannot accept connection" }]);
});
