/**
 * Memory that a process holds for its clients: incomplete heads, waiting requests, bodies being read.
 *
 * One budget for all, and a share for each client address: a client can hold as much as is still free. A single client can
 * hold half of the budget, two clients a third each, and so on. This leaves room for others whatever one client sends. The
 * number of its connections and streams does not matter.
 *
 * Untrusted input: how much clients send, and how slowly. Promise: the counted bytes never exceed the budget.
 */
import type { Guarded } from "../../shared/faults/guard.ts";
import { networkOf } from "../../shared/rate-limit.ts";

/** A call that waits until other calls of its client are over. */
export interface UpstreamWaiting extends Guarded {
  readonly waitsUntil: number;
  admitted(): void;
  fail(failure: "timeout", detail: string): void;
}

/** One client address (an IPv6 /64), while it has open connections or held bytes. */
export class Party {
  readonly network: string;
  /** Bytes that are held for it. */
  bytes = 0;
  /** Its open connections. */
  connections = 0;
  /** Requests that use a connection to an upstream, and (`waiting`) those that wait for one: see upstreams/fair-share.ts. */
  calls = 0;
  waiting: UpstreamWaiting[] | undefined = undefined;
  readonly #all: Parties;

  constructor(network: string, all: Parties) {
    this.network = network;
    this.#all = all;
  }

  /** @returns false, and counts nothing, when there is no room */
  take(bytes: number): boolean {
    const all = this.#all;
    if (this.bytes + bytes > all.maxBytes - all.bytes - bytes) {
      all.dropUnused(this);
      return false;
    }
    this.bytes += bytes;
    all.bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    if (bytes === 0) return;
    this.bytes -= bytes;
    this.#all.bytes -= bytes;
    this.#all.dropUnused(this);
  }

  /** One of its connections is closed. */
  leave(): void {
    this.connections -= 1;
    this.#all.dropUnused(this);
  }
}

export class Parties {
  readonly maxBytes: number;
  /** Bytes held for all parties. */
  bytes = 0;
  readonly #parties: Map<string, Party> = new Map();

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** The party of a new connection. Call `leave()` when it is closed. */
  connect(address: string): Party {
    const party = this.of(address);
    party.connections += 1;
    return party;
  }

  /** The party of one request behind a proxy, which names the client. */
  of(address: string): Party {
    const network = networkOf(address);
    let party = this.#parties.get(network);
    if (party === undefined) {
      party = new Party(network, this);
      this.#parties.set(network, party);
    }
    return party;
  }

  get size(): number {
    return this.#parties.size;
  }

  dropUnused(party: Party): void {
    if (party.bytes > 0 || party.connections > 0) return;
    // Its address may have a new party by now.
    if (this.#parties.get(party.network) === party) this.#parties.delete(party.network);
  }
}

/** Parts of an exchange. */
interface Received {
  readonly rawHeaders: readonly string[];
  readonly path: string;
  readonly query: string;
  readonly wholeBody?: Buffer | undefined;
}

/** Next to its text, each header field costs two strings and their slots, in our list and in the upstream's. */
const FIELD_BYTES = 160;
/** Minimum cost of a request: its objects here and on the way to the upstream. */
export const REQUEST_BYTES = 4_096;

/** Approximate bytes that a request takes while in progress: its head, and the body that came with it. */
export function requestCost({ rawHeaders, path, query, wholeBody }: Received): number {
  let bytes = REQUEST_BYTES + path.length + query.length + (rawHeaders.length >> 1) * FIELD_BYTES;
  if (wholeBody !== undefined) bytes += wholeBody.length;
  for (let index = 0; index < rawHeaders.length; index += 1) bytes += (rawHeaders[index] as string).length;
  return bytes;
}
