/**
 * The transport for HTTP/1.1 upstreams: connections that are kept and used again, one request at a time on each.
 *
 * A second request behind a slow one would wait for it, and a broken one would take the others with it: no pipelining.
 */
import { isIP } from "node:net";

import type { Upstream } from "../../config/compiled.ts";
import { errorText } from "../../errors.ts";
import {
  poolKeyOf,
  type Transport,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamReceiver,
  type UpstreamRequest,
} from "../forward-transport.ts";
import { DEFAULT_CONNECT_TIMEOUT_MS, maxUnderWayOf, refuse, type TransportOptions } from "../transport-limits.ts";
import { Connection, type Address, type ConnectionOwner, type ConnectionUser } from "./connection.ts";

/** How often idle connections are looked at; one that is too old is never used, whenever it is closed. */
const SWEEP_MS = 1_000;

export function createHttp1Transport(options: TransportOptions = {}): Transport {
  const pools = new Map<string, Pool>();
  const connectTimeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  let isClosed = false;
  const sweeper = setInterval(() => {
    const now = performance.now();
    for (const pool of pools.values()) pool.sweep(now);
  }, SWEEP_MS);
  sweeper.unref();

  const poolOf = (upstream: Upstream): Pool => {
    const key = poolKeyOf(upstream);
    let known = pools.get(key);
    if (!known) {
      known = new Pool(upstream, connectTimeoutMs, maxUnderWayOf(upstream, options));
      pools.set(key, known);
    }
    return known;
  };

  return {
    send(request, receiver) {
      if (isClosed) return refuse(receiver, "closed", CLOSED);
      return poolOf(request.upstream).send(request, receiver);
    },
    reserve: (upstream) => poolOf(upstream).reserve(),
    retain(named) {
      for (const [key, pool] of pools) {
        if (named.has(key)) continue;
        pools.delete(key);
        pool.retire();
      }
    },
    close() {
      isClosed = true;
      clearInterval(sweeper);
      for (const pool of pools.values()) pool.destroy();
      pools.clear();
      return Promise.resolve();
    },
  };
}

/** All connections of one upstream. */
class Pool implements ConnectionOwner {
  readonly address: Address;
  readonly connectTimeoutMs: number;
  readonly #maxUnderWay: number;
  readonly #maxConnections: number;
  readonly #all = new Set<Connection>();
  /** The one that was used last is used next, so that those too many grow old. */
  #idle: Connection[] = [];
  /** First come, first served. */
  readonly #waiting: Call[] = [];
  #connecting = 0;
  #underWay = 0;
  /** No route names it any more: each connection ends with its answer. */
  #isRetired = false;

