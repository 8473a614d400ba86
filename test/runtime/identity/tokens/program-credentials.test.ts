/** Identity provider tokens: a user's access is revoked during the verification of their token. */
import { describe, expect, test } from "vitest";

import type { Snapshot } from "../../../../runtime/config/snapshot.ts";
import type { AuthResult, Principal } from "../../../../runtime/identity/principal.ts";
import { objectIdTag } from "../../../../runtime/identity/identity-records.ts";
import type { IdpTokenResult } from "../../../../runtime/identity/provider/idp-tokens.ts";
import { FRESH_MS } from "../../../../runtime/identity/tokens/presented-tokens.ts";
import { createProgramCredentials } from "../../../../runtime/identity/tokens/program-credentials.ts";
import type { WorkloadCredentials } from "../../../../runtime/identity/tokens/workload-credentials.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { createTestClock } from "../../../support/clock.ts";
import { routeNamed, snapshotFrom } from "../../../support/config.ts";
import { createTestRevocations } from "../../../support/pipeline.ts";
import { userId } from "../../../support/users.ts";

const good = {
  ok: true,
  userId: userId("paul"),
  profile: { email: "paul@example.com", name: "Paul", groups: [], claims: { oid: "oid-paul" } },
  expiresAt: 2_000_000_000,
} as const;
const refused = { ok: false, reason: "unknown-user" } as const;

function configured(format: string): Snapshot {
  return snapshotFrom(`
idp_provider_url: https://id.example.com
idp_client_id: gateway
identity_issuers:
  ci: { issuer: "https://ci.example.net", uses: [workload], workload_rules: { main: { claims: { sub: [job] }, resources: ["https://api.example.com"] } } }
routes:
  - { name: api, from: "https://api.example.com", to: "http://127.0.0.1:9", bearer_token_format: ${format}, allow_any_authenticated_user: true }
`);
}

/** Questions are answered when the test says so. */
function start(format = "idp_access_token", workloads?: WorkloadCredentials) {
  const waiting: ((result: IdpTokenResult) => void)[] = [];
  const revocations = createTestRevocations();
  const clock = createTestClock();
  let snapshot = configured(format);
  const credentials = createProgramCredentials({
    authenticator: { bearer: () => ({ ok: false, reason: "malformed" }) },
    idpTokens: { verify: () => new Promise((resolve) => waiting.push(resolve)) },
    snapshots: { current: () => snapshot, subscribe: () => () => {} },
    workloads,
    revocations,
    clock,
    log: silentLog(),
  });
  const route = routeNamed(snapshot, "api");
  const present = async (
    token = "token",
    remoteAddress = "203.0.113.9",
    host = "api.example.com",
    routedHost?: string,
  ): Promise<AuthResult | undefined> => {
    const header = (name: string) => (name === "authorization" ? `Bearer ${token}` : undefined);
    return credentials.providerBearer({ header, remoteAddress, host, routedHost } as never, route);
  };
  /** The oldest question. */
  const answer = async (result: IdpTokenResult): Promise<void> => {
    waiting.shift()?.(result);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    waiting,
    revocations,
    clock,
    credentials,
    present,
    answer,
    configure: (next: Snapshot) => void (snapshot = next),
  };
}

function principalOf(result: AuthResult | undefined): Principal {
  if (!result?.ok) throw new Error("The token is refused");
  return result.principal;
}

test.each([
  ["user", "user:paul"],
  ["object id", objectIdTag(undefined, "oid-paul")],
])("a verification that started before a revocation is repeated: by %s", async (_, key) => {
  const { waiting, revocations, present, answer } = start();
  const presented = present();
  revocations.revokeNow(key);
  await answer(good);
  expect(waiting).toHaveLength(1);
  await answer(refused);
  expect(await presented).toEqual({ ok: false, reason: "unknown-user" });
  expect(await present()).toEqual({ ok: false, reason: "unknown-user" });
});

test.each(["idp_access_token", "jwt", "default"])("no token counts on the plain listener: %s", async (format) => {
  const { waiting, present, credentials } = start(format, {
    principal: () => ({ ok: true, principal: {} as Principal }),
  });
  for (const host of ["api.example.com", "api.example.com:8080"]) {
    for (const token of ["token", "gwt_token"]) {
      const found = await present(token, undefined, host, `${host}:80`);
      expect(found).toEqual({ ok: false, reason: "wrong-audience" });
    }
    const header = () => "gwt_token";
    const own = await credentials.ownBearer({ header, host, routedHost: "api.example.com" } as never);
    expect(own).toEqual({ ok: false, reason: "wrong-audience" });
  }
  expect(waiting).toEqual([]);
});

test("a revocation of another user repeats no verification", async () => {
  const { waiting, revocations, present, answer } = start();
  const presented = present();
  revocations.revokeNow("user:olga");
  await answer(good);
  expect(waiting).toHaveLength(0);
  expect(await presented).toMatchObject({ ok: true });
});

test("repeated revocations deny the user, after a few provider requests", async () => {
  const { waiting, revocations, present, answer } = start();
  const presented = present();
  let asked = 0;
  for (; waiting.length > 0; asked += 1) {
    revocations.revokeNow("user:paul");
    await answer(good);
  }
  expect(asked).toBe(3);
  expect(await presented).toEqual({ ok: false, reason: "revoked" });
});

