/**
 * Client authentication at the token, revocation and introspection endpoints: `none`, `client_secret_basic`,
 * `client_secret_post`, `private_key_jwt`.
 *
 * Untrusted input: header and form. Promise: a client with a secret or a key must present it. Secrets are compared as
 * hashes in constant time. The response does not distinguish an unknown client from a wrong secret.
 */

import type { Snapshot } from "../../../config/snapshot.ts";
import type { Exchange } from "../../../http/exchange.ts";
import { hashSecret, sameSecret } from "../../../shared/keys.ts";
import { pass, refuse, type StepResult } from "../answer.ts";
import {
  ASSERTION_TYPE,
  assertedClientId,
  verifyAssertion,
  type ClientAssertionDeps,
  type AssertionContext,
} from "./client-assertion.ts";
import { clientRefusalText } from "./client-refusal.ts";
import type { Client, ClientLookup } from "./client.ts";
import type { Issuer } from "../find-issuer.ts";

export interface ClientCredentials {
  readonly clientId: string;
  /** Undefined if the client sent none. */
  readonly secret: string | undefined;
  /** A signed statement instead of a secret. */
  readonly assertion?: string;
}

/** Reads the client's credentials. Rejects a request with two methods. */
export function readCredentials(exchange: Exchange, form: ReadonlyMap<string, string>): StepResult<ClientCredentials> {
  const formId = form.get("client_id") || undefined;
  const formSecret = form.get("client_secret") || undefined;
  if (form.has("client_assertion") || form.has("client_assertion_type")) return readAssertion(exchange, form);
  if (exchange.headerValues("authorization").length === 0) {
    if (formId === undefined) return refuse("invalid_request", "client_id is missing");
    return pass({ clientId: formId, secret: formSecret });
  }
  const basic = parseBasic(exchange.header("authorization") ?? "");
  if (!basic) return refuse("invalid_client", "The Authorization header must be HTTP Basic with client id and secret");
  // "The client MUST NOT use more than one authentication method in each request" (RFC 6749 §2.3).
  if (formSecret !== undefined) return refuse("invalid_request", "The client authenticates in two ways");
  if (formId !== undefined && formId !== basic.clientId)
    return refuse("invalid_request", "The client names two client ids");
  return pass({ clientId: basic.clientId, secret: basic.secret === "" ? undefined : basic.secret });
}

/** RFC 7521 §4.2: `client_id` is optional with an assertion, and must match it. */
function readAssertion(exchange: Exchange, form: ReadonlyMap<string, string>): StepResult<ClientCredentials> {
  const assertion = form.get("client_assertion") ?? "";
  if (form.get("client_assertion_type") !== ASSERTION_TYPE)
    return refuse("invalid_request", `client_assertion_type must be ${ASSERTION_TYPE}`);
  if (form.get("client_secret") || exchange.headerValues("authorization").length > 0)
    return refuse("invalid_request", "The client authenticates in two ways");
  const asserted = assertedClientId(assertion);
  if (!asserted.ok) return asserted;
  if (form.get("client_id") && form.get("client_id") !== asserted.value)
    return refuse("invalid_request", "The client names two client ids");
  return pass({ clientId: asserted.value, secret: undefined, assertion });
}

/** Context of a client's authentication: peer, and accepted audiences of its assertion. */
export function assertionContext(
  exchange: Exchange,
  issuer: Issuer,
  path: string,
  snapshot: Snapshot,
): AssertionContext {
  return {
    // RFC 7523bis requires the issuer identifier; existing clients use the endpoint (RFC 7523 §3, 3).
    audiences: [issuer.origin, issuer.origin + path],
    documentDomains: snapshot.settings.mcpAllowedClientIdDomains,
    peer: exchange.remoteAddress,
  };
}

/** Returns the client if it authenticates as its registration requires. */
export async function authenticateClient(
  deps: ClientAssertionDeps,
  credentials: ClientCredentials,
  lookup: ClientLookup,
  context: AssertionContext,
): Promise<StepResult<Client>> {
  // Not the client's fault: after invalid_client, clients delete their credentials.
  if (!lookup.ok && lookup.reason === "document-unavailable")
    return refuse("temporarily_unavailable", "The client cannot be identified right now", clientRefusalText(lookup));
  if (!lookup.ok) return refuse("invalid_client", "Client authentication failed", clientRefusalText(lookup));
  if (credentials.assertion !== undefined) {
    if (lookup.client.metadata.token_endpoint_auth_method.startsWith("client_secret_"))
      return refuse("invalid_client", "Client authentication failed", "assertion from a client with a secret");
    return verifyAssertion(deps, lookup.client, credentials.assertion, context);
  }
  const { client } = lookup;
  if (client.isPublic) {
    // A secret from a public client is a mistake that must be visible.
    return credentials.secret === undefined
      ? pass(client)
      : refuse("invalid_client", "Client authentication failed", "secret from a public client");
  }
  if (credentials.secret === undefined || client.secretHash === undefined) {
    return refuse("invalid_client", "Client authentication failed", "no secret");
  }
  // Header and form carry the same secret, and clients confuse the two methods, so both are accepted.
  return sameSecret(hashSecret(credentials.secret), client.secretHash)
    ? pass(client)
    : refuse("invalid_client", "Client authentication failed", "wrong secret");
}

/**
 * "If the client attempted to authenticate via the Authorization request header field, the authorization server MUST
 * respond with … the WWW-Authenticate response header field matching the authentication scheme" (RFC 6749 §5.2).
 */
export function clientChallenge(exchange: Exchange, issuer: string): readonly string[] {
  return exchange.headerValues("authorization").length === 0 ? [] : ["www-authenticate", `Basic realm="${issuer}"`];
}

/** Id and secret are form-encoded before they are joined (RFC 6749 §2.3.1). */
function parseBasic(header: string): { clientId: string; secret: string } | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  if (colon < 1) return undefined;
  try {
    const decode = (part: string): string => decodeURIComponent(part.replaceAll("+", " "));
    return { clientId: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) };
  } catch {
    return undefined;
  }
}
