/**
 * The public keys of clients that sign (`private_key_jwt`): as their metadata states them, or as they publish them.
 *
 * Untrusted input: metadata and published key sets. Promise: no private or symmetric key is ever taken, kept or used; a
 * key set is read only from hosts on `mcp_allowed_client_id_domains`, for registered clients too.
 */
import type { JSONWebKeySet, JWK } from "jose";

import { matchesDomain, type DomainPattern } from "../config/domains.ts";
import { pass, refuse, type Step } from "./answer.ts";
import type { ClientMetadata } from "./records.ts";
import type { RemoteDocuments } from "./remote-document.ts";

/** Signatures we verify (RFC 7518 §3.1, RFC 8037): asymmetric ones only. */
export const SIGNING_ALGORITHMS: readonly string[] = ["ES256", "ES384", "EdDSA", "PS256", "RS256"];

const MAX_KEYS = 20;
const MAX_MEMBER_CHARACTERS = 2048;
/** Of public keys. What else a key says (certificates, addresses of certificates) is not looked at. */
const PUBLIC_MEMBERS = ["kty", "crv", "x", "y", "n", "e", "kid", "alg", "use"] as const;
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** The public keys of a JWK set (RFC 7517 §5); undefined when it is none, or holds a key that should be secret. */
export function parseKeySet(value: unknown): JSONWebKeySet | undefined {
  const keys = isObject(value) ? value["keys"] : undefined;
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MAX_KEYS || !keys.every(isObject)) return undefined;
  if (keys.some((key) => key["kty"] === "oct" || PRIVATE_MEMBERS.some((name) => name in key))) return undefined;
  const usable = keys.filter((key) => ["EC", "OKP", "RSA"].includes(key["kty"] as string));
  return usable.length === 0 ? undefined : { keys: usable.map(publicMembers) };
}

function publicMembers(key: Readonly<Record<string, unknown>>): JWK {
  const isShortText = (value: unknown): boolean => typeof value === "string" && value.length <= MAX_MEMBER_CHARACTERS;
  return Object.fromEntries(PUBLIC_MEMBERS.filter((name) => isShortText(key[name])).map((name) => [name, key[name]]));
}

/** True for an address from which a client's keys may be read. */
export function isKeySetAddress(value: unknown, domains: readonly DomainPattern[]): value is string {
  if (typeof value !== "string" || value.length > MAX_MEMBER_CHARACTERS || !URL.canParse(value)) return false;
  const url = new URL(value);
  return (
    url.protocol === "https:" && url.username === "" && url.password === "" && matchesDomain(domains, url.hostname)
  );
}

export interface ClientKeys {
  /**
   * The keys of a client.
   *
   * @param newerThanMs epoch milliseconds: published keys that were read earlier may be asked for again
   */
  read(metadata: ClientMetadata, domains: readonly DomainPattern[], newerThanMs?: number): Promise<Step<JSONWebKeySet>>;
}

export function createClientKeys(deps: {
  /** Absent = only keys that stand in the metadata can be used. */
  readonly documents: RemoteDocuments | undefined;
}): ClientKeys {
  return {
    async read(metadata, domains, newerThanMs) {
      const { jwks, jwks_uri: address } = metadata;
      if (jwks !== undefined) return pass(jwks);
      // Judged again: the list may have changed since the client was registered.
      if (!deps.documents || !isKeySetAddress(address, domains)) return refuse(...NO_KEYS, "no keys that may be read");
      const read = await deps.documents.read(address, {
        allowed: domains,
        isValid: (document) => parseKeySet(document) !== undefined,
        ...(newerThanMs === undefined ? {} : { newerThanMs }),
      });
      if (!read.ok) return read;
      const keys = parseKeySet(read.value);
      return keys ? pass(keys) : refuse(...NO_KEYS, "the published key set is not valid");
    },
  };
}

const NO_KEYS = ["invalid_client", "Client authentication failed"] as const;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
