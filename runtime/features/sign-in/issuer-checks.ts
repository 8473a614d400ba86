/** Single values of `identity_issuers`: their checks, and the source of keys. */
import type { JSONWebKeySet } from "jose";

import { canonicalHost } from "../../settings/domains.ts";
import { quote } from "../../settings/problem.ts";
import { quotedProblem, readable } from "../../settings/types/checks.ts";
import { accepted, overTlsOrLoopback, parseHttpUrl } from "../../settings/values.ts";
import { FIRST_PROVIDER, isIssuerName } from "../../shared/user-id.ts";
import { kidProblem, parseKeySet } from "../../shared/key-set.ts";

/** Large providers publish a dozen. */
export const MAX_ISSUER_KEYS = 100;

export function nameProblem(name: string): string | undefined {
  if (isIssuerName(name)) return undefined;
  const expected =
    name === FIRST_PROVIDER
      ? 'which means "idp_provider_url", must be another name'
      : "must be 1 to 32 lower-case letters, digits and dashes, no dash first or last";
  return `is ${quote(name)}, ${expected}`;
}

/** The cluster in which the gateway runs; with "host:port", its API server at another address. */
const KUBERNETES = /^kubernetes:\/\/(|(?:[a-z0-9.-]+|\[[0-9a-f:.]+\]):[0-9]{1,5})\/?$/;

export function isKubernetesIssuer(issuer: string): boolean {
  return issuer.startsWith("kubernetes:");
}

export function issuerProblem(value: string): string | undefined {
  if (isKubernetesIssuer(value))
    return KUBERNETES.test(value)
      ? undefined
      : quotedProblem(value, 'must be "kubernetes:///" or "kubernetes://host:port"');
  // OpenID Connect Discovery §3: "using the https scheme with no query or fragment components".
  return value.includes("?") ? quotedProblem(value, "must be without a query") : addressProblem(value);
}

export function addressProblem(value: string): string | undefined {
  return readable((text) => overTlsOrLoopback(parseHttpUrl(text)))(value);
}

export function keysProblem(value: string): string | undefined {
  let set: unknown;
  try {
    set = JSON.parse(value);
  } catch {
    return "is not JSON, must be a JWK set";
  }
  const parsed = parseKeySet(set, MAX_ISSUER_KEYS);
  if (!parsed.ok) return parsed.problem;
  const [problem] = parsed.problems;
  if (problem !== undefined) return `has a bad key: ${problem}`;
  return parsed.value.keys.length === 0 ? "has no key for signatures" : kidProblem(parsed.value);
}

export function clientIdProblem(value: string): string | undefined {
  return value === "" || value.length > 2048 ? "is empty or too long, must be a client identifier" : undefined;
}

export function hostProblem(value: string): string | undefined {
  const host = canonicalHost(value);
  if (host === value) return undefined;
  return quotedProblem(value, host === undefined ? "must be a host name" : `must be written ${quote(host)}`);
}

export function oneOf(values: readonly string[], what: string): (value: string) => string | undefined {
  return (value) =>
    values.includes(value) ? undefined : quotedProblem(value, `must be ${what}: ${values.join(", ")}`);
}

export type IssuerKeySource =
  | { readonly kind: "discovery" }
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "static"; readonly keys: JSONWebKeySet }
  /** Keys of the cluster; `host`: "host:port" that replaces the API server's own. */
  | { readonly kind: "kubernetes"; readonly host: string | undefined };

interface KeysDoc {
  readonly issuer: string;
  readonly jwks?: string;
  readonly jwks_url?: string;
}

/** Problem of a combination. */
export function keysTogetherProblem({
  issuer,
  jwks,
  jwks_url: url,
}: KeysDoc): readonly ["jwks" | "jwks_url", string] | undefined {
  if (jwks !== undefined && url !== undefined) return ["jwks", 'cannot be combined with "jwks_url"'];
  if (!isKubernetesIssuer(issuer) || (jwks === undefined && url === undefined)) return undefined;
  return [
    jwks === undefined ? "jwks_url" : "jwks",
    "cannot be combined with a cluster as issuer, which has its own keys",
  ];
}

/** Key source of valid settings. */
export function keySource({ issuer, jwks, jwks_url: url }: KeysDoc): IssuerKeySource {
  if (isKubernetesIssuer(issuer)) return { kind: "kubernetes", host: KUBERNETES.exec(issuer)?.[1] || undefined };
  if (url !== undefined) return { kind: "url", url };
  if (jwks === undefined) return { kind: "discovery" };
  return { kind: "static", keys: accepted(parseKeySet(JSON.parse(jwks), MAX_ISSUER_KEYS)) };
}
