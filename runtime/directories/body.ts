/** SCIM requests: JSON bodies (RFC 7644 §3.1, §8.1), and log records of changes. */
import { hasNoContentCoding, readBody } from "../http/body.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondBytes, respondJson } from "../http/respond.ts";
import { errorBody, ScimRefusal } from "./scim/refusal.ts";
import { parseForeignJson } from "../shared/json/foreign-json.ts";
import type { Directory } from "../features/sign-in/directories.ts";
import type { Parameters } from "../shared/http/query.ts";
import type { Log } from "../shared/log.ts";
import type { RateLimiter } from "../shared/rate-limit.ts";
import type { DirectoryParts } from "./directories.ts";

const TYPES = new Set(["application/scim+json", "application/json"]);
const SCIM = ["content-type", "application/scim+json"] as const;
const AGAIN_SECONDS = "5";

/** @throws ScimRefusal */
export async function readJson(exchange: Exchange, maxBytes: number): Promise<unknown> {
  const type = exchange.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (!TYPES.has(type) || !hasNoContentCoding(exchange))
    throw new ScimRefusal(415, "The body must be application/scim+json, not compressed");
  const body = await readBody(exchange, maxBytes);
  if (!body.ok) {
    if (body.reason === "too-large") throw new ScimRefusal(413, `The body has more than ${maxBytes} bytes`);
    throw new ScimRefusal(400, "The body is incomplete", "invalidSyntax");
  }
  const value = parseForeignJson(body.bytes);
  if (value === undefined) throw new ScimRefusal(400, "The body is not JSON", "invalidSyntax");
  return value;
}

export function respondScim(exchange: Exchange, status: number, body: object, headers: readonly string[] = []): void {
  respondJson(exchange, status, body, [...SCIM, ...headers]);
}

export function respondNothing(exchange: Exchange): void {
  respondBytes(exchange, 204, ["x-request-id", exchange.id, "cache-control", "no-store"]);
}

export function respondRefusal(exchange: Exchange, refusal: ScimRefusal, headers: readonly string[] = []): void {
  const again = refusal.status === 503 || (refusal.status === 429 && headers.length === 0);
  respondScim(exchange, refusal.status, errorBody(refusal), again ? ["retry-after", AGAIN_SECONDS] : headers);
}

/** Logs a change, so that an investigation can find out when a user got access. @param what the resource and its change */
export function noteChange(
  { log, exchange, directory }: ScimRequest,
  what: { readonly did: "created" | "changed" | "deleted" } & (
    | { readonly user: string; readonly active?: boolean }
    | { readonly group: string; readonly members?: { readonly added: number; readonly removed: number | "others" } }
  ),
): void {
  const from = { request: exchange.id, peer: exchange.remoteAddress, directory: directory.name };
  log.info({ ...from, ...what }, "directory entry changed");
}

/** Dependencies of the SCIM endpoints, and the context of one request. */
export interface ScimDeps extends DirectoryParts {
  readonly log: Log;
  readonly failures: RateLimiter;
  /** Waits for the request's turn under the rate limit. */
  readonly pace: () => Promise<void>;
  /**
   * Waits for a turn of the event loop without another large response. Requests that read the same data finish at the
   * same time.
   */
  readonly turn: () => Promise<void>;
}

export interface ScimRequest extends DirectoryParts, Pick<ScimDeps, "turn"> {
  readonly log: Log;
  readonly exchange: Exchange;
  readonly directory: Directory;
  /** URL of the directory, without trailing slash. */
  readonly base: string;
  readonly id: string | undefined;
  readonly parameters: Parameters;
}
