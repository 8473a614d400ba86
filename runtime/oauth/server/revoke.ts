/** The revocation endpoint (RFC 7009): a client gives its tokens back, and the grant behind them ends. */
import type { Snapshot } from "../../config/snapshot.ts";
import { readForm } from "../../http/body.ts";
import type { Exchange } from "../../http/exchange.ts";
import { respondBytes } from "../../http/respond.ts";
import type { ExternalTokens } from "../../identity/external-token.ts";
import type { FailureLimit } from "../../shared/rate-limit.ts";
import { NO_STORE_HEADERS, refuse, respondNotFound, respondRefusal, type OAuthRefusal } from "./answer.ts";
import { authenticateClient, clientChallenge, proofPlace, readCredentials } from "./clients/client-auth.ts";
import type { ClientKeys } from "./clients/client-keys.ts";
import { findClient, type Client, type ClientDeps } from "./clients/client.ts";
import { findIssuer, type Issuer } from "./find-issuer.ts";
import { endGrant, type GrantDeps } from "./grants/grants.ts";
import { REVOKE_PATH } from "./metadata.ts";
import { openRefreshToken } from "./grants/refresh-token.ts";

const MAX_FORM_BYTES = 16_384;

export interface RevokeDeps extends GrantDeps {
  readonly clients: ClientDeps;
  readonly clientKeys: ClientKeys;
  readonly failedProofs: FailureLimit;
  readonly externalTokens: ExternalTokens;
}

export async function revoke(deps: RevokeDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  // The host must be an issuer.
  const issuer = findIssuer(snapshot, exchange.host);
  if (!issuer) return respondNotFound(exchange);

  const answerRefusal = (refusal: OAuthRefusal): void => {
    deps.log.info(
      { request: exchange.id, reason: refusal.error, detail: refusal.detail ?? refusal.description },
      "revocation refused",
    );
    const headers = refusal.error === "invalid_client" ? clientChallenge(exchange, issuer.origin) : [];
    respondRefusal(exchange, refusal, headers);
  };

  // The client must prove itself, as at the token endpoint (RFC 7009 §2.1).
  const form = await readForm(exchange, MAX_FORM_BYTES);
  if (!form.ok)
    return answerRefusal(
      refuse("invalid_request", "The request must be one form without repeated parameters", form.reason).refusal,
    );
  const credentials = readCredentials(exchange, form.values);
  if (!credentials.ok) return answerRefusal(credentials.refusal);
  const lookup = await findClient(deps.clients, issuer, snapshot, credentials.value.clientId, exchange.remoteAddress);
  const client = await authenticateClient(
    deps,
    credentials.value,
    lookup,
    proofPlace(exchange, issuer, REVOKE_PATH, snapshot),
  );
  if (!client.ok) return answerRefusal(client.refusal);

  // The hint only speeds a search up that we do not need (RFC 7009 §2.1), so it is not read.
  const token = form.values.get("token");
  if (token === undefined || token === "") return answerRefusal(refuse("invalid_request", "token is missing").refusal);

  // A machine's token ends by itself within minutes, and no grant stands behind it (RFC 7009 §2.2.1).
  if (isMachineToken(deps, client.value, token)) {
    return answerRefusal(refuse("unsupported_token_type", "Tokens of client credentials end by themselves").refusal);
  }

  // Only the client that a token was issued to may end it. An unknown token is not an error (RFC 7009 §2.2).
  const grantId = findGrantId(deps, issuer, client.value, token);
  if (grantId !== undefined) await endGrant(deps, grantId, "revoked by the client");
  respondBytes(exchange, 200, ["x-request-id", exchange.id, "content-length", "0", ...NO_STORE_HEADERS]);
}

/** The grant behind a refresh token or an access token; "MAY revoke the respective refresh token as well" (RFC 7009 §2.1). */
function findGrantId(deps: RevokeDeps, issuer: Issuer, client: Client, token: string): string | undefined {
  const refresh = openRefreshToken(deps.keys, { issuer: issuer.origin, clientId: client.id }, token);
  if (refresh) return refresh.grantId;
  const access = deps.externalTokens.open(token);
  return access.ok && access.claims.kind === "grant" && access.claims.clientId === client.id
    ? access.claims.grantId
    : undefined;
}

function isMachineToken(deps: RevokeDeps, client: Client, token: string): boolean {
  const access = deps.externalTokens.open(token);
  return access.ok && access.claims.kind === "service-account" && access.claims.clientId === client.id;
}
