/** The narrow door to upstreams: request head and body in; head, chunks and end, or one failure, out. */
import type { UpstreamFailure } from "../features/connection/failure.ts";
import type { CallParty } from "./fair-share.ts";
import type { Readable } from "node:stream";

import type { Upstream } from "../features/connection/compiled.ts";

export interface UpstreamRequest {
  readonly upstream: Upstream;
  /** Whose request it is, for its share of connections; absent: one of our own. */
  readonly party?: CallParty | undefined;
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  /** Flat: name, value, …; Host included; a Content-Length only for a stream body of known length. */
  readonly headers: readonly string[];
  readonly body: Buffer | Readable | undefined;
  /**
   * Asked once the body has been read: trailers of the request, flat, as they may go out. Absent: there are none. Left out
   * where the body has a length in HTTP/1.1. What it throws breaks the request off.
   */
  readonly trailers?: (() => readonly string[]) | undefined;
  /** Until the head of the answer has come; 0 = no limit. */
  readonly headTimeoutMs: number;
  /**
   * Over HTTP/2, while a stream body is not at its end: between two chunks of it, instead of `headTimeoutMs`, which is counted
   * from its end then; 0 = no limit.
   */
  readonly bodyTimeoutMs?: number | undefined;
  /** Between two chunks of the answer; 0 = no limit. */
  readonly idleTimeoutMs: number;
}

/** Flat: lower-case name, value, …, in the order of the answer; values as latin1 text. */
export type UpstreamHeaders = readonly string[];

/** All values of a header, in order. */
export function upstreamHeader(headers: UpstreamHeaders, lowerName: string): readonly string[] {
  let values: string[] | undefined;
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === lowerName) (values ??= []).push(headers[index + 1] as string);
  }
  return values ?? NONE;
}

/** Most answers have none of the headers that we look for. */
const NONE: readonly string[] = [];

/** Calls come in this order: head, data…, then exactly one of end and failure. None after a failure. */
export interface UpstreamReceiver {
  /** @param isWhole true: the answer ends with its head, which HTTP/2 shows in the head itself (gRPC takes it for its trailers) */
  onHead(status: number, headers: UpstreamHeaders, isWhole?: boolean): void;
  /** @returns true when nobody holds on to the chunk any more: its memory will be used again */
  onData(chunk: Buffer): boolean | void;
  /** @param trailers undefined: none came */
  onEnd(trailers?: UpstreamHeaders): void;
  onFailure(failure: UpstreamFailure, detail: string): void;
}

export interface UpstreamCall {
  pause(): void;
  resume(): void;
  /** Ends the call; the receiver hears nothing more. */
  abort(): void;
}

export interface Transport {
  send(request: UpstreamRequest, receiver: UpstreamReceiver): UpstreamCall;
  /** Counts a request that goes another way. @returns gives its place back; undefined when there is none */
  reserve(upstream: Upstream, party?: CallParty): (() => void) | undefined;
  /** Closes the connections that no route asks for any more, once their requests are done. @param keys see `poolKeyOf` */
  retain(keys: Pick<ReadonlySet<string>, "has">): void;
  close(): Promise<void>;
}
