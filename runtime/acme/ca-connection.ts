/**
 * Requests to the certificate authority, for the library and for renewal information.
 *
 * Trusted: the directory's address. Untrusted input: every response, and the addresses in it. Promises: https only, no
 * redirects, bounded in time, size and nesting; a rejection becomes an AcmeFailure with the authority's message, cut, and its
 * Retry-After.
 */
import { readFile } from "node:fs/promises";

import { isRecord } from "../shared/is-record.ts";
import { isWithinBounds } from "../shared/json/foreign-json.ts";
import { foreignText } from "../shared/json/foreign-text.ts";
import { openRequests, type Requests } from "../shared/net/bounded-request.ts";
import { unknownCaCode } from "../shared/net/unknown-ca.ts";
import { errorText } from "../shared/errors.ts";
import { userAgentOf } from "../shared/version.ts";
import { AcmeFailure } from "./failure.ts";

export interface CaResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON; other content as text. */
  readonly data: unknown;
}

export interface CaRequest {
  readonly method: string;
  readonly url: string;
  /** Sent as JSON. */
  readonly data?: unknown;
}

export interface CaConnection {
  /** @throws AcmeFailure */
  send(request: CaRequest, signal: AbortSignal): Promise<CaResponse>;
  close(): Promise<void>;
}

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 256 * 1024;
const MAX_URL = 4_096;
const MAX_MESSAGE = 400;
/** A longer wait is not believed: the authority is asked again after a day. */
const LONGEST_RETRY_AFTER_MS = 24 * 3_600_000;

export interface CaConnectionOptions {
  /** Read at each start of a round, since it can be replaced. */
  readonly caFile: string | undefined;
  /** For `Retry-After` as a date. */
  readonly now: () => number;
  readonly timeoutMs?: number;
}

/** @throws AcmeFailure if the file of authorities cannot be read */
export async function openCaConnection({
  caFile,
  now,
  timeoutMs = TIMEOUT_MS,
}: CaConnectionOptions): Promise<CaConnection> {
  const ca = caFile === undefined ? undefined : await readAuthorities(caFile);
  const requests: Requests = openRequests({ ca, timeoutMs, kept: 1, mayUseProxies: true });
  return {
    close: () => requests.close(),
    async send({ method, url, data }, signal) {
      const target = parseAddress(url);
      const answer = await requests({
        url: target,
        method: method.toUpperCase(),
        headers: {
          accept: "application/json, application/pem-certificate-chain",
          "user-agent": userAgentOf("gateform"),
          ...(data !== undefined && { "content-type": "application/jose+json" }),
        },
        body: data === undefined ? undefined : JSON.stringify(data),
        maxBytes: MAX_BYTES,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      if (!answer.ok) {
        const hint = unknownCaCode(answer.error) === undefined ? "" : `; name the PEM file of its CA in "acme.ca_file"`;
        const message = `the certificate authority "${target.host}" ${answer.problem}${hint}`;
        throw new AcmeFailure(message, { scope: "directory", cause: answer.error });
      }
      const { status, headers } = answer.head;
      const content = readContent(headers["content-type"] ?? "", answer.body, target.host);
      // The library repeats a request whose nonce expired.
      if (status < 300 || typeOf(content) === "badNonce") return { status, headers, data: content };
      throw rejection(target.host, status, content, retryAfterMs(headers["retry-after"], now()));
    },
  };
}

async function readAuthorities(caFile: string): Promise<Buffer> {
  try {
    return await readFile(caFile);
  } catch (cause) {
    throw new AcmeFailure(`"acme.ca_file" cannot be read: ${errorText(cause)}`, { scope: "directory", cause });
  }
}

function parseAddress(address: unknown): URL {
  if (typeof address === "string" && address.length <= MAX_URL && URL.canParse(address)) {
    const url = new URL(address);
    if (url.protocol === "https:" && url.username === "" && url.password === "") return url;
  }
  throw new AcmeFailure("the certificate authority names an address that is not https", { scope: "directory" });
}

function readContent(type: string, body: Buffer, host: string): unknown {
  const text = body.toString();
  if (!/^application\/(?:[a-z.+-]+\+)?json\b/i.test(type)) return text;
  try {
    if (isWithinBounds(text)) return JSON.parse(text) as unknown;
  } catch {
    // Reported below, without quoting it.
  }
  throw new AcmeFailure(`the certificate authority "${host}" answered with invalid JSON`, { scope: "directory" });
}

/** @see RFC 8555 §6.7 */
function typeOf(content: unknown): string | undefined {
  const type = isRecord(content) ? content["type"] : undefined;
  return typeof type === "string" ? /^urn:ietf:params:acme:error:([A-Za-z]{1,40})$/.exec(type)?.[1] : undefined;
}

/** Problems of one name. All others, such as a rejected account, are the same for each name. */
const OF_ONE_HOST = new Set([
  "caa",
  "connection",
  "dns",
  "incorrectResponse",
  "malformed",
  "orderNotReady",
  "rejectedIdentifier",
  "tls",
  "unauthorized",
  "unsupportedIdentifier",
  "alreadyReplaced",
  "rateLimited",
]);

function rejection(host: string, status: number, content: unknown, waitMs: number | undefined): AcmeFailure {
  if (status < 400) {
    return new AcmeFailure(`the certificate authority "${host}" redirects (${status}), must respond itself`, {
      scope: "directory",
    });
  }
  const type = typeOf(content);
  const isOfHost = type !== undefined && OF_ONE_HOST.has(type) && status < 500;
  return new AcmeFailure(`${problemText(content) ?? `the certificate authority "${host}" rejected it`} (${status})`, {
    scope: isOfHost ? "host" : "directory",
    type,
    // With a limit that names no time: an hour, since the next attempt counts against it.
    retryAfterMs: waitMs ?? (type === "rateLimited" || status === 429 ? 3_600_000 : undefined),
  });
}

/** The authority's own message: "DNS problem: NXDOMAIN looking up A for …". */
export function problemText(content: unknown): string | undefined {
  if (!isRecord(content)) return undefined;
  const [first] = Array.isArray(content["subproblems"]) ? (content["subproblems"] as unknown[]) : [];
  const detail = [content, first].flatMap((each) => detailOf(each) ?? []).at(-1);
  const type = typeOf(content);
  return detail === undefined && type === undefined ? undefined : [type, detail].filter(Boolean).join(": ");
}

function detailOf(content: unknown): string | undefined {
  const detail = isRecord(content) ? content["detail"] : undefined;
  return typeof detail === "string" ? foreignText(detail, MAX_MESSAGE) : undefined;
}

/** @see RFC 9110 §10.2.3 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const waitMs = /^\d{1,9}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isFinite(waitMs) ? Math.min(LONGEST_RETRY_AFTER_MS, Math.max(0, waitMs)) : undefined;
}
