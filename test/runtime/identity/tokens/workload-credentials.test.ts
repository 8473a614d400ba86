/** Tokens of platforms on ordinary routes while the configuration changes under them: the rules of now decide. */
import { beforeAll, describe, expect, test } from "vitest";

import type { Snapshot } from "../../../../runtime/config/snapshot.ts";
import { createIssuerKeys, type IssuerKeys } from "../../../../runtime/issuers/issuer-keys.ts";
import { createWorkloadCredentials } from "../../../../runtime/identity/tokens/workload-credentials.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { makeSigningKey, type SigningKey } from "../../../support/client-assertion.ts";
import { createTestClock } from "../../../support/clock.ts";
import { snapshotFrom } from "../../../support/config.ts";
import { fakeIssuer } from "../../../support/id-jag.ts";
import { jobClaims, PLATFORM, signJob } from "../../../support/workload.ts";

const APP = "https://app.example.com";
let key: SigningKey;
beforeAll(async () => {
  key = await makeSigningKey("ES256", "platform");
});

function configured(rule = 'claims: { repository_id: ["42"] }', uses = "[workload]"): Snapshot {
  const jwks = JSON.stringify({ keys: [key.jwk] });
  const rules = uses.includes("workload") ? `workload_rules: { main: { ${rule}, resources: ["${APP}"] } }` : "";
  return snapshotFrom(`
identity_issuers:
  ci: { issuer: "${PLATFORM}", uses: ${uses}, jwks: '${jwks}', ${rules} }
  other: { issuer: "https://other.example.net", uses: [workload], workload_rules: { main: { claims: { sub: [a] }, resources: ["${APP}"] } } }
routes:
  - { name: app, from: ${APP}, to: "http://127.0.0.1:9", bearer_token_format: jwt, policy: { allow: { and: [authenticated_user: true] } } }
`);
}

/** Keys with a pending response. */
function setUp() {
  const clock = createTestClock();
  const real = createIssuerKeys({ fetch: fakeIssuer().fetch, clock, log: silentLog() });
  const waiting: (() => void)[] = [];
  const looks = { count: 0 };
  let isHeld = true;
  const issuerKeys: IssuerKeys = {
    ...real,
    async verify(issuer, token) {
      looks.count += 1;
      if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
      return real.verify(issuer, token);
    },
  };
  let snapshot = configured();
  const snapshots = { current: () => snapshot };
  const credentials = createWorkloadCredentials({ issuerKeys, snapshots, clock, log: silentLog() });
  return {
    clock,
    token: (claims = {}) => signJob(jobClaims(clock.now(), { aud: APP, ...claims }), key),
    present: async (token: string) => credentials.principal(token, APP, { base: "" }),
    configure: (next: Snapshot) => void (snapshot = next),
    waiting,
    looks,
    release: () => {
      isHeld = false;
      for (const go of waiting.splice(0)) go();
    },
  };
}

describe("a token with an issuer whose keys are slow", () => {
  test.each<[string, () => Snapshot]>([
    ["whose rule asks for something else by then", () => configured('claims: { repository_id: ["43"] }')],
    ["whose issuer has the use no more by then", () => configured("", "[id_jag]")],
  ])("is rejected %s, and so is one that arrives then", async (_, next) => {
    const { token, present, configure, waiting, release } = setUp();
    const presented = await token();
    const early = present(presented);
    await expect.poll(() => waiting.length).toBe(1);
    configure(next());
    const late = present(presented);
    release();
    expect(await early).toMatchObject({ ok: false });
    expect(await late).toMatchObject({ ok: false });
    expect(await present(presented)).toMatchObject({ ok: false });
  });

  test("is accepted by the rules of that time, and verified once for many requests", async () => {
    const { token, present, configure, waiting, release } = setUp();
    const presented = await token();
    configure(configured('claims: { repository_id: ["43"] }'));
    const early = present(presented);
    await expect.poll(() => waiting.length).toBe(1);
    configure(configured());
    const late = [present(presented), present(presented)];
    release();
    for (const result of [await early, ...(await Promise.all(late))])
      expect(result).toMatchObject({ ok: true, principal: { kind: "workload" } });
  });
});

test("a valid token is verified again after a minute, a rejected one after ten seconds, and none is accepted after its expiry", async () => {
  const { clock, token, present, release, looks } = setUp();
  release();
  const short = await token({ exp: clock.now() / 1000 + 30 });
  const good = await token();
  const bad = await token({ repository_id: "43" });
  expect(await present(good)).toMatchObject({ ok: true });
  expect(await present(short)).toMatchObject({ ok: true });
  expect(await present(bad)).toMatchObject({ ok: false });
  expect(looks.count).toBe(3);
  clock.advance(9_999);
  expect(await present(bad)).toMatchObject({ ok: false });
  expect(looks.count).toBe(3);
  clock.advance(1);
  expect(await present(bad)).toMatchObject({ ok: false });
  expect(looks.count).toBe(4);
  clock.advance(20_000);
  expect(await present(short)).toEqual({ ok: false, reason: "expired" });
  clock.advance(29_999);
  expect(await present(good)).toMatchObject({ ok: true });
  expect(looks.count).toBe(4);
  clock.advance(1);
  expect(await present(good)).toMatchObject({ ok: true });
  expect(looks.count).toBe(5);
});
