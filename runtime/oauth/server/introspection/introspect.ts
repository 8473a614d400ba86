/**
 * The introspection endpoint (RFC 7662): tells a confidential client whether a token is active, and its user.
 *
 * Untrusted input: header and form. Promises: only clients with a secret or key get a response. A client sees its own
 * tokens and those for the resources that its service account represents; all others are "not active". Nothing is
 * changed. Without the store the response is 503, never "active".
 */
import type { Snapshot } from "../../../config/snapshot.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { respondJson } from "../../../http/respond.ts";
import { epochSeconds } from "../../../shared/clock.ts";
import type { FailureLimit } from "../../../shared/rate-limit.ts";
import type { Parameters } from "../../../shared/http/query.ts";
import {
  NO_STORE_HEADERS,
  refuse,
  refuseBlocked,
  respondNotFound,
  type OAuthRefusal,
  type StepResult,
} from "../answer.ts";
import { proveClient, readClientForm, respondClientRefusal, type ClientEndpoint } from "../clients/client-request.ts";
import type { ClientKeys } from "../clients/client-keys.ts";
import type { Client, ClientDeps } from "../clients/client.ts";
import { findIssuer } from "../find-issuer.ts";
import { INTROSPECT_PATH } from "../metadata.ts";
import { describeToken, type DescribeDeps } from "./describe-token.ts";

export interface IntrospectDeps extends DescribeDeps {
  readonly clients: ClientDeps;
  readonly clientKeys: ClientKeys;
  readonly failedProofs: FailureLimit;
}

export async function introspect(deps: IntrospectDeps, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  // The host must be an issuer.
  const issuer = findIssuer(snapshot, exchange.host);
  if (!issuer) return respondNotFound(exchange);
  const endpoint = { exchange, snapshot, issuer, path: INTROSPECT_PATH };

  const answerRefusal = (refusal: OAuthRefusal, clientId?: string): void => {
    deps.log.info(
      { request: exchange.id, client: clientId, reason: refusal.error, detail: refusal.detail ?? refusal.description },
      "introspection rejected",
    );
    respondClientRefusal(endpoint, refusal);
  };

  // The client must authenticate, as at the token endpoint (RFC 7662 §2.1).
  const form = await readClientForm(exchange);
  if (!form.ok) return answerRefusal(form.refusal);
  const client = await proveCaller(deps, endpoint, form.value);
  if (!client.ok) return answerRefusal(client.refusal);
  const { id } = client.value;

  // A blocked client gets no information.
  const block = deps.session.blocks?.find({ clientId: id });
  if (block) return answerRefusal(refuseBlocked(block).refusal, id);

  // The hint is ignored: it only speeds up a search that we do not need (RFC 7662 §2.1).
  const token = form.value.get("token");
  if (token === undefined || token === "")
    return answerRefusal(refuse("invalid_request", "token is missing").refusal, id);

  const context = { issuer, client: client.value, snapshot, now: epochSeconds(deps.clock) };
  const described = await describeToken(deps, context, token);
  if (!described.ok) return answerRefusal(described.refusal, id);
  // "SHOULD NOT include any additional information about an inactive token, including why" (RFC 7662 §2.2).
  respondJson(exchange, 200, described.value ?? { active: false }, NO_STORE_HEADERS);
}

/** Returns the client if it is confidential: a public client id proves nothing. */
async function proveCaller(
  deps: IntrospectDeps,
  endpoint: ClientEndpoint,
  form: Parameters,
): Promise<StepResult<Client>> {
  // "No client authentication included" is invalid_client (RFC 6749 §5.2), and 401 here (RFC 7662 §2.3).
  if (!namesClient(endpoint.exchange, form))
    return refuse("invalid_client", "Client authentication failed", "no client");
  const proven = await proveClient(deps, endpoint, form);
  return proven.ok && proven.value.isPublic
    ? refuse("invalid_client", "Client authentication failed", "a public client")
    : proven;
}

function namesClient(exchange: Exchange, form: Parameters): boolean {
  if (exchange.headerValues("authorization").length > 0) return true;
  return ["client_id", "client_assertion", "client_assertion_type"].some((name) => (form.get(name) ?? "") !== "");
}