  constructor(upstream: Upstream, connectTimeoutMs: number, maxUnderWay: number) {
    this.address = addressOf(upstream);
    this.connectTimeoutMs = connectTimeoutMs;
    this.#maxUnderWay = maxUnderWay;
    this.#maxConnections = upstream.connect?.limits?.maxConnections ?? Number.POSITIVE_INFINITY;
  }

  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall {
    if (this.#underWay >= this.#maxUnderWay) return refuse(receiver, "overloaded", "too many requests under way");
    this.#underWay += 1;
    const call = new Call(this, request, receiver);
    const connection = this.#takeIdle();
    if (connection) call.start(connection);
    else {
      this.#waiting.push(call);
      if (this.#all.size < this.#maxConnections) this.#open();
    }
    return call;
  }

  reserve(): (() => void) | undefined {
    if (this.#underWay >= this.#maxUnderWay) return undefined;
    this.#underWay += 1;
    let isHeld = true;
    return () => {
      if (isHeld) this.#underWay -= 1;
      isHeld = false;
    };
  }

  /** A call is over, whichever way. */
  leave(): void {
    this.#underWay -= 1;
  }

  /** @returns false when it was not waiting */
  forget(call: Call): boolean {
    const index = this.#waiting.indexOf(call);
    if (index >= 0) this.#waiting.splice(index, 1);
    return index >= 0;
  }

  /** Closes what is too old, and gives up what has waited too long for one of a limited number of connections. */
  sweep(now: number): void {
    for (const connection of this.#idle.filter(({ idleUntil }) => idleUntil <= now)) connection.destroy();
    if (this.#maxConnections === Number.POSITIVE_INFINITY) return;
    for (const call of this.#waiting.filter(({ waitsUntil }) => waitsUntil <= now)) {
      this.forget(call);
      call.fail("timeout", "no connection became free in time");
    }
  }

  retire(): void {
    this.#isRetired = true;
    for (const connection of this.#idle.slice()) connection.destroy();
  }

  destroy(): void {
    this.#isRetired = true;
    for (const call of this.#waiting.splice(0)) call.fail("closed", CLOSED);
    for (const connection of this.#all) connection.fail("closed", CLOSED);
  }

  onConnected(): void {
    this.#connecting -= 1;
  }

  onIdle(connection: Connection): void {
    const call = this.#waiting.shift();
    if (call) call.start(connection);
    else if (this.#isRetired) connection.destroy();
    else this.#idle.push(connection);
  }

  onGone(connection: Connection, wasConnected: boolean): void {
    this.#all.delete(connection);
    if (!wasConnected) this.#connecting -= 1;
    const index = this.#idle.lastIndexOf(connection);
    if (index >= 0) this.#idle.splice(index, 1);
    // One of a limited number: somebody may have been waiting for it. Later, for one that waits may be told off just now.
    else if (this.#waiting.length > 0) process.nextTick(() => this.#openForWaiting());
  }

  onUnreachable(failure: UpstreamFailure, detail: string): void {
    // Each is opened for one request; one whose request was served by another connection fails nobody.
    if (this.#waiting.length > this.#connecting) this.#waiting.shift()?.fail(failure, detail);
  }

  #openForWaiting(): void {
    if (this.#waiting.length > this.#connecting && this.#all.size < this.#maxConnections) this.#open();
  }

  #open(): void {
    this.#connecting += 1;
    try {
      this.#all.add(new Connection(this));
    } catch (error) {
      // TLS settings that cannot be used at all.
      this.#connecting -= 1;
      process.nextTick(() => this.onUnreachable("protocol", errorText(error)));
    }
  }

  #takeIdle(): Connection | undefined {
    const connection = this.#idle.pop();
    if (connection === undefined || connection.idleUntil > performance.now()) return connection;
    // Those below may have been promised more time.
    const now = performance.now();
    const old = [connection];
    let usable: Connection | undefined;
    while (usable === undefined && this.#idle.length > 0) {
      const next = this.#idle.pop() as Connection;
      if (next.idleUntil > now) usable = next;
      else old.push(next);
    }
    for (const each of old) each.destroy();
    return usable;
  }
}

/** One request, and the caller's handle on it. */
class Call implements ConnectionUser, UpstreamCall {
  readonly request: UpstreamRequest;
  /** Of `performance.now()`: not longer does it wait for a connection. */
  readonly waitsUntil: number;
  readonly #pool: Pool;
  readonly #receiver: UpstreamReceiver;
  #connection: Connection | undefined;
  #isOver = false;

  constructor(pool: Pool, request: UpstreamRequest, receiver: UpstreamReceiver) {
    this.#pool = pool;
    this.request = request;
    this.#receiver = receiver;
    this.waitsUntil =
      request.headTimeoutMs === 0 ? Number.POSITIVE_INFINITY : performance.now() + request.headTimeoutMs;
  }

  start(connection: Connection): void {
    this.#connection = connection;
    connection.begin(this);
  }

  pause(): void {
    if (!this.#isOver) this.#connection?.pause();
  }

  resume(): void {
    if (!this.#isOver) this.#connection?.resume();
  }

  abort(): void {
    if (!this.#finish()) return;
    if (this.#connection) this.#connection.destroy();
    else this.#pool.forget(this);
  }

  onHead(status: number, headers: string[]): void {
    if (!this.#isOver) this.#receiver.onHead(status, headers);
  }

  onData(chunk: Buffer): void {
    if (!this.#isOver) this.#receiver.onData(chunk);
  }

  onEnd(): void {
    if (this.#finish()) this.#receiver.onEnd();
  }

  fail(failure: UpstreamFailure, detail: string): void {
    if (this.#finish()) this.#receiver.onFailure(failure, detail);
  }

  /** @returns false when it was over before */
  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#pool.leave();
    return true;
  }
}

const CLOSED = "the transport was closed";

function addressOf({ origin, connect }: Upstream): Address {
  const { protocol, hostname, port } = new URL(origin);
  const secure = protocol === "https:";
  const host = hostname.replace(/^\[|\]$/g, "");
  return {
    host,
    port: port === "" ? (secure ? 443 : 80) : Number(port),
    secure,
    serverName: isIP(host) === 0 ? host : undefined,
    tls: connect?.tls,
    tlsSession: undefined,
  };
}
