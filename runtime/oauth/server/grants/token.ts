/**
 * The token endpoint (OAuth 2.1 §3.2): authenticates the client, checks its grant, and issues tokens.
 *
 * Untrusted input: header and form. Promise: responses are never cached (RFC 6749 §5.1).
 */
import type { Snapshot } from "../../../config/snapshot.ts";
import type { IssuerUse } from "../../../features/sign-in/trusted-issuers.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { respondJson } from "../../../http/respond.ts";
import { readUnverified } from "../../../issuers/read-unverified.ts";
import { NONCE_HEADER } from "../../../identity/dpop/proofs.ts";
import { epochSeconds } from "../../../shared/clock.ts";
import type { Parameters } from "../../../shared/http/query.ts";
import { networkOf } from "../../../shared/rate-limit.ts";
import {
  NO_STORE_HEADERS,
  pass,
  refuse,
  refuseBlocked,
  respondNotFound,
  tooMany,
  type OAuthRefusal,
  type StepResult,
} from "../answer.ts";
import { proveClient, readClientForm, respondClientRefusal } from "../clients/client-request.ts";
import { keepClient, type Client } from "../clients/client.ts";
import { bindsTokens, findIssuer, idJagIssuers, offersRuns, workloadIssuers, type Issuer } from "../find-issuer.ts";
import { grantToClient } from "./grant-client.ts";
import { exchangeCode } from "./grant-code.ts";
import { exchangeIdJag, ID_JAG_TYPE } from "./grant-id-jag.ts";
import { refreshGrant } from "./grant-refresh.ts";
import { ACCESS_TOKEN_TYPE, checkExchange, exchangeRun } from "./grant-run.ts";
import { exchangeWorkload, needsNoClient, type WorkloadRequest } from "./grant-workload.ts";
import { GRANT_TYPES_SUPPORTED, JWT_BEARER_GRANT, TOKEN_EXCHANGE_GRANT, TOKEN_PATH } from "../metadata.ts";
import type { TokenAnswer } from "./refresh-token.ts";
import type { TokenDeps, TokenRequest } from "./token-request.ts";

/** Large enough for an assertion in addition to a client's own. */
const MAX_ASSERTION_FORM_BYTES = 32_768;

type Grant = (deps: TokenDeps, request: TokenRequest) => Promise<StepResult<TokenAnswer>>;

const GRANTS: ReadonlyMap<string, Grant> = new Map([
  ["authorization_code", exchangeCode],
  ["refresh_token", refreshGrant],
  ["client_credentials", grantToClient],
]);

export async function token(deps: TokenDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const arrivedMs = deps.clock.now();
  // The host must be an issuer.
  const issuer = findIssuer(snapshot, exchange.host);
  if (!issuer) return respondNotFound(exchange);
  const endpoint = { exchange, snapshot, issuer, path: TOKEN_PATH };

  const answerRefusal = (refusal: OAuthRefusal, clientId?: string): void => {
    deps.log.info(
      { request: exchange.id, client: clientId, reason: refusal.error, detail: refusal.detail ?? refusal.description },
      "token request rejected",
    );
    respondClientRefusal(endpoint, refusal, refusal.error === "use_dpop_nonce" ? nonceHeader(deps, issuer) : []);
  };

  // The form must be valid, and the client must authenticate (RFC 6749 §3.2 and §3.2.1).
  const asserts = deps.issuerKeys === undefined ? NO_USES : assertersOf(snapshot, issuer);
  const form = await readClientForm(exchange, asserts.length > 0 ? MAX_ASSERTION_FORM_BYTES : undefined);
  if (!form.ok) return answerRefusal(form.refusal);
  const parameters = new Map([...form.value].filter(([, value]) => value !== ""));
  const isWorkload = presentsWorkload(asserts, parameters);
  const isRun = parameters.get("grant_type") === TOKEN_EXCHANGE_GRANT && offersRuns(snapshot, issuer);
  const client = isRun
    ? checkExchange(exchange, parameters)
    : isWorkload && (await needsNoClient(deps, exchange, parameters, workloadIssuers(snapshot, issuer)))
      ? pass(undefined)
      : await proveClient(deps, endpoint, parameters);
  if (!client.ok) return answerRefusal(client.refusal);

  // The next steps consume codes and refresh tokens.
  const clientId = client.value?.id;
  const block = clientId === undefined ? undefined : deps.session.blocks?.find({ clientId });
  if (block) return answerRefusal(refuseBlocked(block).refusal, clientId);

  // The key of the request's proof is the one that new tokens are bound to.
  const proof = readProof(deps, exchange, issuer, client.value);
  if (!proof.ok) return answerRefusal(proof.refusal, clientId);

  // The grant must be valid for this client.
  const request: WorkloadRequest = {
    issuer,
    client: client.value,
    form: parameters,
    snapshot,
    keyThumbprint: proof.value,
    peer: exchange.remoteAddress,
    now: epochSeconds(deps.clock),
    arrivedMs,
  };
  const { issuerKeys } = deps;
  const answer =
    isRun && issuerKeys
      ? await exchangeRun({ ...deps, issuerKeys }, request)
      : await answerGrant(deps, request, isWorkload);
  if (!answer.ok) return answerRefusal(answer.refusal, clientId);

  // Extend the lifetime of a registration in use.
  if (client.value) await keepClient(deps.clients, client.value, snapshot.settings.lifetimes.refreshToken);
  respondJson(exchange, 200, tokenResponse(answer.value, epochSeconds(deps.clock)), [
    ...NO_STORE_HEADERS,
    ...nonceHeader(deps, issuer),
  ]);
}

