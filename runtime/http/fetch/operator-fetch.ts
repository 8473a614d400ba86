/**
 * Requests to addresses in the operator's configuration: the identity provider, a publish target.
 *
 * Trusted input: the address. Untrusted input: the response. Promises: bounded in time and size; no redirect is followed,
 * since only the first address is configured; errors name the host and never quote the response or the query. A slow host
 * uses half of the connections at most. Its other requests wait, within their time.
 */
import { isWithinBounds } from "../../shared/json/foreign-json.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { createFairLimiter } from "../../shared/limiter.ts";
import { connectionLimits } from "../listener/connection-limits.ts";
import { caHint } from "../../shared/net/unknown-ca.ts";
import { readWhole } from "../../shared/http/pieces.ts";

export interface OperatorFetchOptions {
  /** For the whole exchange. Default 10 s. */
  readonly timeoutMs?: number;
  /** Longest response body. Default 256 KiB. */
  readonly maxBytes?: number;
  /** Returns a redirect as the response instead of failing; it is not followed in either case. Default false. */
  readonly returnsRedirects?: boolean;
  /** Requests in flight to all hosts. Default: a share of the descriptors. */
  readonly atOnce?: number;
}

/** Like `fetch`, with the response's body already read. */
export type OperatorFetch = (url: string, init?: RequestInit) => Promise<Response>;

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BYTES = 256 * 1024;

/** The fetch rejects with GatewayError `fetch.unreachable`, `fetch.timeout`, `fetch.redirect` or `fetch.too-large`. */
export function createOperatorFetch(options: OperatorFetchOptions = {}): OperatorFetch {
  const limiter = createFairLimiter(options.atOnce ?? connectionLimits(undefined).own);
  const { timeoutMs = DEFAULT_TIMEOUT_MS, maxBytes = DEFAULT_MAX_BYTES, returnsRedirects = false } = options;
  return async (url, init = {}) => {
    const { host } = new URL(url);
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = init.signal ? AbortSignal.any([deadline, init.signal]) : deadline;
    const exchange = async (): Promise<Response> => {
      const answer = await fetch(url, { ...init, redirect: "manual", signal });
      if (!returnsRedirects && answer.status >= 300 && answer.status < 400 && answer.headers.has("location")) {
        await answer.body?.cancel();
        throw new GatewayError("fetch.redirect", `Cannot fetch from "${host}": it redirects, must respond itself`);
      }
      const body = answer.body ? await readWhole(answer.body, maxBytes) : Buffer.alloc(0);
      if (!body) {
        throw new GatewayError(
          "fetch.too-large",
          `Cannot fetch from "${host}": the answer has more than ${maxBytes} bytes`,
        );
      }
      // Libraries parse it without limits.
      if (answer.headers.get("content-type")?.includes("json") === true && !isWithinBounds(body.toString())) {
        throw new GatewayError(
          "fetch.too-large",
          `Cannot fetch from "${host}": the answer has too many values, or is nested too deeply`,
        );
      }
      const headers = new Headers(answer.headers);
      // The body has been decoded: these describe the bytes on the wire.
      headers.delete("content-encoding");
      headers.delete("content-length");
      return new Response(body.length === 0 ? null : new Uint8Array(body), { status: answer.status, headers });
    };
    try {
      return await limiter.take(host, exchange, signal);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      if (deadline.aborted) {
        throw new GatewayError("fetch.timeout", `Cannot fetch from "${host}": no answer within ${timeoutMs} ms`, {
          cause: error,
        });
      }
      const failure = error instanceof Error && error.cause !== undefined ? error.cause : error;
      const hint = caHint(failure);
      const detail = hint === "" ? errorText(failure) : errorText(failure).replace(/;.*|$/s, hint);
      throw new GatewayError("fetch.unreachable", `Cannot fetch from "${host}": ${detail}`, { cause: error });
    }
  };
}
