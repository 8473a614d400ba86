/** OAuth errors in their wire forms: JSON at token endpoints, a page or a redirect at the authorization endpoint. */
import type { CodeWith, ErrorCode, StatusOf, ErrorParts } from "../../http/codes.ts";
import type { Exchange } from "../../http/exchange.ts";
import { acceptsHtml, redirect, respondAgainLater, respondError, respondJson } from "../../http/respond.ts";
import { BLOCKED, type Block } from "../../policy/blocks.ts";
import { withAnswer } from "./clients/redirect-uri.ts";

/** Error codes of RFC 6749 §4.1.2.1 and §5.2, RFC 7009 §2.2.1, RFC 7591 §3.2.2, RFC 8707 §2, RFC 9449 §12.2, OpenID Connect Core §3.1.2.6. */
export type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_target"
  | "invalid_scope"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "unsupported_token_type"
  | "unsupported_response_type"
  | "access_denied"
  | "server_error"
  | "temporarily_unavailable"
  | "invalid_redirect_uri"
  | "invalid_client_metadata"
  | "interaction_required"
  | "invalid_dpop_proof"
  | "use_dpop_nonce"
  | "request_not_supported"
  | "request_uri_not_supported";

/** An error: its public part for the client, and details for the log. */
export interface OAuthRefusal<Code extends OAuthErrorCode = OAuthErrorCode> {
  readonly error: Code;
  /** Generic and public. ASCII without quotes and backslash (RFC 6749 §5.2). */
  readonly description: string;
  /** Exact reason for the log; never a secret. */
  readonly detail?: string;
  /** Overrides the status of the code. */
  readonly status?: number;
  /** Value of `Retry-After`. */
  readonly retryAfterSeconds?: number;
}

export type StepResult<T, Code extends OAuthErrorCode = OAuthErrorCode> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: OAuthRefusal<Code> };

export function refuse<Code extends OAuthErrorCode>(
  error: Code,
  description: string,
  detail?: string,
): { ok: false; refusal: OAuthRefusal<Code> } {
  return { ok: false, refusal: { error, description, ...(detail === undefined ? {} : { detail }) } };
}

type Refused = ReturnType<typeof refuse<OAuthErrorCode>>;

export function withStatus({ refusal }: Refused, status: number): Refused {
  return { ok: false, refusal: { ...refusal, status } };
}

/** Error for a peer with too many requests. */
export function tooMany(retryAfterSeconds: number, detail: string): Refused {
  const { refusal } = refuse("temporarily_unavailable", "Too many requests, please try again later", detail);
  return { ok: false, refusal: { ...refusal, status: 429, retryAfterSeconds } };
}

/**
 * Error for a block: `access_denied`, as RFC 8628 §3.5 uses it at the token endpoint. Clients drop their tokens at
 * `invalid_grant` and `invalid_client`, but these must work again after the block.
 */
export function refuseBlocked({ kind }: Block): Refused {
  return refuse("access_denied", "Access is blocked at the moment", `blocked: ${kind}`);
}

/** Page for a block if no redirect URI can be trusted. */
export const BLOCKED_PAGE: RefusalPage = {
  status: 403,
  code: BLOCKED,
  title: "Access is blocked",
  message: "Access is blocked at the moment",
};

export function pass<T>(value: T): { ok: true; value: T } {
  return { ok: true, value };
}

/** "The authorization server MUST include … Cache-Control: no-store in any response containing tokens" (RFC 6749 §5.1). */
export const NO_STORE_HEADERS = ["cache-control", "no-store", "pragma", "no-cache"] as const;

/** JSON error of RFC 6749 §5.2 and RFC 7591 §3.2.2. */
export function respondRefusal(exchange: Exchange, refusal: OAuthRefusal, headers: readonly string[] = []): void {
  const { error, description, status = statusOf(error) } = refusal;
  const waitSeconds = refusal.retryAfterSeconds ?? (error === "temporarily_unavailable" ? 5 : undefined);
  respondJson(exchange, status, { error, error_description: description }, [
    ...NO_STORE_HEADERS,
    ...(waitSeconds === undefined ? [] : ["retry-after", String(waitSeconds)]),
    ...headers,
  ]);
}

function statusOf(error: OAuthErrorCode): number {
  if (error === "invalid_client") return 401;
  if (error === "temporarily_unavailable") return 503;
  return error === "server_error" ? 500 : 400;
}

/** Destination of an error redirect. */
export interface RefusalTarget {
  readonly redirectUri: string;
  readonly state?: string | undefined;
  readonly issuer: string;
}

/** Redirects an error to a validated redirect URI (RFC 6749 §4.1.2.1). */
export function redirectRefusal(exchange: Exchange, to: RefusalTarget, refusal: OAuthRefusal): void {
  // 303 after our own form: the browser must not send the form on to the client.
  const status = exchange.method === "POST" ? 303 : 302;
  redirect(exchange, status, refusalAddress(to, refusal), ["referrer-policy", "no-referrer"]);
}

/** The redirect URI with the error and `iss` (RFC 9207 §2). */
export function refusalAddress(to: RefusalTarget, refusal: OAuthRefusal): string {
  const { error, description: error_description } = refusal;
  return withAnswer(to.redirectUri, { error, error_description, state: to.state, iss: to.issuer });
}

/** Matching pairs of status and code. */
export type RefusalPage = {
  [Code in ErrorCode]: ErrorParts<Code> & { readonly status: StatusOf<Code> };
}[ErrorCode];

/** Error without a trusted redirect URI: a page, or JSON for programs. */
export function respondPage(exchange: Exchange, parts: RefusalPage): void {
  if (!acceptsHtml(exchange)) {
    const details = parts.details ? { details: Object.fromEntries(parts.details) } : {};
    respondJson(exchange, parts.status, {
      error: parts.code,
      error_description: parts.message,
      request_id: exchange.id,
      ...details,
    });
    return;
  }
  respondError(exchange, parts.status, parts);
}

/** This host is not an issuer: MCP is off, or the host has no MCP server route. */
export function respondNotFound(exchange: Exchange): void {
  respondJson(exchange, 404, {
    error: "not_found" satisfies CodeWith<404>,
    error_description: "No MCP server route on this address",
    request_id: exchange.id,
  });
}

/** The store is unavailable: nothing was decided or consumed, so the client can retry. */
export function respondUnavailable(exchange: Exchange): void {
  if (acceptsHtml(exchange)) {
    return respondAgainLater(exchange, {
      code: "temporarily_unavailable",
      title: "Temporarily unavailable",
      message: "The gateway's store is unavailable. Please try again in a moment.",
    });
  }
  respondRefusal(exchange, { error: "temporarily_unavailable", description: "Please try again later" });
}
