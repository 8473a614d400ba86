/**
 * The authorization endpoint (OAuth 2.1 §4.1.1): checks and stores the request, and redirects to the consent page.
 *
 * Untrusted input: the whole query, and its source. Promises: errors are shown as a page until client and redirect URI
 * are known to match, and only then redirected. A registered client cannot misuse our host name for redirects to other
 * sites.
 */
import type { Snapshot } from "../../../config/snapshot.ts";
import type { CodeWith } from "../../../http/codes.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { parseQuery } from "../../../shared/http/query.ts";
import { redirect } from "../../../http/respond.ts";
import type { Log } from "../../../shared/log.ts";
import { findSite } from "../../../identity/sites.ts";
import {
  BLOCKED_PAGE,
  pass,
  redirectRefusal,
  refusalAddress,
  refuse,
  respondNotFound,
  respondPage,
  type OAuthErrorCode,
  type OAuthRefusal,
  type RefusalPage,
  type RefusalTarget,
  type StepResult,
} from "../answer.ts";
import { clientRefusalPage, clientRefusalText } from "../clients/client-refusal.ts";
import { findClient, type Client, type ClientDeps } from "../clients/client.ts";
import type { IssuerSession } from "../deps.ts";
import { findAudience, findIssuer, routesOfAudience, type Issuer } from "../find-issuer.ts";
import { CONSENT_PATH } from "../metadata.ts";
import { isCodeChallenge } from "./pkce.ts";
import type { AuthorizationRequestRecord } from "../grant-records.ts";
import { isLoopbackRedirectUri, matchesRedirectUri, redirectTarget } from "../clients/redirect-uri.ts";
import type { RequestStates } from "./request-state.ts";
import { grantedScope } from "../scope.ts";

export interface AuthorizeDeps {
  readonly clients: ClientDeps;
  readonly requests: RequestStates;
  readonly session: Pick<IssuerSession, "blocks">;
  readonly log: Log;
}

type Parameters = ReadonlyMap<string, string>;

export async function authorize(deps: AuthorizeDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const refusePage = (page: RefusalPage, detail: string): void => {
    deps.log.info({ request: exchange.id, reason: page.code, detail }, "authorization request rejected");
    respondPage(exchange, page);
  };

  // The host must be an issuer.
  const issuer = findIssuer(snapshot, exchange.host);
  if (!issuer) return respondNotFound(exchange);

  // "Request and response parameters MUST NOT be included more than once" (RFC 6749 §3.1).
  const query = parseQuery(exchange.query);
  if (!query.ok) return refusePage(badRequest("The authorization request cannot be read"), query.reason);
  const parameters = withoutEmpty(query.values);

  // The client must be registered, or be a permitted document.
  const clientId = parameters.get("client_id");
  if (clientId === undefined) return refusePage(badRequest("The authorization request names no client"), "client_id");
  const lookup = await findClient(deps.clients, issuer, snapshot, clientId, exchange.remoteAddress);
  if (!lookup.ok) return refusePage(clientRefusalPage(lookup, clientId), clientRefusalText(lookup));
  const { client } = lookup;
  if (deps.session.blocks?.find({ clientId })) return refusePage(BLOCKED_PAGE, "blocked: client");

  // The redirect URI must belong to the client, or the response would go to another party (OAuth 2.1 §4.1.1, §7.12).
  const redirectUri = findRedirectUri(client, parameters.get("redirect_uri"));
  if (redirectUri === undefined) {
    return refusePage(badRequest("The redirect URI is not registered for this client"), "redirect_uri");
  }

  // From here on, errors are sent to the client.
  const request = parseRequest(parameters, issuer, client, redirectUri);
  if (!request.ok) {
    const { refusal } = request;
    deps.log.info(
      { request: exchange.id, client: client.id, reason: refusal.error, detail: refusal.description },
      "authorization request rejected",
    );
    const target = { redirectUri, state: safeState(parameters), issuer: issuer.origin };
    if (mayRedirectUnseen(client, redirectUri)) return redirectRefusal(exchange, target, refusal);
    return respondPage(exchange, refusalPage(target, refusal));
  }

  // The checked request stays with the browser during sign-in and consent.
  const text = await deps.requests.keep(request.value, exchange.remoteAddress);
  if (text === undefined) return refusePage(TOO_MANY, "too many long requests wait");
  const pages = findSite(snapshot, issuer.host)?.authenticateOrigin ?? issuer.origin;
  redirect(exchange, 302, `${pages}${CONSENT_PATH}?request=${text}`, ["referrer-policy", "no-referrer"]);
}

/** "Parameters sent without a value MUST be treated as if they were omitted from the request" (RFC 6749 §3.1). */
function withoutEmpty(parameters: Parameters): Parameters {
  return new Map([...parameters].filter(([, value]) => value !== ""));
}

/** Returns the requested URI if it is registered, or the only registered one if none was requested. */
function findRedirectUri(client: Client, requested: string | undefined): string | undefined {
  const registered = client.metadata.redirect_uris;
  if (requested !== undefined) return matchesRedirectUri(registered, requested) ? requested : undefined;
  return registered.length === 1 ? registered[0] : undefined;
}

