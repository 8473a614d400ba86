/** Tokens of the identity provider: what becomes of a question that is under way when its user's access ends. */
import { expect, test } from "vitest";

import type { AuthResult } from "../../../../runtime/identity/principal.ts";
import { objectIdTag } from "../../../../runtime/identity/identity-records.ts";
import type { IdpTokenResult } from "../../../../runtime/identity/provider/idp-tokens.ts";
import { createProgramCredentials } from "../../../../runtime/identity/tokens/program-credentials.ts";
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

/** Questions are answered when the test says so. */
function start() {
  const waiting: ((result: IdpTokenResult) => void)[] = [];
  const revocations = createTestRevocations();
  const snapshot = snapshotFrom(`
idp_provider_url: https://id.example.com
idp_client_id: gateway
routes:
  - { name: api, from: "https://api.example.com", to: "http://127.0.0.1:9", bearer_token_format: idp_access_token, allow_any_authenticated_user: true }
`);
  const credentials = createProgramCredentials({
    authenticator: { bearer: () => ({ ok: false, reason: "malformed" }) },
    idpTokens: { verify: () => new Promise((resolve) => waiting.push(resolve)) },
    snapshots: { current: () => snapshot, subscribe: () => () => {} },
    revocations,
    clock: createTestClock(),
    log: silentLog(),
  });
  const route = routeNamed(snapshot, "api");
  const present = async (): Promise<AuthResult | undefined> => {
    const header = (name: string) => (name === "authorization" ? "Bearer token" : undefined);
    return credentials.providerBearer(
      { header, remoteAddress: "203.0.113.9", host: "api.example.com" } as never,
      route,
    );
  };
  /** The oldest question. */
  const answer = async (result: IdpTokenResult): Promise<void> => {
    waiting.shift()?.(result);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { waiting, revocations, present, answer };
}

test.each([
  ["user", "user:paul"],
  ["object id", objectIdTag(undefined, "oid-paul")],
])("who may have been asked about before their access ended is asked about again: by %s", async (_, key) => {
  const { waiting, revocations, present, answer } = start();
  const presented = present();
  revocations.revokeNow(key);
  await answer(good);
  expect(waiting).toHaveLength(1);
  await answer(refused);
  expect(await presented).toEqual({ ok: false, reason: "unknown-user" });
  expect(await present()).toEqual({ ok: false, reason: "unknown-user" });
});

test("somebody else's end asks nothing again", async () => {
  const { waiting, revocations, present, answer } = start();
  const presented = present();
  revocations.revokeNow("user:olga");
  await answer(good);
  expect(waiting).toHaveLength(0);
  expect(await presented).toMatchObject({ ok: true });
});

test("who keeps being ended gets nowhere, and the provider is asked a few times", async () => {
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

test("what was known ends also for an answer that is about to begin, and the token may be good again", async () => {
  const { revocations, present, answer } = start();
  const known = async (): Promise<readonly string[]> => {
    const presented = present();
    await answer(good);
    const result = await presented;
    if (!result?.ok) throw new Error("The token is refused");
    return result.principal.revocationKeys;
  };
  const keys = (await known()).filter((each) => !each.startsWith("user:"));
  expect(revocations.isRevoked(keys)).toBe(false);
  revocations.revokeNow("user:paul");
  expect(revocations.isRevoked(keys)).toBe(true);
  const again = (await known()).filter((each) => !each.startsWith("user:"));
  expect(revocations.isRevoked(again)).toBe(false);
});
