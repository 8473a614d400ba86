/**
 * Requests to one server of the operator's, whose certificate an authority of the operator's may have signed.
 *
 * Trusted input: the address, the authorities. Untrusted input: the answer. Promises: bounded in time, headers and body; no
 * redirect is followed and no content coding undone; nothing is thrown, and no refusal quotes the answer.
 */
import type { Agent } from "undici";

import { readWhole } from "../../shared/http/pieces.ts";
import { isFinalStatus } from "../../shared/http/status.ts";
import { ignore } from "../../shared/ignore.ts";

export interface TrustedFetchOptions {
  /** PEM; the system's authorities when absent. */
  readonly ca: string | undefined;
  /** For the whole exchange. */
  readonly timeoutMs: number;
  /** Longest answer body. */
  readonly maxBytes: number;
}

export interface TrustedRequest {
  readonly url: URL;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export type TrustedAnswer =
  | { readonly ok: true; readonly status: number; readonly location: string | undefined; readonly body: Buffer }
  /** `problem` is the predicate of the server: "did not answer within 5 s". */
  | {
      readonly ok: false;
      readonly problem: string;
      /** It answered, with what cannot be taken. */
      readonly isAnswered?: true;
    };

export interface TrustedFetch {
  (request: TrustedRequest): Promise<TrustedAnswer>;
  /** Ends what is under way. */
  close(): Promise<void>;
  /** Takes no more, and ends once what is under way has. */
  retire(): Promise<void>;
}

const MAX_HEADER_BYTES = 16_384;
const CONNECTIONS = 8;

export function createTrustedFetch({ ca, timeoutMs, maxBytes }: TrustedFetchOptions): TrustedFetch {
  let opening: Promise<Agent> | undefined;
  // Loaded where there is such a server. One that is closed unused must refuse afterwards, too.
  const open = (): Promise<Agent> =>
    (opening ??= import("undici").then(
      ({ default: undici }) =>
        new undici.Agent({
          connections: CONNECTIONS,
          maxHeaderSize: MAX_HEADER_BYTES,
          pipelining: 1,
          allowH2: false,
          connect: { timeout: timeoutMs, ...(ca !== undefined && { ca }) },
        }),
    ));

  async function ask({ url, method, headers, body }: TrustedRequest): Promise<TrustedAnswer> {
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const agent = await open();
      const answer = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: { ...headers, "accept-encoding": "identity" },
        body: body ?? null,
        signal,
      });
      const { "content-encoding": coding, location } = answer.headers;
      if (!isFinalStatus(answer.statusCode)) {
        answer.body.on("error", ignore).destroy();
        return { ok: false, problem: `answered with the status ${answer.statusCode}`, isAnswered: true };
      }
      if (coding !== undefined && coding !== "identity") {
        // What is broken off fails, and nobody else listens.
        answer.body.on("error", ignore).destroy();
        return { ok: false, problem: "answered with a content coding that was not asked for", isAnswered: true };
      }
      const read = await readWhole(answer.body, maxBytes);
      if (!read) return { ok: false, problem: `answered with more than ${maxBytes} bytes`, isAnswered: true };
      return {
        ok: true,
        status: answer.statusCode,
        location: typeof location === "string" ? location : undefined,
        body: read,
      };
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "no valid answer";
      // Which of the two is first is chance.
      if (signal.aborted || code === "UND_ERR_CONNECT_TIMEOUT")
        return { ok: false, problem: `did not answer within ${timeoutMs / 1000} s` };
      return { ok: false, problem: `cannot be reached (${code})` };
    }
  }
  return Object.assign(ask, {
    close: async () => (await open()).destroy(),
    retire: async () => (await open()).close(),
  });
}