/** @returns the thumbprint of the key; undefined: the tokens are not bound to one */
function readProof(
  deps: TokenDeps,
  exchange: Exchange,
  issuer: Issuer,
  client: Client | undefined,
): StepResult<string | undefined> {
  if (!bindsTokens(issuer)) return pass(undefined);
  const headers = exchange.headerValues("dpop");
  if (headers.length === 0) {
    const isNeeded =
      client?.metadata.dpop_bound_access_tokens === true || issuer.routes.every(({ mcp }) => mcp.dpop === "required");
    return isNeeded ? refuse("invalid_dpop_proof", "The request needs a DPoP proof") : pass(undefined);
  }
  // Invalid proofs count against the peer, since verifying costs more than sending.
  const sender = `${networkOf(exchange.remoteAddress)} dpop`;
  const waitSeconds = deps.failedProofs.take(sender);
  if (waitSeconds > 0) return tooMany(waitSeconds, "too many invalid DPoP proofs from one peer");
  const { method } = exchange;
  const request = { method, origin: issuer.origin, path: TOKEN_PATH, headers, needsNonce: needsNonce(issuer) };
  const proof = deps.session.proofs.check(request);
  if (proof.ok || proof.reason === "nonce") deps.failedProofs.giveBack(sender);
  if (proof.ok) return pass(proof.thumbprint);
  return proof.reason === "nonce"
    ? refuse("use_dpop_nonce", "The DPoP proof needs the nonce of this response")
    : refuse("invalid_dpop_proof", "The DPoP proof is not valid", `DPoP proof: ${proof.problem}`);
}

function needsNonce({ routes }: Issuer): boolean {
  return routes.some(({ mcp }) => mcp.dpopNonce);
}

function nonceHeader({ session }: TokenDeps, issuer: Issuer): readonly string[] {
  return needsNonce(issuer) ? [NONCE_HEADER, session.proofs.nonce()] : [];
}

const NO_USES: readonly IssuerUse[] = [];

/** Kinds of assertions that this issuer accepts. */
function assertersOf(snapshot: Snapshot, issuer: Issuer): readonly IssuerUse[] {
  const uses: IssuerUse[] = [];
  if (idJagIssuers(snapshot, issuer).length > 0) uses.push("id_jag");
  if (workloadIssuers(snapshot, issuer).length > 0) uses.push("workload");
  return uses;
}

/** The grant type has two meanings. The type of the assertion decides. */
function presentsWorkload(asserts: readonly IssuerUse[], form: Parameters): boolean {
  if (form.get("grant_type") !== JWT_BEARER_GRANT || !asserts.includes("workload")) return false;
  if (!asserts.includes("id_jag")) return true;
  const assertion = form.get("assertion");
  return assertion !== undefined && readUnverified(assertion)?.type !== ID_JAG_TYPE;
}

function answerGrant(
  deps: TokenDeps,
  { client, ...rest }: WorkloadRequest,
  isWorkload: boolean,
): Promise<StepResult<TokenAnswer>> | StepResult<TokenAnswer> {
  const { issuerKeys } = deps;
  if (isWorkload && issuerKeys) return exchangeWorkload({ ...deps, issuerKeys }, { ...rest, client });
  if (!client) return refuse("invalid_request", "client_id is missing");
  const request: TokenRequest = { ...rest, client };
  const grantType = request.form.get("grant_type");
  if (grantType === undefined) return refuse("invalid_request", "grant_type is missing");
  if (grantType === JWT_BEARER_GRANT && issuerKeys && idJagIssuers(request.snapshot, request.issuer).length > 0) {
    // Allowed by the issuer's entry and the assertion: clients do not register this grant type.
    return exchangeIdJag({ ...deps, issuerKeys }, request);
  }
  const grant = GRANTS.get(grantType);
  if (!grant) return refuse("unsupported_grant_type", `grant_type must be one of ${GRANT_TYPES_SUPPORTED.join(", ")}`);
  if (!request.client.metadata.grant_types.includes(grantType)) {
    return refuse("unauthorized_client", "The client is not registered for this grant type");
  }
  return grant(deps, request);
}

/**
 * Reduction of `expires_in` for clients that can refresh, at most a tenth of the token's lifetime. Clients count from
 * the arrival of the response. The Python SDK sends one more request with an expired token, and its user must sign in
 * again after the 401 (D354).
 */
const REFRESH_EARLY_SECONDS = 10;

/** RFC 6749 §5.1. `expires_in` is a number: SDKs reject text. */
function tokenResponse(answer: TokenAnswer, now: number): object {
  const left = Math.max(0, answer.accessExpiresAt - now);
  const early = answer.refreshToken === undefined ? 0 : Math.min(REFRESH_EARLY_SECONDS, Math.floor(left / 10));
  return {
    access_token: answer.accessToken,
    token_type: answer.keyThumbprint === undefined ? "Bearer" : "DPoP",
    expires_in: left - early,
    ...(answer.refreshToken === undefined ? {} : { refresh_token: answer.refreshToken }),
    scope: answer.scope,
    ...(answer.isExchanged ? { issued_token_type: ACCESS_TOKEN_TYPE } : {}),
  };
}