/**
 * Returns true if an error may redirect the browser before sign-in: to the user's own computer, or to a client with a
 * document or pre-registration. For others, "the authorization server MUST always authenticate the user first"
 * (RFC 9700 §4.11.2).
 */
function mayRedirectUnseen(client: Client, redirectUri: string): boolean {
  return isLoopbackRedirectUri(redirectUri) || client.documentHost !== undefined || client.preRegistered;
}

/** Error codes that the client may learn. */
type ShownCode = Extract<OAuthErrorCode, CodeWith<400>>;

/** The user decides whether to go to the client's redirect URI. */
function refusalPage(target: RefusalTarget, refusal: OAuthRefusal<ShownCode>): RefusalPage {
  return {
    ...badRequest(`The application's request is invalid (${refusal.description})`),
    code: refusal.error,
    details: [["Answer goes to", redirectTarget(target.redirectUri)]],
    links: [{ href: refusalAddress(target, refusal), text: "Return to the application" }],
  };
}

/** Checks in the order of their RFCs. The first failure is the response. */
function parseRequest(
  parameters: Parameters,
  issuer: Issuer,
  client: Client,
  redirectUri: string,
): StepResult<AuthorizationRequestRecord, ShownCode> {
  // Signed requests would contain parameters that we did not check (OpenID Connect Core §6).
  if (parameters.has("request")) return refuse("request_not_supported", "The request parameter is not supported");
  if (parameters.has("request_uri"))
    return refuse("request_uri_not_supported", "The request_uri parameter is not supported");

  // RFC 6749 §4.1.1: response_type is REQUIRED and must be "code".
  const responseType = parameters.get("response_type");
  if (responseType === undefined) return refuse("invalid_request", "response_type is missing");
  if (responseType !== "code") return refuse("unsupported_response_type", "response_type must be code");
  if ((parameters.get("response_mode") ?? "query") !== "query")
    return refuse("invalid_request", "response_mode must be query");
  if (!client.metadata.grant_types.includes("authorization_code")) {
    return refuse("unauthorized_client", "The client is not registered for this grant type");
  }

  // RFC 6749 Appendix A.5 allows printable ASCII. Some clients send more, but never control characters.
  const state = parameters.get("state");
  if (state !== undefined && safeState(parameters) === undefined)
    return refuse("invalid_request", "state has characters that cannot be sent back");

  // OAuth 2.1 §4.1.1: the challenge is REQUIRED. An absent method means "plain" (RFC 7636 §4.3), which protects nothing.
  const codeChallenge = parameters.get("code_challenge");
  if (codeChallenge === undefined) return refuse("invalid_request", "code_challenge is missing");
  if (parameters.get("code_challenge_method") !== "S256")
    return refuse("invalid_request", "code_challenge_method must be S256");
  if (!isCodeChallenge(codeChallenge))
    return refuse("invalid_request", "code_challenge must be a SHA-256 hash in base64url");

  // RFC 9449 §10: base64url of a SHA-256 hash.
  const keyThumbprint = parameters.get("dpop_jkt");
  if (keyThumbprint !== undefined && !/^[\w-]{43}$/.test(keyThumbprint))
    return refuse("invalid_request", "dpop_jkt must be the SHA-256 thumbprint of a key");

  // RFC 8707 §2: unknown targets are rejected; a missing one has a default.
  const audience = findAudience(issuer, parameters.get("resource"));
  if (audience === undefined) return refuse("invalid_target", "resource must be an MCP server of this issuer");

  // User interaction may always be necessary, so a request that forbids it fails (OpenID Connect Core §3.1.2.1).
  const prompt = parameters.get("prompt")?.split(" ") ?? [];
  if (prompt.includes("none")) return refuse("interaction_required", "The user must be asked");

  return pass({
    schema: 1,
    issuer: issuer.origin,
    clientId: client.id,
    metadataHash: client.metadataHash,
    redirectUri,
    redirectUriSent: parameters.has("redirect_uri"),
    ...(state === undefined ? {} : { state }),
    codeChallenge,
    ...(keyThumbprint === undefined ? {} : { keyThumbprint }),
    audience,
    scope: grantedScope(parameters.get("scope"), routesOfAudience(issuer, audience)),
    askAgain: prompt.includes("consent"),
  });
}

/** Returns the state if it can be sent back unchanged. */
function safeState(parameters: Parameters): string | undefined {
  const state = parameters.get("state");
  return state !== undefined && state.length <= 4096 && !/\p{Cc}/u.test(state) ? state : undefined;
}

/** Only for requests that are too long for a URL. */
const TOO_MANY: RefusalPage = {
  status: 429,
  code: "too_many_requests",
  title: "Too many sign-ins at once",
  message: "Many sign-ins from your address are waiting. Please start again from the application in a minute.",
};

function badRequest(message: string) {
  return {
    status: 400,
    code: "invalid_request",
    title: "Sign-in request refused",
    message: `${message}. Please start again from the application.`,
  } as const satisfies RefusalPage;
}
