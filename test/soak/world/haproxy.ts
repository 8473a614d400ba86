/**
 * HAProxy before two PostgreSQL servers, as it is run beside a manager of failovers: it asks for each server whether that is the
 * primary now, and whoever is not loses its connections at once. Whoever asks a demoted primary on a kept connection would be told
 * what is old.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { HAPROXY } from "../../bench/peers/haproxy.ts";
import { freePort } from "../../support/ports.ts";

export interface DatabaseBalancer {
  readonly port: number;
  close(): Promise<void>;
}

export function findHaproxy(): { readonly missing: string } | undefined {
  return existsSync(HAPROXY) ? undefined : { missing: `no HAProxy at ${HAPROXY}` };
}

/** @param isPrimary asked for the index of each server, several times a second */
export async function startDatabaseBalancer(
  directory: string,
  ports: readonly number[],
  isPrimary: (index: number) => boolean,
): Promise<DatabaseBalancer> {
  const checks = await Promise.all(
    ports.map(async (_, index) => {
      const server = createServer((_request, response) => response.writeHead(isPrimary(index) ? 200 : 503).end());
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return { server, port: (server.address() as AddressInfo).port };
    }),
  );
  const port = await freePort();
  const config = join(directory, "haproxy.cfg");
  const servers = ports.map(
    (each, index) => `  server n${index + 1} 127.0.0.1:${each} check port ${checks[index]?.port}`,
  );
  writeFileSync(
    config,
    `global
  nbthread 1
  maxconn 2000
defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 10s
listen primary
  bind 127.0.0.1:${port}
  option httpchk GET /
  default-server inter 250ms fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join("\n")}
`,
  );
  const child: ChildProcess = spawn("/usr/bin/setpriv", ["--pdeathsig=KILL", HAPROXY, "-db", "-q", "-f", config], {
    stdio: "ignore",
  });
  const gone = once(child, "exit");
  for (let tries = 0; !(await listens(port)); tries += 1) {
    if (tries > 200 || child.exitCode !== null) throw new Error("HAProxy does not listen");
    await delay(50);
  }
  return {
    port,
    async close() {
      child.kill("SIGKILL");
      await gone;
      for (const { server } of checks) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
