/**
 * Common parts of the endpoints with client authentication: token (RFC 6749 §3.2), revocation (RFC 7009 §2.1) and
 * introspection (RFC 7662 §2.1).
 */
import type { Snapshot } from "../../../config/snapshot.ts";
import { readForm } from "../../../http/body.ts";
import type { Exchange } from "../../../http/exchange.ts";
import type { Parameters } from "../../../shared/http/query.ts";
import { pass, refuse, respondRefusal, type OAuthRefusal, type StepResult } from "../answer.ts";
import type { Issuer } from "../find-issuer.ts";
import type { ClientAssertionDeps } from "./client-assertion.ts";
import { authenticateClient, clientChallenge, assertionContext, readCredentials } from "./client-auth.ts";
import { findClient, type Client, type ClientDeps } from "./client.ts";

const MAX_FORM_BYTES = 16_384;

/** Endpoint with client authentication, and its request. */
export interface ClientEndpoint {
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly issuer: Issuer;
  readonly path: string;
}

/** Reads the form. It must be valid and without duplicate parameters (RFC 6749 §3.2). */
export async function readClientForm(exchange: Exchange, maxBytes = MAX_FORM_BYTES): Promise<StepResult<Parameters>> {
  const form = await readForm(exchange, maxBytes);
  return form.ok
    ? pass(form.values)
    : refuse("invalid_request", "The request must be one form without repeated parameters", form.reason);
}

/** Returns the client of a form if it authenticates as registered (RFC 6749 §3.2.1). */
export async function proveClient(
  deps: ClientAssertionDeps & { readonly clients: ClientDeps },
  { exchange, snapshot, issuer, path }: ClientEndpoint,
  form: Parameters,
): Promise<StepResult<Client>> {
  const credentials = readCredentials(exchange, form);
  if (!credentials.ok) return credentials;
  const lookup = await findClient(deps.clients, issuer, snapshot, credentials.value.clientId, exchange.remoteAddress);
  return authenticateClient(deps, credentials.value, lookup, assertionContext(exchange, issuer, path, snapshot));
}

export function respondClientRefusal(
  { exchange, issuer }: ClientEndpoint,
  refusal: OAuthRefusal,
  headers: readonly string[] = [],
): void {
  const challenge = refusal.error === "invalid_client" ? clientChallenge(exchange, issuer.origin) : [];
  respondRefusal(exchange, refusal, [...challenge, ...headers]);
}
