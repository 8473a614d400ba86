/**
 * HTTP/2 in clear text: on a plain listener the first bytes of a connection tell which version of HTTP the client speaks.
 *
 * It is not asked for with `Upgrade: h2c`, which stays ignored (RFC 9113 §3.1 dropped it): a proxy before us that passes
 * that on would hand its client a way around itself. The preface is no request that a proxy of HTTP/1.1 sends on: its method is
 * reserved, its version another one, and it stands alone. Behind other bytes it is refused by what reads HTTP/1.1.
 *
 * Untrusted input: everything. Promises: at most 23 bytes are kept of a connection that may still be either; they have as
 * long as the head of a request.
 *
 * @see RFC 9113 §3.3, §3.4
 */
import type { Server, Socket } from "node:net";

import type { Log } from "../../shared/log.ts";
import { ignore } from "../../shared/ignore.ts";
import { refuseConnection } from "./refuse-connection.ts";
import { tellFault } from "../../shared/faults/faults.ts";
import { guard, guardSocket, type Guarded } from "../../shared/faults/guard.ts";

export interface UndecidedConnections {
  /** Cuts connections that have not shown yet what they speak. */
  cutWaiting(): void;
}

export interface PriorKnowledgeOptions {
  readonly log: Log;
  readonly timeoutMs: number;
  /** Takes a connection whose first unread bytes are the preface. */
  serveHttp2(socket: Socket): void;
  /** Told of a connection that is HTTP/1.1, before any other listener. @param bytes have come already */
  onHttp1(socket: Socket, bytes: number): void;
}

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** How a connection begins. @returns "partly": what follows decides */
export function beginsWithPreface(bytes: Buffer): "yes" | "no" | "partly" {
  const known = Math.min(bytes.length, PREFACE.length);
  if (bytes.compare(PREFACE, 0, known, 0, known) !== 0) return "no";
  return known < PREFACE.length ? "partly" : "yes";
}

/** Makes a connection fit for node:http2. @param first bytes of it, read already */
export function leaveToHttp2(socket: Socket, first: Buffer): void {
  // Servers of HTTP/1.1 leave the other half open: node:http2 would wait for a client that has gone.
  socket.allowHalfOpen = false;
  socket.pause();
  socket.unshift(first);
}

/**
 * Takes the place of what the server does with a new connection, and does that where it is HTTP/1.1. Call it when all
 * listeners for "connection" are there, and before `expectProxyHeaders()`.
 */
export function expectPreface(server: Server, options: PriorKnowledgeOptions): UndecidedConnections {
  const listeners = server.listeners("connection") as ((socket: Socket) => void)[];
  const waiting = new Set<Undecided>();
  const owner: UndecidedOwner = {
    ...options,
    waiting,
    serveHttp1(socket, bytes) {
      options.onHttp1(socket, bytes.length);
      for (const listener of listeners) listener.call(server, socket);
      // Cheaper than to put them back: whoever listens now takes them for what came.
      socket.emit("data", bytes);
    },
  };
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) =>
    guardSocket(socket, () => void waiting.add(new Undecided(owner, socket)))(),
  );
  return {
    cutWaiting() {
      for (const each of waiting) each.cut();
    },
  };
}

interface UndecidedOwner extends PriorKnowledgeOptions {
  readonly waiting: Set<Undecided>;
  serveHttp1(socket: Socket, bytes: Buffer): void;
}

class Undecided implements Guarded {
  readonly #owner: UndecidedOwner;
  readonly #socket: Socket;
  readonly #timer: NodeJS.Timeout;
  #bytes: Buffer | undefined;

  constructor(owner: UndecidedOwner, socket: Socket) {
    this.#owner = owner;
    this.#socket = socket;
    this.#timer = setTimeout(
      guard(this, () => this.#refuse(408)),
      owner.timeoutMs,
    );
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("error", ignore);
    socket.on("close", this.#onClose);
  }

  broke(error: unknown): void {
    tellFault({ scope: "request", what: "a connection", error });
    this.#socket.destroy();
  }

  cut(): void {
    this.#socket.destroy();
  }

  readonly #onData = guard(this, (chunk: Buffer): void => {
    const bytes = this.#bytes === undefined ? chunk : Buffer.concat([this.#bytes, chunk]);
    const isPreface = beginsWithPreface(bytes);
    if (isPreface === "partly") {
      this.#bytes = bytes;
      return;
    }
    this.#settle();
    if (isPreface === "no") return this.#owner.serveHttp1(this.#socket, bytes);
    leaveToHttp2(this.#socket, bytes);
    this.#owner.serveHttp2(this.#socket);
  });

  readonly #onEnd = guard(this, (): void => {
    if (this.#bytes === undefined) this.#socket.destroy();
    else this.#refuse(400);
  });

  #refuse(status: number): void {
    this.#settle();
    this.#socket.on("error", ignore);
    this.#owner.log.debug({ peer: this.#socket.remoteAddress, status }, "request could not be read");
    refuseConnection(this.#socket, status);
  }

  readonly #onClose = guard(this, () => this.#settle());

  #settle(): void {
    clearTimeout(this.#timer);
    this.#owner.waiting.delete(this);
    this.#socket.off("data", this.#onData);
    this.#socket.off("end", this.#onEnd);
    this.#socket.off("error", ignore);
    this.#socket.off("close", this.#onClose);
  }
}