test("a revocation also ends a response that is about to start, and the token may become valid again", async () => {
  const { revocations, present, answer } = start();
  const known = async (): Promise<readonly string[]> => {
    const presented = present();
    await answer(good);
    return principalOf(await presented).revocationKeys;
  };
  const keys = (await known()).filter((each) => !each.startsWith("user:"));
  expect(revocations.isRevoked(keys)).toBe(false);
  revocations.revokeNow("user:paul");
  expect(revocations.isRevoked(keys)).toBe(true);
  const again = (await known()).filter((each) => !each.startsWith("user:"));
  expect(revocations.isRevoked(again)).toBe(false);
});

test("a token that expires before its next verification is rejected from then on", async () => {
  const { waiting, clock, present, answer } = start();
  const presented = present();
  const expiresAt = clock.now() / 1000 + 10;
  await answer({ ...good, expiresAt });
  expect(await presented).toMatchObject({ ok: true });
  clock.advance(9_999);
  expect(await present()).toMatchObject({ ok: true });
  clock.advance(1);
  expect(await present()).toEqual({ ok: false, reason: "expired" });
  expect(waiting).toHaveLength(0);
});

test("a principal stays the same object while the provider says the same of it", async () => {
  const { waiting, clock, present, answer } = start();
  const next = async (result: IdpTokenResult): Promise<Principal> => {
    clock.advance(FRESH_MS);
    const presented = present();
    expect(waiting).toHaveLength(1);
    await answer(result);
    return principalOf(await presented);
  };
  const first = await next(good);
  expect(await next(good)).toBe(first);
  const renamed = await next({ ...good, profile: { ...good.profile, name: "Pauline" } });
  expect(renamed).not.toBe(first);
  expect(renamed.user).toMatchObject({ name: "Pauline", version: 2 });
});

test.each([
  ["idp_access_token", { accessToken: "token", idToken: "" }],
  ["idp_identity_token", { accessToken: "", idToken: "token" }],
])("a token of %s is forwarded as its own kind", async (format, tokens) => {
  const { credentials, present, answer } = start(format);
  const presented = present();
  await answer(good);
  expect(credentials.presentedBy(principalOf(await presented))).toEqual(tokens);
});

test("no provider is requested about a token once none is configured", async () => {
  const { waiting, present, configure } = start();
  configure(snapshotFrom("routes: []"));
  expect(await present()).toEqual({ ok: false, reason: "unavailable" });
  expect(waiting).toHaveLength(0);
});

test("unknown tokens have 16 concurrent verifications per network, and 64 in total", async () => {
  const { waiting, present, answer } = start();
  const results: Promise<AuthResult | undefined>[] = [];
  let tokens = 0;
  const ask = (address: string): void => void results.push(present(`token${(tokens += 1)}`, address));
  for (let index = 0; index < 20; index += 1) ask("203.0.113.9");
  expect(waiting).toHaveLength(16);
  expect(await results[16]).toEqual({ ok: false, reason: "unavailable" });
  await answer(refused);
  for (let index = 0; index < 3; index += 1) ask("203.0.113.9");
  expect(waiting).toHaveLength(16);
  for (let network = 1; network <= 4; network += 1)
    for (let index = 0; index < 16; index += 1) ask(`198.51.${network}.1`);
  expect(waiting).toHaveLength(64);
  while (waiting.length > 0) await answer(refused);
  for (let index = 0; index < 17; index += 1) ask("203.0.113.9");
  expect(waiting).toHaveLength(16);
});

describe("a platform's token", () => {
  const principal = { user: { id: userId("job") }, revocationKeys: ["workload-token:1"] } as unknown as Principal;
  const asked: string[] = [];
  const platform = (result: AuthResult): WorkloadCredentials => ({
    principal: (token, origin) => {
      asked.push(`${token} ${origin}`);
      return result;
    },
  });

  test("is verified again for the host where it was presented", async () => {
    const { credentials, present } = start("jwt", platform({ ok: true, principal }));
    expect(principalOf(await present("job"))).toBe(principal);
    expect(await credentials.again(principal)).toBe(principal);
    expect(asked.splice(0)).toEqual(["job https://api.example.com", "job https://api.example.com"]);
    expect(await credentials.again({ ...principal })).toBeUndefined();
  });

  test.each([
    ["no host of ours", platform({ ok: true, principal }), "elsewhere.example.com"],
    ["a gateway that trusts no platform", undefined, "api.example.com"],
  ])("is rejected at %s", async (_, workloads, host) => {
    const { present } = start("jwt", workloads);
    expect(await present("job", "203.0.113.9", host)).toEqual({ ok: false, reason: "wrong-audience" });
    expect(asked).toEqual([]);
  });

  test("that was valid before stays valid while its issuer is unavailable, and ends when rejected", async () => {
    let result: AuthResult = { ok: true, principal };
    const { credentials, present } = start("jwt", { principal: () => result });
    await present("job");
    result = { ok: false, reason: "unavailable" };
    expect(await credentials.again(principal)).toBe(principal);
    result = { ok: false, reason: "revoked" };
    expect(await credentials.again(principal)).toBeUndefined();
  });
});
