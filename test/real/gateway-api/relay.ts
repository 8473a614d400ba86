/** Passes connections on to endpoints, one after the other. */
import { connect, createServer, type Server, type Socket } from "node:net";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface Relay {
  endpoints: readonly Endpoint[];
  close(): void;
}

export async function startRelay(host: string, port: number): Promise<Relay> {
  const open = new Set<Socket>();
  let next = 0;
  const relay: Relay = {
    endpoints: [],
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    const endpoint = relay.endpoints[next++ % relay.endpoints.length];
    if (!endpoint) {
      socket.destroy();
      return;
    }
    const target = connect({ ...endpoint, allowHalfOpen: true });
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.once("close", () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, host, resolve));
  return relay;
}
