/**
 * Requests to upstream token and revocation endpoints, and classification of their responses.
 *
 * Untrusted input: every response. Promises: only errors, as text for the log, and tokens that are valid in a header
 * leave this file. A grant is dropped only for an error that says so, never in doubt.
 */
import * as oauth from "oauth4webapi";

import type { LiveSettings } from "../../../config/compiled.ts";
import { type ClientKey, signingKey } from "../../../settings/client-key.ts";
import type { UpstreamReach } from "../../../features/connection/compiled.ts";
import { matchesDomain } from "../../../settings/domains.ts";
import { errorText } from "../../../shared/errors.ts";
import { isPassingError, oauthRefusalText } from "../../../shared/http/oauth-error.ts";
import type { SafeFetch } from "../../../http/fetch/safe-fetch.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import { endpointTarget, FetchRefused, guardedOptions } from "../discovery/guarded-oauth.ts";
import { isSameIssuer } from "../discovery/metadata.ts";
import type { ClientReference, ServerReference } from "../connection-records.ts";
import { scopeSet } from "../scopes.ts";
import { UPSTREAM_SETTINGS } from "./upstream-settings.ts";

export interface TokenSet {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Epoch seconds; absent if the server sent none. */
  readonly expiresAt?: number;
  /** Absent if the server sent none: then the requested scopes. */
  readonly scopes?: readonly string[];
}

export type TokenFailure =
  /** The grant is invalid for every client. */
  | "refused"
  /** The server rejects our client or its secret. */
  | "client-refused"
  /** An error that neither user nor time can fix, such as `invalid_request`. The grant may be valid. */
  | "answered-error"
  /** Unknown: try again. */
  | "unavailable";

export type TokenResult =
  | { readonly ok: true; readonly tokens: TokenSet }
  /** `detail` is for the log, with the setting to change if known. `code` is the server's error code, if any. */
  | { readonly ok: false; readonly failure: TokenFailure; readonly detail: string; readonly code?: string };

/** Context of a request, with the current secret. */
export interface EndpointContext {
  readonly server: ServerReference;
  /** Absent: the grant itself identifies the caller, and the server has no client. */
  readonly client: ClientReference | undefined;
  readonly clientSecret: string | undefined;
  /** For `private_key_jwt`. */
  readonly clientKey?: ClientKey | undefined;
  /** The only issuer that may get these credentials; undefined for configured endpoints. */
  readonly boundIssuer: string | undefined;
  /** undefined: not sent. */
  readonly resource: string | undefined;
  /** URL of the token's upstream. Endpoints at its own origin may use its scheme. */
  readonly upstreamUrl: string;
  /** From the upstream's route. */
  readonly reach?: UpstreamReach | undefined;
  readonly settings: LiveSettings;
}

export interface TokenEndpointDeps {
  readonly fetch: SafeFetch;
  readonly clock: Clock;
}

export function exchangeCode(
  deps: TokenEndpointDeps,
  asking: EndpointContext,
  grant: { readonly code: string; readonly redirectUri: string; readonly verifier: string },
): Promise<TokenResult> {
  return requestTokens(deps, asking, "authorization_code", {
    code: grant.code,
    redirect_uri: grant.redirectUri,
    code_verifier: grant.verifier,
  });
}

export function exchangeRefreshToken(
  deps: TokenEndpointDeps,
  asking: EndpointContext,
  refreshToken: string,
): Promise<TokenResult> {
  return requestTokens(deps, asking, "refresh_token", { refresh_token: refreshToken });
}

/** Requests a token by a grant without a browser. @param parameters in addition to `grant_type` and `resource` */
export function exchangeDirect(
  deps: TokenEndpointDeps,
  asking: EndpointContext,
  grantType: string,
  parameters: Readonly<Record<string, string>>,
): Promise<TokenResult> {
  return requestTokens(deps, asking, grantType, parameters);
}

/** Best effort: some servers cannot revoke, and the token is deleted here in any case. @returns true if the server confirmed */
export async function revokeToken(
  deps: TokenEndpointDeps,
  asking: EndpointContext,
  token: { readonly value: string; readonly hint: "refresh_token" | "access_token" },
): Promise<boolean> {
  const { revocationEndpoint } = asking.server;
  if (revocationEndpoint === undefined || whyNot(asking) !== undefined) return false;
  const call = oneCall(deps.fetch, asking, revocationEndpoint);
  try {
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(serverOf(asking), clientOf(asking), authOf(asking), token.value, {
        ...call.options,
        additionalParameters: { token_type_hint: token.hint },
      }),
    );
    return true;
  } catch {
    return false;
  }
}

async function requestTokens(
  deps: TokenEndpointDeps,
  asking: EndpointContext,
  grantType: string,
  parameters: Readonly<Record<string, string>>,
): Promise<TokenResult> {
  const problem = whyNot(asking);
  if (problem !== undefined) return refuse("refused", problem);
  const call = oneCall(deps.fetch, asking, asking.server.tokenEndpoint);
  const client = clientOf(asking);
  const askedAt = epochSeconds(deps.clock);
  try {
    const response = await oauth.genericTokenEndpointRequest(
      serverOf(asking),
      client,
      authOf(asking),
      grantType,
      asking.resource === undefined ? { ...parameters } : { ...parameters, resource: asking.resource },
      call.options,
    );
    const answer = await oauth.processGenericTokenEndpointResponse(serverOf(asking), client, response);
    if (answer.token_type !== "bearer") return refuse("unavailable", `the token type is not "bearer"`);
    if (!isHeaderToken(answer.access_token))
      return refuse("unavailable", "the access token has characters that no header can carry");
    return {
      ok: true,
      tokens: {
        accessToken: answer.access_token,
        ...(answer.refresh_token === undefined ? {} : { refreshToken: answer.refresh_token }),
        ...(answer.expires_in === undefined
          ? {}
          : { expiresAt: askedAt + Math.min(Math.floor(answer.expires_in), MAX_LIFETIME_SECONDS) }),
        ...(answer.scope === undefined || answer.scope === "" ? {} : { scopes: scopeSet(answer.scope) }),
      },
    };
  } catch (error) {
    return failureResult(error, call.status(), [asking.clientSecret, ...secretsOf(parameters)]);
  }
}

