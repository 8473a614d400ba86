/** The revocation endpoint (RFC 7009): a client returns its tokens, which revokes their grant. */
import type { Snapshot } from "../../config/snapshot.ts";
import type { Exchange } from "../../http/exchange.ts";
import { respondBytes } from "../../http/respond.ts";
import type { ExternalTokens } from "../../identity/external-token.ts";
import { NO_STORE_HEADERS, refuse, respondNotFound, type OAuthRefusal } from "./answer.ts";
import { proveClient, readClientForm, respondClientRefusal } from "./clients/client-request.ts";
import type { Client } from "./clients/client.ts";
import { findIssuer, type Issuer } from "./find-issuer.ts";
import { endGrant, type GrantDeps } from "./grants/grants.ts";
import { REVOKE_PATH } from "./metadata.ts";
import { openRefreshToken } from "./grants/refresh-token.ts";
import type { TokenDeps } from "./grants/token-request.ts";

export interface RevokeDeps extends GrantDeps, Pick<TokenDeps, "clients" | "clientKeys" | "failedProofs"> {
  readonly externalTokens: ExternalTokens;
}

export async function revoke(deps: RevokeDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  // The host must be an issuer.
  const issuer = findIssuer(snapshot, exchange.host);
  if (!issuer) return respondNotFound(exchange);
  const endpoint = { exchange, snapshot, issuer, path: REVOKE_PATH };

  const answerRefusal = (refusal: OAuthRefusal): void => {
    deps.log.info(
      { request: exchange.id, reason: refusal.error, detail: refusal.detail ?? refusal.description },
      "revocation rejected",
    );
    respondClientRefusal(endpoint, refusal);
  };

  // The client must authenticate, as at the token endpoint (RFC 7009 §2.1).
  const form = await readClientForm(exchange);
  if (!form.ok) return answerRefusal(form.refusal);
  const client = await proveClient(deps, endpoint, form.value);
  if (!client.ok) return answerRefusal(client.refusal);

  // The hint is ignored: it only speeds up a search that we do not need (RFC 7009 §2.1).
  const token = form.value.get("token");
  if (token === undefined || token === "") return answerRefusal(refuse("invalid_request", "token is missing").refusal);

  // A service account's token expires within minutes and has no grant (RFC 7009 §2.2.1).
  if (isMachineToken(deps, client.value, token)) {
    return answerRefusal(
      refuse("unsupported_token_type", "Client credentials tokens cannot be revoked; they expire").refusal,
    );
  }

  // Only the client of a token may revoke it. An unknown token is not an error (RFC 7009 §2.2).
  const grantId = findGrantId(deps, issuer, client.value, token);
  if (grantId !== undefined) await endGrant(deps, grantId, "revoked by the client");
  respondBytes(exchange, 200, ["x-request-id", exchange.id, "content-length", "0", ...NO_STORE_HEADERS]);
}

/** Finds the grant of a refresh or access token. "MAY revoke the respective refresh token as well" (RFC 7009 §2.1). */
function findGrantId(deps: RevokeDeps, issuer: Issuer, client: Client, token: string): string | undefined {
  const refresh = openRefreshToken(deps.keys, { issuer: issuer.origin, clientId: client.id }, token);
  if (refresh) return refresh.grantId;
  const access = deps.externalTokens.open(token);
  return access.ok && GRANTED.has(access.claims.kind) && access.claims.clientId === client.id
    ? access.claims.grantId
    : undefined;
}

/** Kinds of tokens with a grant of their own. */
const GRANTED: ReadonlySet<string> = new Set(["grant", "workload"]);

function isMachineToken(deps: RevokeDeps, client: Client, token: string): boolean {
  const access = deps.externalTokens.open(token);
  return access.ok && access.claims.kind === "service-account" && access.claims.clientId === client.id;
}
