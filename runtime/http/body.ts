/**
 * Whole request bodies, bounded in size and time.
 *
 * Untrusted input: the body and its declared length. Promise: at most `maxBytes` are held, whatever the client declares, and
 * all bodies of a client together stay within its budget. A body that does not end is dropped.
 */
import { isUtf8 } from "node:buffer";

import type { Exchange } from "./exchange.ts";
import { ignore } from "../shared/ignore.ts";
import { Pieces } from "../shared/http/pieces.ts";
import { parseQuery, type Parameters } from "../shared/http/query.ts";
import { guard } from "../shared/faults/guard.ts";

export type BodyRefusal = "too-large" | "aborted" | "timeout" | "overloaded" | "unsupported-encoding";

export type BodyResult =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly reason: BodyRefusal };

const EMPTY = Buffer.alloc(0);
/** Time limit for one body: a slower client is not waited for. */
const READ_TIMEOUT_MS = 30_000;

/** @param maxBytes inclusive */
export function readBody(exchange: Exchange, maxBytes: number): Promise<BodyResult> {
  return new Promise((resolve) => {
    readBodyInto(exchange, maxBytes, resolve);
  });
}

/**
 * `readBody()` without a promise, for the hot path.
 *
 * @param done called exactly once, possibly before this call returns
 * @param timeoutMs Infinity: as long as the listener keeps the connection
 */
export function readBodyInto(
  exchange: Exchange,
  maxBytes: number,
  done: (result: BodyResult) => void,
  timeoutMs = READ_TIMEOUT_MS,
): void {
  if (!exchange.hasBody) {
    done({ ok: true, bytes: EMPTY });
    return;
  }
  const declared = exchange.header("content-length");
  // The server handles a length that is not a number; here it must only not pass as small.
  if (declared !== undefined && !(Number(declared) <= maxBytes)) {
    done({ ok: false, reason: "too-large" });
    return;
  }
  const { wholeBody } = exchange;
  if (wholeBody !== undefined) {
    done(wholeBody.length > maxBytes ? { ok: false, reason: "too-large" } : { ok: true, bytes: wholeBody });
    return;
  }
  const body = exchange.body;
  let first: Buffer | undefined;
  let more: Pieces | undefined;
  let size = 0;
  let settled = false;

  const finish = (result: BodyResult): void => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    body.off("data", onData);
    body.off("end", onEnd);
    body.off("error", onAborted);
    body.off("close", onAborted);
    // The connection may still fail while the response is being sent. Without a listener, that would end the process.
    body.on("error", ignore);
    done(result);
  };
  const onData = guard(exchange, (chunk: Buffer): void => {
    size += chunk.length;
    if (size > maxBytes) {
      body.pause();
      finish({ ok: false, reason: "too-large" });
      return;
    }
    if (!exchange.hold(chunk.length)) {
      body.pause();
      finish({ ok: false, reason: "overloaded" });
      return;
    }
    if (first === undefined) {
      first = chunk;
      return;
    }
    if (more === undefined) (more = new Pieces()).add(first);
    more.add(chunk);
  });
  const onEnd = guard(exchange, () => finish({ ok: true, bytes: more ? more.whole() : (first ?? EMPTY) }));
  const onAborted = guard(exchange, () => finish({ ok: false, reason: "aborted" }));
  const onLate = guard(exchange, () => finish({ ok: false, reason: "timeout" }));
  const timer = timeoutMs === Infinity ? undefined : setTimeout(onLate, timeoutMs).unref();

  body.on("data", onData);
  body.on("end", onEnd);
  body.on("error", onAborted);
  body.on("close", onAborted);
}

export type FormResult =
  | { readonly ok: true; readonly values: Parameters }
  | { readonly ok: false; readonly reason: BodyRefusal | "media-type" | "duplicate-parameter" | "malformed-parameter" };

/** The parameters of an `application/x-www-form-urlencoded` body. A duplicate name rejects the whole form. */
export async function readForm(exchange: Exchange, maxBytes: number): Promise<FormResult> {
  const [type = "", ...parameters] = (exchange.header("content-type") ?? "").toLowerCase().split(";");
  if (type.trim() !== "application/x-www-form-urlencoded") return { ok: false, reason: "media-type" };
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="));
  if (charset !== undefined && charset !== "charset=utf-8" && charset !== 'charset="utf-8"')
    return { ok: false, reason: "media-type" };
  if (!hasNoContentCoding(exchange)) return { ok: false, reason: "unsupported-encoding" };
  const body = await readBody(exchange, maxBytes);
  if (!body.ok) return body;
  return isUtf8(body.bytes) ? parseQuery(body.bytes.toString("utf8")) : { ok: false, reason: "malformed-parameter" };
}

/** True when the body is declared as JSON, without a coding. */
export function isPlainJson(exchange: Exchange): boolean {
  const type = exchange.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  return type === "application/json" && hasNoContentCoding(exchange);
}

/** True when the body has no coding. The gateway never decompresses what a client sends. */
export function hasNoContentCoding(exchange: Exchange): boolean {
  const coding = exchange.headerValues("content-encoding");
  return coding.length === 0 || (coding.length === 1 && coding[0]?.trim().toLowerCase() === "identity");
}
