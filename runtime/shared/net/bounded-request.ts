/**
 * An HTTP/1.1 request of the gateway itself, and its whole response.
 *
 * Untrusted input: the response. Promises: headers, body and time are bounded; redirects are not followed, content
 * codings not decoded; it never throws, and no problem quotes the response. The caller decides which addresses are
 * allowed: every look-up uses its `lookup`.
 *
 * Other clients remain where there is a reason. `http/fetch/operator-fetch.ts`: libraries bring and expect the types of
 * `fetch`, and providers compress. `kubernetes/controller/client.ts`: the dispatcher comes from the cluster's library,
 * and watches are read line by line. `tools/commands/ready.ts` and `record-sinks/senders/http-post.ts` use node:http:
 * undici takes 50 ms to load, which health checks would spend every few seconds, and 6 MB in each thread.
 */
import type { AgentOptions } from "node:http";
import type { LookupFunction } from "node:net";
import type { ConnectionOptions } from "node:tls";

import type { Dispatcher } from "undici";

import { readWhole } from "../http/pieces.ts";
import { isFinalStatus } from "../http/status.ts";
import { ignore } from "../ignore.ts";

/** PEM of the authorities for the server's certificate (default: the system's), and of the client's own certificate. */
export interface RequestsOptions extends Pick<ConnectionOptions, "ca" | "cert" | "key"> {
  /** To establish a connection. */
  readonly timeoutMs: number;
  /** Default: the system's resolver. Not called for literal addresses. */
  readonly lookup?: LookupFunction;
  /** Number of connections per origin that stay open. Default: each request has a separate one. */
  readonly kept?: number;
  /** Requests use proxies (`HTTPS_PROXY`, …) if Node was started with `NODE_USE_ENV_PROXY=1`. Default: never. */
  readonly mayUseProxies?: boolean;
}

export interface BoundedRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Longest body of the response. */
  readonly maxBytes: number;
  /** Time limit of the whole exchange. */
  readonly signal: AbortSignal;
}

export interface AnswerHead {
  readonly status: number;
  /** Lower-case names; repeated ones joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
}

export type BoundedAnswer =
  | { readonly ok: true; readonly head: AnswerHead; readonly body: Buffer }
  | {
      readonly ok: false;
      /** "status": one that is not final, such as 101 or 999. */
      readonly reason: "timeout" | "unreachable" | "status" | "content-coding" | "too-large";
      /** Predicate for the server: "cannot be reached (ECONNREFUSED)". */
      readonly problem: string;
      /** Present if it arrived before the failure. */
      readonly head: AnswerHead | undefined;
      readonly error?: unknown;
    };

export interface Requests {
  (request: BoundedRequest): Promise<BoundedAnswer>;
  /** Aborts requests in flight. */
  close(): Promise<void>;
  /** Accepts no new requests, and closes after those in flight. */
  retire(): Promise<void>;
}

const MAX_HEADER_BYTES = 16_384;

export function openRequests({
  timeoutMs,
  kept = 0,
  mayUseProxies = false,
  lookup,
  ...tls
}: RequestsOptions): Requests {
  const isProxied = mayUseProxies && proxiesAreUsed();
  let opening: Promise<Dispatcher> | undefined;
  // Loaded with the first request: a start without requests saves the time. Requests closed before their first use must
  // fail afterwards. The default export: the build turns it into a CommonJS package, which has no other when loaded
  // later.
  const open = (): Promise<Dispatcher> =>
    (opening ??= import("undici").then(
      ({ default: undici }) =>
        new (isProxied ? undici.EnvHttpProxyAgent : undici.Agent)({
          connections: Math.max(kept, 1),
          pipelining: kept === 0 ? 0 : 1,
          maxHeaderSize: MAX_HEADER_BYTES,
          allowH2: false,
          connect: { timeout: timeoutMs, ...tls, ...(lookup && { lookup }) },
          connectTimeout: timeoutMs,
          requestTls: tls,
        }),
    ));

  async function ask({ url, method, headers, body, maxBytes, signal }: BoundedRequest): Promise<BoundedAnswer> {
    let head: AnswerHead | undefined;
    const refuse = (reason: Reason, problem: string, error?: unknown): BoundedAnswer => ({
      ok: false,
      reason,
      problem,
      head,
      error,
    });
    try {
      const agent = await open();
      const answer = await untilAborted(
        agent.request({
          origin: url.origin,
          path: url.pathname + url.search,
          method,
          headers: { ...headers, "accept-encoding": "identity" },
          body: body ?? null,
          signal,
        }),
        signal,
      );
      head = { status: answer.statusCode, headers: flatten(answer.headers) };
      if (!isFinalStatus(head.status)) {
        // An aborted body fails, and has no other listener.
        answer.body.on("error", ignore).destroy();
        return refuse("status", `answered with the status ${head.status}`);
      }
      // Read also when it is rejected: some servers treat a connection that closes before their response as an error.
      const whole = await readWhole(answer.body, maxBytes);
      // Not decoded: a few kilobytes can expand to gigabytes.
      if (!/^(?:identity)?$/i.test((head.headers["content-encoding"] ?? "").trim()))
        return refuse("content-coding", "answered with a content coding that was not asked for");
      return whole ? { ok: true, head, body: whole } : refuse("too-large", `answered with more than ${maxBytes} bytes`);
    } catch (error) {
      const { code = "no valid answer", message } = error as NodeJS.ErrnoException;
      // Which of the two fires first is random.
      if (signal.aborted || code === "UND_ERR_CONNECT_TIMEOUT") return refuse("timeout", "did not answer in time");
      if (message === "bad upgrade") {
        head = { status: 101, headers: {} };
        return refuse("status", "answered with the status 101");
      }
      return refuse("unreachable", `cannot be reached (${code})`, error);
    }
  }
  return Object.assign(ask, {
    close: async () => (await open()).destroy(),
    retire: async () => (await open()).close(),
  });
}

type Reason = Extract<BoundedAnswer, { ok: false }>["reason"];

/** Over a separate connection. */
export async function requestOnce(options: RequestsOptions, request: BoundedRequest): Promise<BoundedAnswer> {
  const requests = openRequests(options);
  try {
    return await requests(request);
  } finally {
    await requests.close();
  }
}

/** @throws the signal's reason when it fires first: neither resolvers nor connecting sockets can be stopped */
export function untilAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    value.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

function flatten(headers: Readonly<Record<string, string | readonly string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = typeof value === "string" ? value : value.join(", ");
  }
  return flat;
}

/**
 * Asks Node's own agent, which knows every way to configure a proxy. Not imported: the build drops members that load
 * something.
 */
function proxiesAreUsed(): boolean {
  const { globalAgent } = process.getBuiltinModule("node:http");
  return (globalAgent as { readonly options?: AgentOptions }).options?.proxyEnv !== undefined;
}
