/** A partner's provider: URLs in its metadata, its ID tokens, and the validity of its keys. */
import { CompactSign } from "jose";
import { beforeAll, describe, expect, test } from "vitest";

import type { IdpSettings } from "../../../../runtime/features/sign-in/compiled.ts";
import type { OperatorFetch } from "../../../../runtime/http/fetch/operator-fetch.ts";
import { createSafeFetch } from "../../../../runtime/http/fetch/safe-fetch.ts";
import { createDiscovery } from "../../../../runtime/identity/provider/idp-discovery.ts";
import { createIdpTokens } from "../../../../runtime/identity/provider/idp-tokens.ts";
import { createIdp } from "../../../../runtime/identity/provider/idp.ts";
import { createProviderKeys } from "../../../../runtime/identity/provider/provider-keys.ts";
import { makeSigningKey, type SigningKey } from "../../../support/client-assertion.ts";
import { createTestClock } from "../../../support/clock.ts";

const ISSUER = "https://partner.example";
const MINUTE = 60_000;
const SETTINGS: IdpSettings = {
  issuerName: "partner",
  label: "Partner",
  providerUrl: ISSUER,
  clientId: "gateway",
  clientSecret: "the-client-secret",
  scopes: undefined,
  groupsClaim: "groups",
  requireEmailVerified: false,
  emailDomains: undefined,
  requestParams: new Map(),
  requiredClaims: new Map(),
  groupsResolver: undefined,
};
const SIGN_IN = {
  redirectUri: "https://auth.example/.gateway/callback/partner",
  state: "state",
  nonce: "nonce",
  codeVerifier: "v".repeat(43),
};

let key: SigningKey;
beforeAll(async () => {
  key = await makeSigningKey("ES256", "one");
});

function setUp(metadata: Readonly<Record<string, string>> = {}) {
  const clock = createTestClock(Date.now());
  const asked: string[] = [];
  const documents = new Map<string, unknown>([
    [
      `${ISSUER}/.well-known/openid-configuration`,
      {
        issuer: ISSUER,
        authorization_endpoint: `${ISSUER}/authorize`,
        token_endpoint: `${ISSUER}/token`,
        jwks_uri: `${ISSUER}/keys`,
        response_types_supported: ["code"],
        id_token_signing_alg_values_supported: ["ES256"],
        ...metadata,
      },
    ],
    [`${ISSUER}/keys`, { keys: [key.jwk] }],
  ]);
  const fetch: OperatorFetch = async (url) => {
    asked.push(url);
    const document = documents.get(url);
    if (document === undefined) throw new Error("it hangs until it is given up");
    return Response.json(document);
  };
  const guarded = createSafeFetch({ development: false });
  const discover = createDiscovery({ development: false, clock, fetch, guarded });
  const keys = createProviderKeys({ clock });
  const groups = { complete: async (_settings: unknown, _id: unknown, profile: never) => profile };
  return {
    clock,
    asked,
    documents,
    idp: createIdp({ discover, keys, groups, clock }),
    tokens: createIdpTokens({ discover, keys, groups, clock }),
  };
}
type World = ReturnType<typeof setUp>;

/** @param before bytes in front of the claims */
function idToken({ clock }: World, claims: Readonly<Record<string, unknown>> = {}, before = ""): Promise<string> {
  const now = Math.floor(clock.now() / 1000);
  const all = {
    iss: ISSUER,
    aud: "gateway",
    sub: "erin",
    nonce: SIGN_IN.nonce,
    iat: now,
    exp: now + 90_000,
    ...claims,
  };
  return new CompactSign(Buffer.from(before + JSON.stringify(all)))
    .setProtectedHeader({ alg: key.alg, kid: "one" })
    .sign(key.privateKey);
}

const present = async (world: World, token: string) =>
  world.tokens.verify(SETTINGS, token, "idp_identity_token", []).then((result) => (result.ok ? "ok" : result.reason));

async function signIn(world: World, token: string): Promise<string> {
  world.documents.set(`${ISSUER}/token`, { access_token: "at", token_type: "bearer", id_token: token });
  return world.idp.exchangeCode(SETTINGS, `?code=c&state=${SIGN_IN.state}`, SIGN_IN).then(
    () => "ok",
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  );
}

describe("endpoints in its metadata", () => {
  test.each([
    ["a token endpoint", { token_endpoint: "https://127.0.0.1/token" }, "127.0.0.1"],
    ["a token endpoint", { token_endpoint: "https://10.0.0.8/token" }, "10.0.0.8"],
    ["a token endpoint", { token_endpoint: "https://[fd00::1]/token" }, "[fd00::1]"],
    ["keys", { jwks_uri: "https://192.168.1.1/keys" }, "192.168.1.1"],
  ])("%s at %o get nothing, the client secret neither", async (_what, metadata, host) => {
    const world = setUp(metadata);
    expect(await signIn(world, await idToken(world))).toMatch(/^idp\.unavailable: .* is at .*, an? .*address/);
    expect(world.asked.filter((url) => new URL(url).host === host)).toEqual([]);
  });

  test("at its own configured origin are used", async () => {
    const world = setUp();
    expect(await signIn(world, await idToken(world))).toBe("ok");
  });
});

describe("an ID token", () => {
  test.each([
    ["for another client", { azp: "another" }, "", "its azp is another client", "wrong-audience"],
    ["for several clients", { aud: ["gateway", "another"], azp: "another" }, "", "", "wrong-audience"],
    ["with a byte order mark", {}, "\ufeff", "its claims are not JSON", "malformed"],
  ])(
    "%s is refused, from the token endpoint and when somebody presents it",
    async (_what, claims, before, why, reason) => {
      const world = setUp();
      const token = await idToken(world, claims, before);
      expect(await signIn(world, token)).toMatch(new RegExp(`^idp\\.refused: .*${why}`));
      expect(await present(world, token)).toBe(reason);
    },
  );

  test("with the gateway's azp is accepted", async () => {
    const world = setUp();
    const token = await idToken(world, { azp: "gateway" });
    expect([await signIn(world, token), await present(world, token)]).toEqual(["ok", "ok"]);
  });
});

describe("keys that cannot be read again", () => {
  const keysAsked = ({ asked }: World): number => asked.filter((url) => url.endsWith("/keys")).length;

  test("stay valid for a day, and are requested at most every 30 seconds", async () => {
    const world = setUp();
    const token = await idToken(world);
    expect(await present(world, token)).toBe("ok");
    world.documents.delete(`${ISSUER}/keys`);
    world.clock.advance(11 * MINUTE);
    expect([await present(world, token), await present(world, token), keysAsked(world)]).toEqual(["ok", "ok", 2]);
    expect(await signIn(world, token)).toBe("ok");
    world.clock.advance(23 * 60 * MINUTE);
    expect([await present(world, token), keysAsked(world)]).toEqual(["ok", 3]);
    world.clock.advance(60 * MINUTE);
    await expect(present(world, token)).rejects.toMatchObject({ code: "idp.unavailable" });
  });

  test("a key that was withdrawn is refused once they were read", async () => {
    const world = setUp();
    const token = await idToken(world);
    expect(await present(world, token)).toBe("ok");
    world.documents.set(`${ISSUER}/keys`, { keys: [(await makeSigningKey("ES256", "two")).jwk] });
    world.clock.advance(11 * MINUTE);
    expect(await present(world, token)).toBe("malformed");
  });
});
