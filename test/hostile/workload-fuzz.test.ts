/**
 * Tokens of platforms with unforeseen changes, by a fixed seed: a changed token is rejected with one text or is still a token
 * of the same workload.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { makeSigningKey } from "../support/client-assertion.ts";
import { fakeIssuer } from "../support/id-jag.ts";
import { ORIGIN, RESOURCE, useIssuers } from "../support/issuer.ts";
import { jobClaims, PLATFORM, PLATFORM_KEYS, presentJob, signJob } from "../support/workload.ts";

const start = useIssuers();
const RUNS = { seed: 20_261_123, numRuns: 150 };
const REFUSED = { error: "invalid_grant", error_description: "Invalid assertion" };

const any = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(
    "42",
    42,
    ["42"],
    ["42", "43"],
    { "42": "42" },
    "",
    ORIGIN,
    [ORIGIN],
    "JWT",
    "refs/heads/main",
  ),
);

async function world() {
  const key = await makeSigningKey("ES256", "one");
  const gateway = await start({
    yaml: `
runtime_flags: { mcp: true }
identity_issuers:
  ci:
    issuer: "${PLATFORM}"
    uses: [workload]
    jwks_url: "${PLATFORM_KEYS}"
    workload_rules: { main: { claims: { repository_id: ["42"], ref: ["refs/heads/*"] }, resources: ["${RESOURCE}"] } }
routes: [{ name: tools, from: https://mcp.example.com, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }]
`,
    issuerFetch: fakeIssuer({ [PLATFORM_KEYS]: { keys: [key.jwk] } }).fetch,
  });
  const present = async (assertion: string) => {
    // So that no peer is slowed down.
    gateway.clock.advance(60_000);
    return presentJob(gateway, assertion);
  };
  return { gateway, key, present };
}

test("signed claims of any kind: only a matching workload gets a token", async () => {
  const { gateway, key, present } = await world();
  const names = fc.constantFrom(
    "iss",
    "sub",
    "aud",
    "exp",
    "iat",
    "nbf",
    "jti",
    "repository_id",
    "ref",
    "nonce",
    "cnf",
    "x",
  );
  await fc.assert(
    fc.asyncProperty(fc.dictionary(names, any, { maxKeys: 3, noNullPrototype: true }), async (changed) => {
      const claims = { ...jobClaims(gateway.clock.now() + 60_000), ...changed };
      const answer = await present(await signJob(claims, key));
      if (answer.status !== 200) {
        expect([answer.status, answer.json()]).toEqual([400, REFUSED]);
        return;
      }
      const opened = gateway.externalTokens.open(String(answer.json()["access_token"]));
      expect(opened).toMatchObject({
        ok: true,
        claims: { kind: "workload", userId: `workload:ci/${String(claims.sub)}` },
      });
      // Accepted only if a rule matches.
      const fits = (value: unknown, pattern: RegExp): boolean =>
        (Array.isArray(value) ? value : [value]).some((each) => typeof each === "string" && pattern.test(each));
      expect(fits(claims.repository_id, /^42$/) && fits(claims.ref, /^refs\/heads\/[^:/]+$/)).toBe(true);
      expect(["nonce", "cnf"].filter((name) => Object.hasOwn(changed, name))).toEqual([]);
    }),
    RUNS,
  );
});

test("any change of its text: no token, and never anything but a rejection", async () => {
  const { gateway, key, present } = await world();
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.string({ minLength: 1, maxLength: 3 }), fc.nat(2), async (at, text, length) => {
      const good = await signJob(jobClaims(gateway.clock.now() + 60_000), key);
      const place = at % good.length;
      const changed = good.slice(0, place) + text + good.slice(place + length);
      fc.pre(changed !== good);
      const answer = await present(changed);
      expect(answer.status === 200 ? sameSignature(good, changed) : [answer.status, answer.json()]).toEqual(
        answer.status === 200 ? true : [400, REFUSED],
      );
    }),
    RUNS,
  );
});

/** Base64url has spare bits at its end: another text of the same bytes is the same token. */
function sameSignature(good: string, changed: string): boolean {
  const bytes = (text: string): string =>
    text
      .split(".")
      .map((part) => Buffer.from(part, "base64url").toString("hex"))
      .join(".");
  return bytes(good) === bytes(changed);
}
