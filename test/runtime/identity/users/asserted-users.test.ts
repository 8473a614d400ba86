/** Users asserted by an issuer: stored if unknown, and never instead of facts from a sign-in. */
import { describe, expect, test } from "vitest";

import type { Snapshot } from "../../../../runtime/config/snapshot.ts";
import { toUser } from "../../../../runtime/identity/claims-record.ts";
import { createIdentityProof } from "../../../../runtime/identity/users/identity-proof.ts";
import { createRecords, type IdentityRecord } from "../../../../runtime/identity/identity-records.ts";
import { createAssertedUsers } from "../../../../runtime/identity/users/asserted-users.ts";
import type { AssertedUser } from "../../../../runtime/identity/users/asserted.ts";
import { createMemoryStore } from "../../../../runtime/store/memory.ts";
import { createTestClock } from "../../../support/clock.ts";
import { snapshotFrom } from "../../../support/config.ts";
import { userId } from "../../../support/users.ts";
import { createKeys } from "../../../../runtime/shared/keys.ts";

const NOW = 1_800_000_000;
const DAY = 24 * 3600;

/** @param domain email domain that the first provider's issuer may assert */
function configured(domain: string): Snapshot {
  return snapshotFrom(`
idp_provider_url: https://idp.example.com
idp_client_id: gateway
identity_issuers:
  company: { issuer: "https://idp.example.com", uses: [id_jag], email_domains: [${domain}] }
  okta: { issuer: "https://okta.example", uses: [id_jag], email_domains: [okta.example] }
`);
}

function setUp() {
  const clock = createTestClock();
  const store = createMemoryStore({ clock });
  const records = createRecords(store);
  const revoked: string[] = [];
  const snapshot = configured("example.com");
  const keys = createKeys([Buffer.alloc(32, 1)]);
  const users = createAssertedUsers({
    records,
    snapshots: { current: () => snapshot },
    revocations: { revoke: async (key) => void revoked.push(key) },
    keys,
    clock,
  });
  const get = async (id: string) => records.identities.get(id);
  const signedIn = async (
    more: Partial<IdentityRecord> = {},
    without: readonly (keyof IdentityRecord)[] = [],
  ): Promise<void> => {
    const record: IdentityRecord = {
      userId: userId("alice"),
      providerUrl: "https://idp.example.com",
      providerClientId: "gateway",
      version: 7,
      email: "alice@example.com",
      name: "Alice",
      groups: ["engineering"],
      claims: { sub: "alice" },
      leftOut: null,
      accessToken: "sealed",
      refreshToken: "sealed",
      confirmedAt: NOW,
      confirmations: 1,
      signIns: 1,
      ...more,
    };
    const kept = Object.fromEntries(Object.entries(record).filter(([name]) => !without.includes(name as never)));
    await records.identities.put("alice", createIdentityProof(keys).add(kept as unknown as IdentityRecord), {
      expiresAt: NOW + 30 * DAY,
      tags: ["user:alice"],
    });
  };
  return { clock, users, revoked, get, signedIn };
}

const ALICE: AssertedUser = {
  userId: userId("alice"),
  issuer: "https://idp.example.com",
  email: "other@example.com",
  isEmailVerified: true,
  issuedAt: NOW,
};
const DANA: AssertedUser = { ...ALICE, userId: userId("dana", "okta"), issuer: "https://okta.example", email: "" };

