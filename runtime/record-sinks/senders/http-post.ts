/** POST requests over one persistent connection: bounded in time and bytes, without redirects. */
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";

import type { SinkTls } from "../../features/records/compiled.ts";
import { readWhole } from "../../shared/http/pieces.ts";
import { failureText, reachableLookup, refuseForbidden, tlsOptions } from "./reachable.ts";

export interface Posted {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** At most 64 KiB; "" for a longer one. */
  readonly body: string;
}

export interface Poster {
  /** @returns a text: the reason why there was no response; for the log */
  post(body: string, signal: AbortSignal): Promise<Posted | string>;
  close(): void;
}

export interface PosterOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: SinkTls;
  readonly timeoutMs: number;
}

const MAX_ANSWER_BYTES = 64 << 10;

export function createPoster({ url: text, headers, tls, timeoutMs }: PosterOptions): Poster {
  const url = new URL(text);
  const isTls = url.protocol === "https:";
  const agentOptions = { keepAlive: true, maxSockets: 1, lookup: reachableLookup };
  const agent = isTls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);

  return {
    async post(body, signal) {
      const giveUp = new AbortController();
      const timer = setTimeout(() => giveUp.abort(), timeoutMs);
      const both = AbortSignal.any([signal, giveUp.signal]);
      try {
        refuseForbidden(url.hostname);
        const secure = isTls ? await tlsOptions(url.hostname, tls) : {};
        const begin = (): ClientRequest =>
          (isTls ? httpsRequest : httpRequest)(url, {
            method: "POST",
            headers: { ...headers, "content-length": Buffer.byteLength(body), "accept-encoding": "identity" },
            agent,
            signal: both,
            maxHeaderSize: 16 << 10,
            ...secure,
          });
        return await exchange(begin, body);
      } catch (error) {
        return both.aborted ? `${url.host} did not answer in time` : failureText(url.host, error);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => agent.destroy(),
  };
}

async function exchange(begin: () => ClientRequest, body: string): Promise<Posted> {
  const request = begin();
  try {
    return await answerOf(request, body);
  } catch (error) {
    // The other side closed an idle connection at this very moment: it has read nothing of the request.
    if (request.reusedSocket && (error as NodeJS.ErrnoException).code === "ECONNRESET") return answerOf(begin(), body);
    throw error;
  }
}

function answerOf(request: ClientRequest, body: string): Promise<Posted> {
  return new Promise((resolve, reject) => {
    let answer: Posted | undefined;
    // The status decides whether the batch was accepted, however the rest ends: otherwise a destination whose response
    // never ends would get the batch forever.
    request.on("error", (error) => (answer ? resolve(answer) : reject(error)));
    // Without a listener such a response would end the request without an error or a report.
    request.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, retryAfterMs: undefined, body: "" });
    });
    request.on("response", (response) => {
      const head = { status: response.statusCode ?? 0, retryAfterMs: retryAfter(response), body: "" };
      answer = head;
      void readBody(response).then(
        (body) => resolve({ ...head, body }),
        () => resolve(head),
      );
    });
    request.end(body);
  });
}

async function readBody(response: IncomingMessage): Promise<string> {
  // A longer body costs the connection; the status counts.
  return (await readWhole(response as AsyncIterable<Buffer>, MAX_ANSWER_BYTES))?.toString() ?? "";
}

/** Only seconds: a date would require synchronized clocks. */
function retryAfter({ headers }: IncomingMessage): number | undefined {
  const text = headers["retry-after"] ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) * 1000 : undefined;
}
