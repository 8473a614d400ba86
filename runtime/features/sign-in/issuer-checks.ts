/** Checks of single values of `identity_issuers`. */
import { canonicalHost } from "../../settings/domains.ts";
import { quote } from "../../settings/problem.ts";
import { quotedProblem, readable } from "../../settings/types/checks.ts";
import { overTlsOrLoopback, parseHttpUrl } from "../../settings/values.ts";
import { FIRST_PROVIDER, isIssuerName } from "../../shared/user-id.ts";
import { kidProblem, parseKeySet } from "../../shared/key-set.ts";

/** Large providers publish a dozen. */
export const MAX_ISSUER_KEYS = 100;

export function nameProblem(name: string): string | undefined {
  if (isIssuerName(name)) return undefined;
  const expected =
    name === FIRST_PROVIDER
      ? 'which stands for "idp_provider_url", must be another name'
      : "must be 1 to 32 lower-case letters, digits and dashes, no dash first or last";
  return `is ${quote(name)}, ${expected}`;
}

export function issuerProblem(value: string): string | undefined {
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
    return "is no JSON, must be a set of public keys";
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
