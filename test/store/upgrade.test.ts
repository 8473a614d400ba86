/** Records that an earlier version of this program kept still do what they were kept for. */
import { readFileSync, readdirSync } from "node:fs";

import { describe, expect, onTestFinished, test } from "vitest";

import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { recordFormats } from "../../runtime/record-kinds.ts";
import { createPeople } from "../../runtime/people.ts";
import { withFormats } from "../../runtime/store/formats.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { snapshotFrom } from "../support/config.ts";
import { createFakeExchange } from "../support/fake-exchange.ts";
import { ORIGIN, RESOURCE, startIssuer, type TestIssuer } from "../support/issuer.ts";
import { createPkce, REDIRECT_URI } from "../support/oauth-client.ts";
import { APP, BENCH_SECRET, benchConfig } from "../support/session-bench.ts";
import type { RecordsFixture } from "./make-records-fixture.ts";

const folder = new URL("fixtures/", import.meta.url);
const fixtures = readdirSync(folder).filter((name) => /^records-v\d+\.json$/.test(name));

interface Opened {
  readonly fixture: RecordsFixture;
  readonly clock: TestClock;
  readonly store: Store;
}

/** A store as that version left it, at that time. */
async function openFixture(name: string): Promise<Opened> {
  const fixture = JSON.parse(readFileSync(new URL(name, folder), "utf8")) as RecordsFixture;
  const clock = createTestClock(fixture.nowMs);
  const store = createMemoryStore({ clock });
  for (const { key, value, tags, expiresAt } of fixture.records) {
    await store.put(key, value, { tags, ...(expiresAt === undefined ? {} : { expiresAt }) });
  }
  return { fixture, clock, store };
}

async function openIssuer(name: string): Promise<Opened & { readonly issuer: TestIssuer }> {
  const opened = await openFixture(name);
  const issuer = await startIssuer(opened);
  onTestFinished(() => issuer.close());
  return { ...opened, issuer };
}

test("there is a fixture for every schema that a kind of record has had", () => {
  const newest = Math.max(...Object.values(recordFormats).map(({ schema }) => schema));
  expect(fixtures).toHaveLength(newest);
  for (const { schema, upgrades } of Object.values(recordFormats)) expect(upgrades).toHaveLength(schema - 1);
});

describe.each(fixtures)("%s", (name) => {
  test("holds every kind of lasting record, each with its schema", async () => {
    const { fixture } = await openFixture(name);
    const kinds = new Set(fixture.records.map(({ key }) => key.slice(0, key.indexOf(":"))));
    expect([...kinds].toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      "authz-answer",
      "client",
      "code",
      "consent",
      "grant",
      "identity",
      "service-account",
      "session",
    ]);
    for (const { value } of fixture.records) expect(value).toHaveProperty("schema", Number(/\d+/.exec(name)?.[0]));
  });

  test("a client authorizes again, its refresh token being bound to no grant, and proves itself with its secret", async () => {
    const { fixture, issuer } = await openIssuer(name);
    const { client, refreshToken } = fixture.credentials;
    const form = { grant_type: "refresh_token", refresh_token: refreshToken, ...client };
    expect((await issuer.oauth().sendToken(form)).json()["error"]).toBe("invalid_grant");
    expect((await issuer.oauth().sendToken({ ...form, client_secret: "gws_wrong" })).status).toBe(401);
    expect(issuer.externalTokens.open(fixture.credentials.accessToken)).toMatchObject({
      ok: true,
      claims: { kind: "grant", audience: RESOURCE },
    });
  });

  test("a repeated refresh gets nothing, in the window and after", async () => {
    const { fixture, issuer, clock } = await openIssuer(name);
    const { client_id, refreshToken } = fixture.credentials.rotated;
    const form = { grant_type: "refresh_token", refresh_token: refreshToken, client_id };
    expect((await issuer.oauth().sendToken(form)).json()["error"]).toBe("invalid_grant");
    clock.advance(31_000);
    expect((await issuer.oauth().sendToken(form)).json()["error"]).toBe("invalid_grant");
  });

  test("a pending code, which is valid for a minute, has expired", async () => {
    const { fixture, issuer } = await openIssuer(name);
    expect((await issuer.oauth().sendToken(fixture.credentials.code)).json()["error"]).toBe("invalid_grant");
  });

  test("an approval is asked for once more", async () => {
    const { fixture, issuer } = await openIssuer(name);
    const outcome = await issuer.oauth().authorize({
      clientId: fixture.credentials.rotated.client_id,
      redirectUri: REDIRECT_URI,
      challenge: createPkce().challenge,
      decision: "look",
    });
    expect(outcome.at).toBe("page");
  });

  test("a machine gets tokens", async () => {
    const { fixture, issuer } = await openIssuer(name);
    const form = { grant_type: "client_credentials", ...fixture.credentials.machine };
    expect((await issuer.oauth().sendToken(form)).status).toBe(200);
  });

  test("a browser signs in again, and a service account's token is still good", async () => {
    const { fixture, clock, store } = await openFixture(name);
    const snapshot = snapshotFrom(benchConfig("http://127.0.0.1:9"));
    const session = createPeople({
      snapshots: { current: () => snapshot, subscribe: () => () => {} },
      store: withFormats(store, recordFormats),
      keys: createKeys([BENCH_SECRET]),
      boot: { development: true, signingKeys: [] },
      log: silentLog(),
      clock,
    });
    onTestFinished(() => session.close());
    const { cookie, serviceAccountToken } = fixture.credentials;
    const exchange = { ...createFakeExchange({ headers: ["cookie", cookie] }), host: new URL(APP).host };
    expect(await session.authenticator.cookie(exchange)).toEqual({ ok: false, reason: "malformed" });
    expect(
      await session.authenticator.bearer(serviceAccountToken, { resource: RESOURCE, origin: ORIGIN }),
    ).toMatchObject({
      ok: true,
      principal: { kind: "service-account", user: { id: "service-account:ci", groups: ["robots"] } },
    });
  });
});
