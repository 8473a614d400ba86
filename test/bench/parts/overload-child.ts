/**
 * Clients of overload.ts, in a process of their own: `node overload-child.ts OPTIONS` (JSON) prints what became of what they
 * asked for, or, for a flood, runs until it is killed.
 *
 * Open loop: requests are due at a fixed rate, whatever became of those before. Each goes over a connection that has nothing
 * under way; one that has no answer in time from when it was due is given up with its connection, as a client would. Percentiles
 * count from when it was sent: until the next tick of our own timer nobody has asked for anything, and that millisecond or two
 * would be most of a quiet p99, and hide what a flood adds.
 */
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import { answerLength } from "../common/answers.ts";
import { percentiles } from "../common/table.ts";

export interface OverloadOptions {
  readonly port: number;
  /** Whole requests, in latin1; asked for in turn. */
  readonly requests: readonly string[];
  /** Addresses of the machine's own network that clients call from, in turn. */
  readonly addresses: readonly string[];
  readonly connections: number;
  readonly warmupMs: number;
  readonly durationMs: number;
  readonly timeoutMs: number;
  /** "capacity" and "flood": each connection asks again at once. "connect": each flood's connection asks once. */
  readonly kind: "capacity" | "open" | "flood" | "connect" | "tls";
  /** Requests a second, of "open". */
  readonly rate: number;
}

export interface OverloadResult {
  readonly seconds: number;
  /** Answered below 500, in time. */
  readonly good: number;
  readonly shed: number;
  /** Another answer of 5xx. */
  readonly failed: number;
  readonly late: number;
  /** There was no connection left to send it over, or it broke. */
  readonly broken: number;
  /** Longest time in which this process did nothing of what was due: somebody else had its core. */
  readonly stoodStillMs: number;
  readonly p50: number;
  readonly p99: number;
}

interface Client {
  socket: Socket;
  pending: string;
  dueAt: number;
  sentAt: number;
  isBusy: boolean;
  isOpen: boolean;
}

const TICK_MS = 1;

export class Clients {
  readonly #options: OverloadOptions;
  readonly #requests: readonly Buffer[];
  readonly #idle: Client[] = [];
  readonly #busy = new Set<Client>();
  readonly #micros: number[] = [];
  #next = 0;
  #opened = 0;
  #open = 0;
  #isCounting = false;
  #again = false;
  #good = 0;
  #shed = 0;
  #failed = 0;
  #late = 0;
  #broken = 0;
  #stoodStillMs = 0;

  constructor(options: OverloadOptions) {
    this.#options = options;
    this.#requests = options.requests.map((text) => Buffer.from(text, "latin1"));
  }