describe("AssertedUsers.record()", () => {
  test("stores a new user with unknown groups and claims and no tokens", async () => {
    const { users, get } = setUp();
    const user = await users.record(DANA);
    expect(user).toMatchObject({
      id: "issuer:okta/dana",
      email: "",
      groups: [],
      leftOut: { groups: true, others: true },
    });
    const stored = await get("issuer:okta/dana");
    expect(stored?.value).toMatchObject({ issuer: "okta", providerUrl: "https://okta.example", signIns: 0 });
    expect(stored?.tags).toEqual(["user:issuer:okta/dana"]);
    for (const token of ["accessToken", "refreshToken", "idToken"]) expect(stored?.value).not.toHaveProperty(token);
  });

  test("keeps the facts of a sign-in, which are still refreshed from the provider", async () => {
    const { users, get, signedIn, clock } = setUp();
    await signedIn();
    const before = await get("alice");
    expect(await users.record(ALICE)).toMatchObject({
      email: "alice@example.com",
      groups: ["engineering"],
      version: 7,
    });
    expect(await get("alice")).toEqual(before);
    // Shortly before its expiry it is extended, unchanged.
    clock.advance((30 * DAY - 10) * 1000);
    expect(await users.record(ALICE)).toMatchObject({ groups: ["engineering"] });
    const after = await get("alice");
    expect(after?.value).toEqual(before?.value);
    expect(after?.expiresAt).toBeGreaterThan(NOW + 30 * DAY);
  });

  test("drops groups of a sign-in that cannot be refreshed, once its sessions have expired", async () => {
    const { users, signedIn, clock, revoked } = setUp();
    await signedIn();
    const others = setUp();
    await others.signedIn({}, ["refreshToken"]);
    others.clock.advance(14 * 3600_000 - 1000);
    expect(await others.users.record(ALICE)).toMatchObject({ groups: ["engineering"] });
    others.clock.advance(1000);
    expect(await others.users.record(ALICE)).toMatchObject({
      groups: [],
      email: "other@example.com",
      leftOut: { groups: true },
    });
    // With a refresh token, the provider is checked.
    clock.advance(14 * 3600_000);
    expect(await users.record(ALICE)).toMatchObject({ groups: ["engineering"] });
    expect(revoked).toEqual([]);
  });

  test("rejects a user whom the provider has rejected since, and starts again after a new assertion", async () => {
    const { users, signedIn, revoked, get } = setUp();
    await signedIn({ refusedAt: NOW });
    expect(await users.record(ALICE)).toBeUndefined();
    expect(revoked).toEqual([]);
    const user = await users.record({ ...ALICE, issuedAt: NOW + 1 });
    // The access is revoked first; earlier groups do not count.
    expect(revoked).toEqual(["user:alice"]);
    expect(user).toMatchObject({ groups: [], leftOut: { groups: true } });
    expect((await get("alice"))?.value).not.toHaveProperty("refusedAt");
  });

  test("keeps the object id of the same provider, which its directory uses", async () => {
    const { users, get, signedIn } = setUp();
    const refused = { refusedAt: NOW - 1, claims: { sub: "alice", oid: "oid-alice", role: "lead" } };
    await signedIn(refused);
    const user = await users.record(ALICE);
    expect([user?.claims["oid"], user?.claims["role"]]).toEqual(["oid-alice", undefined]);
    expect((await get("alice"))?.tags.filter((tag) => tag.startsWith("oid:"))).toHaveLength(1);
    await signedIn({ ...refused, providerUrl: "https://other.example.com" });
    expect((await users.record(ALICE))?.claims["oid"]).toBeUndefined();
  });

  test("rejects an id that an older version stored for another user", async () => {
    const { users, signedIn } = setUp();
    await signedIn();
    // Its record would say no issuer.
    const stored = setUp();
    await stored.signedIn({ issuer: "okta" });
    expect(await stored.users.record(ALICE)).toBeUndefined();
    expect(await users.record(ALICE)).toBeDefined();
  });

  test("revokes the access of a user of another issuer with the same name", async () => {
    const { users, revoked } = setUp();
    await users.record(DANA);
    await users.record({ ...DANA, issuer: "https://okta.other" });
    expect(revoked).toEqual(["user:issuer:okta/dana"]);
  });

  test("updates the email address, and keeps the version if nothing changed", async () => {
    const { users, clock } = setUp();
    const first = await users.record(DANA);
    clock.advance(1000);
    expect((await users.record(DANA))?.version).toBe(first?.version);
    const changed = await users.record({ ...DANA, email: "dana@okta.example" });
    expect(changed?.email).toBe("dana@okta.example");
    expect(changed?.version).toBeGreaterThan(first?.version ?? 0);
  });

  test("an email address counts while its issuer is trusted with it; one from a sign-in depends on the provider", async () => {
    const { users, get, signedIn } = setUp();
    expect((await users.record(ALICE))?.email).toBe("other@example.com");
    const asserted = await get("alice");
    await signedIn();
    for (const [record, later] of [
      [asserted, ""],
      [await get("alice"), "alice@example.com"],
    ] as const) {
      if (!record) throw new Error("nobody is known");
      const before = toUser(record.value, configured("example.com").settings);
      const after = toUser(record.value, configured("example.net").settings);
      expect([before.email, after.email]).toEqual([record.value.email, later]);
      if (later === "") expect(after.claims).not.toHaveProperty("email");
    }
  });

  test("of many at the same time makes one", async () => {
    const { users } = setUp();
    const made = await Promise.all(Array.from({ length: 8 }, () => users.record(DANA)));
    expect(new Set(made.map((user) => user?.version)).size).toBe(1);
  });
});
