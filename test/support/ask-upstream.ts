/** A caller of the transport that checks its contract: head, data…, then exactly one end or failure, and nothing afterwards. */

import type {
  Transport,
  UpstreamCall,
  UpstreamReceiver,
  UpstreamRequest,
} from "../../runtime/upstreams/transport-types.ts";
import type { UpstreamFailure } from "../../runtime/features/connection/failure.ts";
import type { Upstream } from "../../runtime/features/connection/compiled.ts";

export interface Outcome {
  /** 0 without a head. */
  readonly status: number;
  /** Flat, as the receiver got them. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  /** Flat; undefined: none came. */
  readonly trailers: readonly string[] | undefined;
  /** The head itself said that nothing follows. */
  readonly isWhole: boolean;
  /** undefined: it ended well. */
  readonly failure: UpstreamFailure | undefined;
  readonly detail: string;
}

export interface Asked {
  readonly call: UpstreamCall;
  /** Status, once the head has come. */
  readonly head: Promise<number>;
  readonly over: Promise<Outcome>;
  /** Bytes of the body so far. */
  readonly received: number;
  /** Whether it has heard its end. */
  readonly isOver: boolean;
}

export type Ask = Partial<Omit<UpstreamRequest, "upstream">> & {
  /** Called in the receiver, where a mistake would do most harm. */
  readonly onHead?: (call: UpstreamCall, status: number) => void;
  readonly onData?: (call: UpstreamCall, chunk: Buffer) => void;
  readonly onEnd?: () => void;
};

/** Forbidden calls to receivers: tests expect it to be empty. */
export const violations: string[] = [];

export function ask(transport: Transport, upstream: Upstream, { onHead, onData, onEnd, ...more }: Ask = {}): Asked {
  const head = Promise.withResolvers<number>();
  const over = Promise.withResolvers<Outcome>();
  const chunks: Buffer[] = [];
  let status = 0;
  let headers: readonly string[] = [];
  let received = 0;
  let trailers: readonly string[] | undefined;
  let isWhole = false;
  let isOver = false;
  const heard = (event: string): void => {
    if (isOver) violations.push(`${event} after the end of ${more.path ?? "/"}`);
  };
  const finish = (failure: UpstreamFailure | undefined, detail: string): void => {
    heard(failure ?? "end");
    isOver = true;
    over.resolve({ status, headers, body: Buffer.concat(chunks), trailers, isWhole, failure, detail });
  };
  const receiver: UpstreamReceiver = {
    onHead(code, fields, whole = false) {
      heard("head");
      if (status !== 0) violations.push("a second head");
      isWhole = whole;
      status = code;
      headers = fields;
      head.resolve(code);
      onHead?.(call, code);
    },
    onData(chunk) {
      heard("data");
      if (status === 0) violations.push("data before a head");
      if (isWhole) violations.push("data behind a head that is whole");
      received += chunk.length;
      // Copied later on purpose: a chunk that is written over while we hold it must be seen.
      chunks.push(chunk);
      onData?.(call, chunk);
    },
    onEnd(fields) {
      if (status === 0) violations.push("an end without a head");
      trailers = fields;
      finish(undefined, "");
      onEnd?.();
    },
    onFailure: finish,
  };
  const call: UpstreamCall = transport.send(
    {
      upstream,
      method: "GET",
      path: "/",
      headers: ["host", "app.example"],
      body: undefined,
      headTimeoutMs: 10_000,
      idleTimeoutMs: 10_000,
      ...more,
    },
    receiver,
  );
  return {
    call,
    head: head.promise,
    over: over.promise,
    get received() {
      return received;
    },
    get isOver() {
      return isOver;
    },
  };
}

/** Asks and waits for the end. */
export function outcome(transport: Transport, upstream: Upstream, more: Ask = {}): Promise<Outcome> {
  return ask(transport, upstream, more).over;
}

/** All events that are ready now have been handled, the poll for new ones included. */
export async function loopTurns(limiter = 3): Promise<void> {
  for (let turn = 0; turn < limiter; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