  /** A few hundred at a time: more would not fit into the queue of connections that wait to be accepted. */
  async openAll(): Promise<void> {
    while (this.#open < this.#options.connections) {
      const some = Math.min(200, this.#options.connections - this.#open);
      await Promise.all(
        Array.from(
          { length: some },
          () =>
            new Promise<void>((resolve) =>
              this.#connect((client) => {
                this.#idle.push(client);
                resolve();
              }),
            ),
        ),
      );
    }
  }

  async run(): Promise<OverloadResult> {
    const { kind, rate, warmupMs, durationMs, timeoutMs } = this.#options;
    const startedAt = performance.now();
    const countsAt = startedAt + warmupMs;
    const endsAt = countsAt + durationMs;
    this.#again = kind !== "open";
    if (this.#again) for (const client of this.#idle.splice(0)) this.#ask(client, performance.now());
    let due = 0;
    let lastMs = startedAt;
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const now = performance.now();
        this.#stoodStillMs = Math.max(this.#stoodStillMs, now - lastMs);
        lastMs = now;
        this.#isCounting = now >= countsAt;
        if (kind === "open") {
          const until = Math.min(now, endsAt);
          for (; due < ((until - startedAt) / 1000) * rate; due += 1) this.#begin(startedAt + (due / rate) * 1000);
        }
        // Behind the answers that have come: where this process stood still, they came in time, and were not read.
        setImmediate(() => this.#giveUp(now));
        if (now < endsAt) return;
        this.#again = false;
        if (kind === "open" && this.#busy.size > 0 && now < endsAt + timeoutMs) return;
        clearInterval(timer);
        resolve();
      }, TICK_MS);
    });
    const figures = {
      good: this.#good,
      shed: this.#shed,
      failed: this.#failed,
      late: this.#late,
      broken: this.#broken,
      stoodStillMs: Math.round(this.#stoodStillMs),
    };
    return { seconds: durationMs / 1000, ...figures, ...percentiles(this.#micros) };
  }

  /** Of requests that were due while the figures are taken. */
  #counts(dueAt: number): boolean {
    return this.#isCounting && dueAt > 0;
  }

  #giveUp(now: number): void {
    // Sets keep the order in which requests were sent.
    for (const client of this.#busy) {
      if (now - client.dueAt < this.#options.timeoutMs) break;
      if (this.#counts(client.dueAt)) this.#late += 1;
      client.isBusy = false;
      this.#busy.delete(client);
      client.socket.destroy();
    }
  }

  #begin(dueAt: number): void {
    const client = this.#idle.pop();
    if (client !== undefined) this.#ask(client, dueAt);
    else if (this.#open < this.#options.connections) this.#connect((fresh) => this.#askInTime(fresh, dueAt));
    else if (this.#counts(dueAt)) this.#broken += 1;
  }

  /** Over a new connection. One that was long in coming is the next request's: nobody waits for this one any more. */
  #askInTime(client: Client, dueAt: number): void {
    if (performance.now() - dueAt < this.#options.timeoutMs) return this.#ask(client, dueAt);
    if (this.#counts(dueAt)) this.#late += 1;
    this.#idle.push(client);
  }

  #ask(client: Client, dueAt: number): void {
    client.isBusy = true;
    client.dueAt = dueAt;
    client.sentAt = performance.now();
    this.#busy.add(client);
    client.socket.write(this.#requests[this.#next++ % this.#requests.length] as Buffer);
  }

  #connect(then: (client: Client) => void): void {
    const { port, addresses } = this.#options;
    const localAddress = addresses[this.#opened++ % addresses.length] as string;
    const socket = connect({ port, host: "127.0.0.1", localAddress, noDelay: true });
    const client: Client = { socket, pending: "", dueAt: 0, sentAt: 0, isBusy: false, isOpen: false };
    this.#open += 1;
    socket.once("connect", () => {
      client.isOpen = true;
      then(client);
    });
    socket.on("data", (chunk) => this.#take(client, chunk.toString("latin1")));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#open -= 1;
      if (client.isBusy && this.#counts(client.dueAt)) this.#broken += 1;
      this.#busy.delete(client);
      const at = this.#idle.indexOf(client);
      if (at !== -1) this.#idle.splice(at, 1);
      if (this.#again) this.#connect((fresh) => this.#ask(fresh, performance.now()));
    });
  }

  #take(client: Client, text: string): void {
    client.pending += text;
    const length = answerLength(client.pending);
    if (length === undefined || client.pending.length < length) return;
    const { pending } = client;
    client.pending = pending.slice(length);
    if (!client.isBusy) return;
    client.isBusy = false;
    this.#busy.delete(client);
    const status = Number(pending.slice(9, 12));
    const now = performance.now();
    if (this.#counts(client.dueAt)) {
      if (status === 503) this.#shed += 1;
      else if (status >= 500) this.#failed += 1;
      else {
        this.#good += 1;
        this.#micros.push((now - client.sentAt) * 1000);
      }
    }
    if (/\r\nconnection: close\r\n/i.test(pending)) return;
    if (this.#again) this.#ask(client, now);
    else this.#idle.push(client);
  }
}

/** Connections that are opened, used once and closed, as many at a time as there are. */
function floodWithConnections({ port, requests, addresses, connections, kind }: OverloadOptions): void {
  const next = (index: number): void => {
    const localAddress = addresses[index % addresses.length] as string;
    const to = { port, host: "127.0.0.1", localAddress };
    const socket =
      kind === "tls" ? connectTls({ ...to, rejectUnauthorized: false, servername: "localhost" }) : connect(to);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => setImmediate(next, index));
    socket.once(kind === "tls" ? "secureConnect" : "connect", () => {
      const request = requests[0];
      if (request === undefined) socket.destroy();
      else socket.write(request, "latin1");
    });
    socket.once("data", () => socket.destroy());
  };
  for (let index = 0; index < connections; index += 1) next(index);
}

if (import.meta.main) {
  const options = JSON.parse(process.argv[2] ?? "{}") as OverloadOptions;
  if (options.kind === "connect" || options.kind === "tls") floodWithConnections(options);
  else {
    const clients = new Clients(options);
    await clients.openAll();
    console.log(JSON.stringify(await clients.run()));
    process.exit(0);
  }
}
