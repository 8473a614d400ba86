/** An upstream that does on its sockets what the test says, over TCP or TLS, and knows which of them are open. */
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

import type { Upstream } from "../../runtime/features/connection/compiled.ts";
import { takeRequest, type VictimRequest } from "./victim.ts";

export interface ScriptedUpstream {
  readonly port: number;
  /** Over TLS "https://localhost:PORT", in the clear "http://127.0.0.1:PORT". */
  readonly origin: string;
  /** For the transport, without settings. */
  readonly upstream: Upstream;
  /** Connections so far. */
  readonly connections: number;
  readonly open: ReadonlySet<Socket>;
  /** Complete requests, in order of arrival. */
  readonly requests: readonly VictimRequest[];
  /** Replaces what is done from now on. */
  answer(script: Script): void;
  close(): Promise<void>;
}

/** Called for each complete request. @param count of the request on its connection, from 0 */
export type Script = (socket: Socket, request: VictimRequest, count: number) => void;

export interface ScriptedOptions {
  readonly tls?: TlsOptions;
  /** Called for each connection, before any request. */
  readonly onConnection?: (socket: Socket) => void;
  /** Requests are not read: `onConnection` does all. */
  readonly raw?: boolean;
}

export async function startScriptedUpstream(
  first: Script = ok("ok"),
  { tls, onConnection, raw = false }: ScriptedOptions = {},
): Promise<ScriptedUpstream> {
  const open = new Set<Socket>();
  const requests: VictimRequest[] = [];
  let connections = 0;
  let script = first;
  const accept = (socket: Socket): void => {
    connections += 1;
    open.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    onConnection?.(socket);
    if (raw) {
      // To learn of its end, at least.
      socket.resume();
      return;
    }
    let count = 0;
    let buffered: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      for (let taken = takeRequest(buffered); taken; taken = takeRequest(buffered)) {
        buffered = taken.rest;
        requests.push(taken.request);
        script(socket, taken.request, count);
        count += 1;
      }
    });
  };
  const server = tls ? createTlsServer(tls, accept) : createTcpServer(accept);
  // Clients that do not trust us.
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, tls ? "localhost" : "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origin = tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  return {
    port,
    origin,
    upstream: { origin, host: new URL(origin).host, basePath: "", weight: 1 },
    open,
    requests,
    get connections() {
      return connections;
    },
    answer: (next) => void (script = next),
    close() {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/** A 200 with a length. */
export function ok(body: string): Script {
  return (socket) => void socket.write(okText(body));
}

export function okText(body: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
