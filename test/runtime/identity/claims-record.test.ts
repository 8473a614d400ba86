/** One user's record: its provider, and the time of the next check. */
import { describe, expect, test } from "vitest";

import type { LiveSettings } from "../../../runtime/config/compiled.ts";
import {
  createTokenSeal,
  findProvider,
  issuerOf,
  MAX_CONFIRM_SECONDS,
  mergeIdentity,
  providerOf,
  RETRY_GROUPS_SECONDS,
} from "../../../runtime/identity/claims-record.ts";
import type { IdentityRecord } from "../../../runtime/identity/identity-records.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { serviceAccountUserId, type UserId } from "../../../runtime/shared/user-id.ts";
import { snapshotFrom } from "../../support/config.ts";
import { benchConfig } from "../../support/session-bench.ts";
import { userId } from "../../support/users.ts";

const tokenSeal = createTokenSeal(createKeys([Buffer.alloc(32, 1)]));
const NOW = 1_800_000_000;

function merged(of: UserId, leftOut?: IdentityRecord["leftOut"]): IdentityRecord {
  const tokens = { providerUrl: "http://127.0.0.1:9", clientId: "gateway", accessToken: "a", refreshToken: "r" };
  const profile = { email: "", name: "", groups: [], claims: {}, ...(leftOut && { leftOut }) };
  return mergeIdentity({ tokenSeal, nowMs: NOW * 1000 }, { earlier: undefined, userId: of, tokens, profile });
}

describe("mergeIdentity()", () => {
  test.each([
    ["everything", undefined, MAX_CONFIRM_SECONDS],
    ["all but groups, for which nobody is asked", {}, MAX_CONFIRM_SECONDS],
    ["groups from elsewhere", { groups: false, resolver: "answered" }, MAX_CONFIRM_SECONDS],
    ["no groups, since they could not be had", { resolver: "failed" }, RETRY_GROUPS_SECONDS],
  ] as const)("is due again in time after %s", (_, leftOut, seconds) => {
    const record = merged(userId("1"), leftOut && { groups: true, claims: ["groups"], ...leftOut });
    expect(record.refreshDueAt).toBe(NOW + seconds);
  });

  test("names the issuer in the record of another one, and seals for this user alone", () => {
    const [here, there] = [merged(userId("1")), merged(userId("1", "corp"))];
    expect(here).not.toHaveProperty("issuer");
    expect(there).toMatchObject({ issuer: "corp", userId: "issuer:corp/1" });
    expect(tokenSeal.open(there.userId, "access", there.accessToken)).toBe("a");
    expect(tokenSeal.open(here.userId, "access", there.accessToken)).toBeUndefined();
  });
});

describe("the settings of a user's provider", () => {
  const first = snapshotFrom(benchConfig("http://127.0.0.1:9")).settings;
  const settings = first.idp as NonNullable<LiveSettings["idp"]>;
  const corp = { providers: [{ ...settings, issuerName: "corp" }] };

  test("are those of the issuer in the id, though address and client are the same", () => {
    for (const [live, ours, other] of [
      [first, userId("1"), userId("1", "corp")],
      [corp, userId("1", "corp"), userId("1")],
    ] as const) {
      expect(findProvider(live, ours)).toBe(live.providers[0]);
      expect(findProvider(live, other)).toBeUndefined();
      expect(findProvider(live, userId("1", "partner"))).toBeUndefined();
      expect(providerOf(merged(ours), live)).toBe(live.providers[0]);
      expect(providerOf(merged(other), live)).toBeUndefined();
    }
    expect(findProvider({ providers: [] }, userId("1"))).toBeUndefined();
  });

  test("are found among several", () => {
    const both = { providers: [settings, ...corp.providers] };
    expect(findProvider(both, userId("1"))).toBe(settings);
    expect(findProvider(both, userId("1", "corp"))).toBe(corp.providers[0]);
    expect(findProvider(both, userId("1", "partner"))).toBeUndefined();
  });

  test("do not exist for service accounts and workloads", () => {
    expect(findProvider(first, serviceAccountUserId("ci"))).toBeUndefined();
    expect(issuerOf(serviceAccountUserId("ci"))).toBeUndefined();
  });
});
