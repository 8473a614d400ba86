/** A load balancer of connections, in the place of the one that stands before replicas. */
import { connect, createServer, type Socket } from "node:net";

export interface Balancer {
  /** From now on connections go to this replica; undefined: to each in turn. */
  prefer(replica: number | undefined): void;
  close(): Promise<void>;
}

/** @param replicas their ports on this machine */
export async function startBalancer(port: number, replicas: readonly number[]): Promise<Balancer> {
  let preferred: number | undefined;
  let turn = 0;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    turn += 1;
    const replica = connect(replicas[preferred ?? turn % replicas.length] ?? 0, "127.0.0.1");
    for (const [socket, other] of [
      [client, replica],
      [replica, client],
    ] as const) {
      open.add(socket);
      socket.pipe(other);
      socket.on("error", () => other.destroy());
      socket.once("close", () => {
        open.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    prefer: (replica) => void (preferred = replica),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
