import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * Below what systems hand out for outgoing connections and for port 0 (from 32768 on Linux, 49152 elsewhere): only another
 * `freePort` can take one of these meanwhile, and hardly ever the same.
 */
const FIRST = 20_000;
const LAST = 32_000;

/**
 * A loopback port that was free a moment ago, for programs that must know their own address before they listen (`from` names
 * the port). Callers retry when another process took it meanwhile.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) return port;
  }
  throw new Error(`No port between ${FIRST} and ${LAST} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listens = new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });
  if (!(await listens)) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}
