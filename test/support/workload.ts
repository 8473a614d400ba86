/** A platform as far as an authorization server sees it: the tokens it gives its jobs, and a job that presents them. */
import { randomUUID } from "node:crypto";

import type { Answer } from "./browser.ts";
import { type SigningKey, signAssertion } from "./client-assertion.ts";
import { JWT_BEARER } from "./id-jag.ts";
import { ORIGIN, RESOURCE, type TestIssuer } from "./issuer.ts";

export const PLATFORM = "https://ci.example.net";
export const PLATFORM_KEYS = `${PLATFORM}/keys`;

/** Claims of a job of the project 42 on its main branch. @param claims take their place; undefined leaves one out */
export function jobClaims(nowMs: number, claims: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const now = Math.floor(nowMs / 1000);
  const all = {
    iss: PLATFORM,
    sub: "repo:acme/app:ref:refs/heads/main",
    aud: ORIGIN,
    jti: randomUUID(),
    iat: now,
    exp: now + 300,
    repository_id: "42",
    ref: "refs/heads/main",
    ...claims,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function signJob(
  claims: Readonly<Record<string, unknown>>,
  by: SigningKey,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const kid = by.jwk.kid === undefined ? {} : { kid: by.jwk.kid };
  return signAssertion(claims, by, { typ: "JWT", ...kid, ...header });
}

/** @param form members in addition to, or instead of, the default ones; undefined omits one */
export function presentJob(
  gateway: Pick<TestIssuer, "send">,
  assertion: string | undefined,
  form: Readonly<Record<string, string | undefined>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const all = Object.entries({ grant_type: JWT_BEARER, assertion, resource: RESOURCE, ...form });
  const body = new URLSearchParams(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  return gateway.send({
    method: "POST",
    url: `${ORIGIN}/.gateway/mcp/token`,
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: body.toString(),
  });
}
