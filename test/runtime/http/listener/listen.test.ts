/** Connections that come while the process is busy: they wait for it, in the system. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";

import { expect, test } from "vitest";

import { listen } from "../../../../runtime/http/listener/listen.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";

/** More than Node's default, and no more than the system allows. */
const CONNECTIONS = Math.min(1_000, Number(readFileSync("/proc/sys/net/core/somaxconn", "latin1")));

/** Says how many are connected when all are, or when the time is over. */
const CLIENTS = `
const [port, count] = process.argv.slice(1).map(Number);
let connected = 0;
const end = () => { console.log(connected); process.exit(0); };
setTimeout(end, 10_000);
for (let index = 0; index < count; index += 1)
  require("node:net").connect(port, "127.0.0.1", () => { connected += 1; if (connected === count) end(); });
`;

test("listen() lets a thousand simultaneous clients wait for a blocked process", async () => {
  const server = createServer((socket) => void socket.on("error", () => {}).resume());
  await listen(server, "127.0.0.1:0", silentLog());
  const { port } = server.address() as AddressInfo;
  // Nothing is accepted until it is over.
  const connected = execFileSync(process.execPath, ["-e", CLIENTS, String(port), String(CONNECTIONS)], {
    encoding: "utf8",
  });
  await new Promise((resolve) => server.close(resolve));
  expect(Number(connected)).toBe(CONNECTIONS);
});
