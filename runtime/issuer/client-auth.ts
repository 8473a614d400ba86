/**
 * Client authentication at the token and revocation endpoints: `none`, `client_secret_basic`, `client_secret_post`.
 *
 * Untrusted input: header and form. Promise: a client with a secret never passes without it; secrets are compared as
 * hashes in constant time; the answer does not tell an unknown client from a wrong secret.
 */
import { timingSafeEqual } from "node:crypto";

import type { Exchange } from "../http/exchange.ts";
import { hashSecret } from "../keys.ts";
import { pass, refuse, type Step } from "./answer.ts";
import type { Client, ClientLookup } from "./client.ts";

export interface ClientCredentials {
  readonly clientId: string;
  /** Undefined when the client sent none. */
  readonly secret: string | undefined;
  readonly inHeader: boolean;
}

/** What the request says about its client; refused when it says it in two ways. */
export function readCredentials(exchange: Exchange, form: ReadonlyMap<string, string>): Step<ClientCredentials> {
  const formId = form.get("client_id") || undefined;
  const formSecret = form.get("client_secret") || undefined;
  // "The client MUST NOT use more than one authentication method in each request" (RFC 6749 §2.3).
  if (form.has("client_assertion") || form.has("client_assertion_type")) {
    return refuse("invalid_client", "Client assertions are not supported");
  }
  if (exchange.headerValues("authorization").length === 0) {
    if (formId === undefined) return refuse("invalid_request", "client_id is missing");
    return pass({ clientId: formId, secret: formSecret, inHeader: false });
  }
  const basic = parseBasic(exchange.header("authorization") ?? "");
  if (!basic) return refuse("invalid_client", "The Authorization header must be HTTP Basic with client id and secret");
  if (formSecret !== undefined) return refuse("invalid_request", "The client authenticates in two ways");
  if (formId !== undefined && formId !== basic.clientId)
    return refuse("invalid_request", "The client names two client ids");
  return pass({ clientId: basic.clientId, secret: basic.secret === "" ? undefined : basic.secret, inHeader: true });
}

/** The client, once it proved what its registration demands. */
export function authenticateClient(credentials: ClientCredentials, lookup: ClientLookup): Step<Client> {
  if (!lookup.ok) return refuse("invalid_client", "Client authentication failed", lookup.reason);
  const { client } = lookup;
  if (client.isPublic) {
    // A secret from a client that has none is a mix-up that should be seen, not passed over.
    return credentials.secret === undefined
      ? pass(client)
      : refuse("invalid_client", "Client authentication failed", "secret from a public client");
  }
  if (credentials.secret === undefined || client.secretHash === undefined) {
    return refuse("invalid_client", "Client authentication failed", "no secret");
  }
  // Header and form carry the same secret and clients mix them up, so the registered one of the two is not insisted on.
  const given = Buffer.from(hashSecret(credentials.secret));
  const expected = Buffer.from(client.secretHash);
  return given.length === expected.length && timingSafeEqual(given, expected)
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
