/** Stands between a gateway and what it connects to, and can cut, refuse or slow down what passes. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Forwarder {
  readonly port: number;
  /** Breaks every connection, in both directions. */
  cut(): void;
  /** Until it is taken back, connections are taken and broken at once. */
  refuse(refuses: boolean): void;
  /** What clients send from now on arrives so much later, in order. */
  delay(ms: number): void;
  close(): Promise<void>;
}

export async function startForwarder(targetPort: number): Promise<Forwarder> {
  const open = new Set<Socket>();
  let refuses = false;
  let delayMs = 0;
  const server = createServer({ noDelay: true }, (client) => {
    if (refuses) return void client.resetAndDestroy();
    const target = connect({ port: targetPort, host: "127.0.0.1", noDelay: true });
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      open.add(socket);
      socket.on("error", () => other.destroy());
      socket.once("close", () => {
        open.delete(socket);
        other.destroy();
      });
    }
    target.pipe(client);
    passLate(client, target, () => delayMs);
    return undefined;
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    refuse(whether) {
      refuses = whether;
      if (whether) cut();
    },
    delay: (ms) => void (delayMs = ms),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/** Bytes wait in a queue of their own, so that none overtakes another when the delay changes. */
function passLate(from: Socket, to: Socket, delayMs: () => number): void {
  const waiting: { readonly chunk: Buffer; readonly due: number }[] = [];
  let timer: NodeJS.Timeout | undefined;
  const pass = (): void => {
    timer = undefined;
    while (waiting[0] !== undefined && waiting[0].due <= performance.now()) to.write(waiting.shift()?.chunk ?? "");
    if (waiting[0] !== undefined) timer = setTimeout(pass, Math.max(1, waiting[0].due - performance.now()));
  };
  from.on("data", (chunk: Buffer) => {
    const ms = delayMs();
    if (ms === 0 && waiting.length === 0) return void to.write(chunk);
    waiting.push({ chunk, due: performance.now() + ms });
    timer ??= setTimeout(pass, ms);
    return undefined;
  });
  from.once("end", () => setTimeout(() => to.end(), delayMs()));
  from.once("close", () => clearTimeout(timer));
}
