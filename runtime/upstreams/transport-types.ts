/** Interface to upstreams: request head and body in; head, chunks and end, or one failure, out. */
import type { UpstreamFailure } from "../features/connection/failure.ts";
import type { CallParty } from "./fair-share.ts";
import type { Readable } from "node:stream";

import type { Upstream } from "../features/connection/compiled.ts";

export interface UpstreamRequest {
  readonly upstream: Upstream;
  /** The client, for its share of connections; absent: a request of our own. */
  readonly party?: CallParty | undefined;
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  /** Flat: name, value, …; Host included; a Content-Length only for a stream body of known length. */
  readonly headers: readonly string[];
  readonly body: Buffer | Readable | undefined;
  /**
   * Called once the body has been read: trailers of the request, flat, validated. Absent: there are none. Not sent if the
   * body has a length in HTTP/1.1. An exception aborts the request.
   */
  readonly trailers?: (() => readonly string[]) | undefined;
  /** Until the head of the response has come; 0 = no limit. */
  readonly headTimeoutMs: number;
  /**
   * Over HTTP/2, while a stream body is incomplete: between two of its chunks, instead of `headTimeoutMs`, which then starts
   * at its end; 0 = no limit.
   */
  readonly bodyTimeoutMs?: number | undefined;
  /** Between two chunks of the response; 0 = no limit. */
  readonly idleTimeoutMs: number;
}

/** Flat: lower-case name, value, …, in the order of the response; values as latin1 text. */
export type UpstreamHeaders = readonly string[];

/** All values of a header, in order. */
export function upstreamHeader(headers: UpstreamHeaders, lowerName: string): readonly string[] {
  let values: string[] | undefined;
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === lowerName) (values ??= []).push(headers[index + 1] as string);
  }
  return values ?? NONE;
}

/** Shared: most responses have none of the headers that we search. */
const NONE: readonly string[] = [];

/** Calls come in this order: head, data…, then exactly one of end and failure. None after a failure. */
export interface UpstreamReceiver {
  /** @param isWhole the response ends with its head, as marked in HTTP/2's head (gRPC reads it as trailers) */
  onHead(status: number, headers: UpstreamHeaders, isWhole?: boolean): void;
  /** @returns true when the chunk's memory can be reused */
  onData(chunk: Buffer): boolean | void;
  /** @param trailers undefined: none came @returns true when the memory of all chunks can be reused */
  onEnd(trailers?: UpstreamHeaders): boolean | void;
  onFailure(failure: UpstreamFailure, detail: string): void;
}

export interface UpstreamCall {
  pause(): void;
  resume(): void;
  /** Ends the call; the receiver is not notified. */
  abort(): void;
}

export interface Transport {
  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall;
  /** Counts a request outside of the pools. @returns gives its slot back; undefined when there is none */
  reserve(upstream: Upstream, party?: CallParty): (() => void) | undefined;
  /** Closes connections that no route needs now, once their requests are done. @param keys see `poolKeyOf` */
  retain(keys: Pick<ReadonlySet<string>, "has">): void;
  close(): Promise<void>;
}
