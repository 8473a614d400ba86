/**
 * Who reads the catalog: callers with a token of a service account or a programmatic login, and with `mcp_catalog: public`
 * everyone. Cookies do not count, since pages of all origins may read the catalog.
 */
import { createHash } from "node:crypto";

import type { Snapshot } from "../config/snapshot.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondAgainLater, respondBytes, respondError } from "../http/respond.ts";
import type { ProgramCredentials } from "../identity/interfaces.ts";
import type { AuthResult } from "../identity/principal.ts";
import { respondBlocked } from "../identity/refuse-blocked.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { Reader } from "./entries.ts";

export interface CatalogDeps {
  readonly programs: Pick<ProgramCredentials, "ownBearer">;
  /** Blocked servers are not listed. */
  readonly blocks: Pick<Blocks, "find">;
}

const TOKEN_HEADERS = ["authorization", "x-gateway-authorization"];

/** @returns undefined: responded to */
export async function readerOf(
  { programs }: CatalogDeps,
  exchange: Exchange,
  { settings }: Snapshot,
): Promise<Reader | undefined> {
  const { mcpCatalog } = settings;
  if (mcpCatalog === undefined) {
    respondNotFound(exchange);
    return undefined;
  }
  const result = await programs.ownBearer(exchange);
  if (result?.ok === true) return { user: result.principal.user };
  // A token of another kind, or of another issuer, is not ignored: its caller expects their own list.
  const hasToken = result !== undefined || TOKEN_HEADERS.some((name) => exchange.headerValues(name).length > 0);
  if (!hasToken && mcpCatalog === "public") return { user: undefined };
  respondUnauthorized(exchange, result?.reason, hasToken);
  return undefined;
}

function respondUnauthorized(
  exchange: Exchange,
  reason: Extract<AuthResult, { ok: false }>["reason"] | undefined,
  hasToken: boolean,
): void {
  if (reason === "blocked") return respondBlocked(exchange);
  if (reason === "unavailable")
    return respondAgainLater(exchange, { code: "catalog.unavailable", message: "Try again shortly" });
  const challenge = hasToken ? 'Bearer error="invalid_token"' : "Bearer";
  respondError(exchange, 401, { code: "unauthorized", message: "Unauthorized" }, ["www-authenticate", challenge]);
}

export function respondNotFound(exchange: Exchange): void {
  respondError(exchange, 404, { code: "catalog.not-found", message: "There is no such server in the catalog" });
}

/** @param maxAgeSeconds for readers who are not signed in, who all get the same */
export function respondDocument(
  exchange: Exchange,
  { user }: Reader,
  document: object,
  { type, maxAgeSeconds }: { readonly type: string; readonly maxAgeSeconds: number },
): void {
  const body = Buffer.from(JSON.stringify(document));
  const headers = ["x-request-id", exchange.id, "vary", TOKEN_HEADERS.join(", ")];
  if (user !== undefined) headers.push("cache-control", "private, no-store");
  else {
    const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    headers.push("cache-control", `public, max-age=${maxAgeSeconds}`, "etag", etag);
    if (exchange.header("if-none-match") === etag) return respondBytes(exchange, 304, headers);
  }
  respondBytes(exchange, 200, [...headers, "content-type", type, "content-length", String(body.length)], body);
}
