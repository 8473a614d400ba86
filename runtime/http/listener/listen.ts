/** Addresses of listeners, and listening on them. */
import type { Server } from "node:net";

import { GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";

export interface ListenAddress {
  /** undefined: every address of this host. */
  readonly host: string | undefined;
  readonly port: number;
}

/**
 * Connections that the system queues until they are accepted, which is one per turn of the event loop. Node's 511 are too few
 * when clients of another process come over, or all reconnect: clients above the limit retry after 1, 3 and 7 seconds. With
 * many more, connections would be accepted after their clients have left. The system may allow less (net.core.somaxconn).
 */
const BACKLOG = 2_048;

/** "host:port", "[v6]:port" or ":port". @throws GatewayError `http.address` */
export function parseAddress(address: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:]*)):([0-9]{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (!match || port > 65_535)
    throw new GatewayError(
      "http.address",
      `Cannot listen on ${JSON.stringify(address)}: must be "host:port" or ":port"`,
    );
  const host = match[1] ?? match[2];
  return { host: host === undefined || host === "" ? undefined : host, port };
}

/** @throws GatewayError `http.listen` */
export function listen(server: Server, address: string, log: Log): Promise<void> {
  const { host, port } = parseAddress(address);
  return new Promise((resolve, reject) => {
    const onError = (cause: Error): void =>
      reject(
        new GatewayError("http.listen", `Cannot listen on ${JSON.stringify(address)}: ${cause.message}`, { cause }),
      );
    server.once("error", onError);
    server.listen({ port, backlog: BACKLOG, ...(host === undefined ? {} : { host }) }, () => {
      server.off("error", onError);
      goOnAfterErrors(server, log);
      resolve();
    });
  });
}

/** Handles failed accepts (no memory, a filter rule): without a listener they would end the process. */
export function goOnAfterErrors(server: Server, log: Log): void {
  server.on("error", (error: NodeJS.ErrnoException) => log.warn({ failure: error.code }, "cannot accept connection"));
}

export function isEveryAddress(address: string): boolean {
  const { host } = parseAddress(address);
  return host === undefined || host === "0.0.0.0" || host === "::";
}

/** Address under which local clients reach a listener: "127.0.0.1:8080". */
export function shownAddress(address: string, port: number): string {
  const shown = isEveryAddress(address) ? "127.0.0.1" : (parseAddress(address).host ?? "");
  return `${shown.includes(":") ? `[${shown}]` : shown}:${port}`;
}