/** Ten years. Longer lifetimes are mistakes, and the store does not accept them. */
const MAX_LIFETIME_SECONDS = 10 * 365 * 24 * 3600;

/** b64token of RFC 6750 §2.1, and other visible characters that some servers use. */
function isHeaderToken(token: string): boolean {
  return token.length <= 32_768 && /^[\x21-\x7e]+$/.test(token);
}

/** Errors that make the grant permanently invalid (RFC 6749 §5.2, RFC 8707 §2). */
const PERMANENT = new Set([
  "invalid_grant",
  "invalid_scope",
  "invalid_target",
  "unsupported_grant_type",
  "access_denied",
]);
const ABOUT_CLIENT = new Set(["invalid_client", "unauthorized_client"]);
const ABOUT_REQUEST = new Set(["invalid_request", "invalid_dpop_proof", "use_dpop_nonce"]);

/** Secrets that some servers quote in their errors. */
function secretsOf(parameters: Readonly<Record<string, string>>): readonly (string | undefined)[] {
  return ["code", "code_verifier", "refresh_token", "assertion"].map((name) => parameters[name]);
}

function failureResult(error: unknown, status: number, sent: readonly (string | undefined)[]): TokenResult {
  if (error instanceof oauth.ResponseBodyError) {
    const { error: code } = error;
    const detail = `answered ${status} ${oauthRefusalText(error, UPSTREAM_SETTINGS, sent)}`;
    const word = /^[a-z_]{1,40}$/.test(code) ? { code } : {};
    return { ...refuse(failureOf(code, status), detail), ...word };
  }
  // A proxy's error page, a truncated response or an unreachable host say nothing about the grant.
  const what =
    error instanceof FetchRefused
      ? error.message
      : status === 0
        ? errorText(error)
        : `answered ${status} with no token response`;
  return refuse("unavailable", what);
}

function failureOf(code: string, status: number): TokenFailure {
  if (isPassingError(code, status)) return "unavailable";
  if (PERMANENT.has(code)) return "refused";
  if (ABOUT_CLIENT.has(code)) return "client-refused";
  return ABOUT_REQUEST.has(code) ? "answered-error" : "unavailable";
}

/**
 * Reason why nothing may be sent. The operator must still allow the issuer, and the credentials must belong to it.
 * Configured endpoints are allowed by the operator.
 */
function whyNot({ server: { issuer }, boundIssuer, settings }: EndpointContext): string | undefined {
  if (issuer === undefined) return boundIssuer === undefined ? undefined : "the server has no issuer";
  if (boundIssuer === undefined || !isSameIssuer(issuer, boundIssuer)) return "the client belongs to another issuer";
  const isListed = matchesDomain(settings.mcpAllowedAsMetadataDomains, new URL(issuer).hostname);
  return isListed ? undefined : "the issuer is no longer listed";
}

function serverOf({ server }: EndpointContext): oauth.AuthorizationServer {
  return {
    issuer: server.issuer ?? new URL(server.tokenEndpoint).origin,
    token_endpoint: server.tokenEndpoint,
    ...(server.revocationEndpoint === undefined ? {} : { revocation_endpoint: server.revocationEndpoint }),
  };
}

/** The library requires a name. Without a client it is never sent. */
function clientOf({ client }: EndpointContext): oauth.Client {
  return { client_id: client?.clientId ?? "none" };
}

function authOf({ client, clientSecret, clientKey }: EndpointContext): oauth.ClientAuth {
  if (client === undefined) return () => {};
  if (client.authMethod === "private_key_jwt" && clientKey) return oauth.PrivateKeyJwt(signingKey(clientKey));
  if (client.authMethod === "none" || clientSecret === undefined || clientSecret === "") return oauth.None();
  return client.authMethod === "client_secret_post" ? oauth.ClientSecretPost(clientSecret) : basicAuth(clientSecret);
}

/**
 * HTTP Basic with both parts form-encoded (RFC 6749 §2.3.1), encoding only the necessary characters: servers that do
 * not decode still accept identifiers of letters, digits, "-", "." and "_", which nearly all are.
 */
function basicAuth(clientSecret: string): oauth.ClientAuth {
  return (_server, client, _body, headers) => {
    const encoded = `${formEncode(client.client_id)}:${formEncode(clientSecret)}`;
    headers.set("authorization", `Basic ${Buffer.from(encoded).toString("base64")}`);
  };
}

function formEncode(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

/** @param endpoint URL of the request. Its own origin determines the restrictions, not that of another endpoint */
function oneCall(fetch: SafeFetch, asking: EndpointContext, endpoint: string) {
  let status = 0;
  const target = endpointTarget(asking.server, endpoint, asking);
  return { options: guardedOptions(fetch, target, (seen) => void (status = seen)), status: () => status };
}

function refuse(failure: TokenFailure, detail: string): TokenResult {
  return { ok: false, failure, detail };
}
