/** Claims for upstreams: plain headers and the signed header say the same, and no provider names another one's users. */
import { generateKeyPairSync } from "node:crypto";

import { describe, expect, test } from "vitest";

import { claimHeaderProblems, OMITTED, upstreamClaim } from "../../../../runtime/features/headers/upstream-claims.ts";
import { loadAssertionKeys } from "../../../../runtime/identity/tokens/assertion-keys.ts";
import { createAssertions } from "../../../../runtime/identity/tokens/assertion.ts";
import type { Principal, User } from "../../../../runtime/identity/principal.ts";
import { createKeys } from "../../../../runtime/shared/keys.ts";
import type { UserId } from "../../../../runtime/shared/user-id.ts";
import { createTestClock } from "../../../support/clock.ts";
import { snapshotFrom } from "../../../support/config.ts";

/** A provider that states something under every name that the gateway speaks for. */
const CLAIMS = {
  sub: "root",
  user: "root",
  email: "root@example.com",
  name: "root",
  groups: ["engineering"],
  sid: "forged",
  preferred_username: "alice",
  department: "sales",
  level: 5,
};

function caller(more: Partial<User> = {}): Principal {
  const user: User = {
    id: "alice" as UserId,
    version: 1,
    email: "alice@example.com",
    name: "Alice",
    groups: ["interns"],
    claims: CLAIMS,
    ...more,
  };
  return { kind: "session", user, sid: "s-1", sessionId: "s-1", expiresAt: 9_999_999_999, revocationKeys: [] };
}
const PARTNER = { id: "issuer:partner/erin" as UserId, email: "", groups: [] };

const route = snapshotFrom(
  'routes: [{ name: a, from: "https://app.example", response: { status: 200 }, allow_any_authenticated_user: true }]',
).routes[0];
const pem = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });

const ALL = new Map(Object.keys(CLAIMS).map((claim) => [`X-${claim}`, claim]));

/** What the signed header says when every claim is named. */
function signed(principal: Principal, named: ReadonlyMap<string, string> = ALL): Readonly<Record<string, unknown>> {
  const keys = loadAssertionKeys([pem], createKeys([Buffer.alloc(32, 1)]));
  const assertions = createAssertions({ keys, clock: createTestClock(), claimHeaders: () => named });
  const [, payload = ""] = assertions.sign(principal, route ?? expect.unreachable()).split(".");
  return JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
}

const many = Array.from({ length: 2000 }, (_, index) => `group-${index}`);

describe("upstreamClaim()", () => {
  test.each<[string, Partial<User>]>([
    ["a user of the first provider", {}],
    ["a user of a partner", PARTNER],
    ["a user without an address that counts", { email: "" }],
    ["a user with more groups than are sent", { groups: many }],
    ["a user with unknown groups", { groups: [], leftOut: { groups: true, claims: ["groups"] } }],
    ["a user with an omitted claim", { leftOut: { groups: false, claims: ["department"] }, claims: { level: 1 } }],
  ])("says of %s what the signed header says", (_who, more) => {
    const principal = caller(more);
    const jwt = signed(principal);
    for (const claim of Object.keys(CLAIMS)) {
      const plain = upstreamClaim(principal.user, principal.sid, claim);
      expect([claim, plain === OMITTED ? undefined : plain]).toEqual([claim, jwt[claim]]);
    }
  });

  test("a partner's user names are qualified, its other claims are unchanged", () => {
    const { user, sid } = caller(PARTNER);
    const seen = ["user", "preferred_username", "department", "level"].map((claim) => upstreamClaim(user, sid, claim));
    expect(seen).toEqual([PARTNER.id, "issuer:partner/alice", "sales", 5]);
  });

  test.each([
    [["alice"], ["issuer:partner/alice"]],
    [
      ["alice", ["bob", 7], true],
      ["issuer:partner/alice", ["issuer:partner/bob", "issuer:partner/7"], true],
    ],
    [1001, "issuer:partner/1001"],
  ])("a partner's user names are qualified in every form: %j", (sent, qualified) => {
    const { user, sid } = caller({ ...PARTNER, claims: { preferred_username: sent, employee_id: sent, level: sent } });
    expect(upstreamClaim(user, sid, "preferred_username")).toEqual(qualified);
    expect(upstreamClaim(user, sid, "employee_id")).toEqual(qualified);
    expect(upstreamClaim(user, sid, "level")).toEqual(sent);
  });

  test("names that differ from the gateway's own only by case are equal: upstreams may read them so", () => {
    const claims = { Groups: ["engineering"], USER: "root", ſub: "root", Aud: "x" };
    const { user, sid } = caller({ claims });
    const seen = Object.keys(claims).map((claim) => upstreamClaim(user, sid, claim));
    expect(seen).toEqual([["interns"], "alice", "alice", undefined]);
    const named = new Map(Object.keys(claims).map((claim) => [`X-${claim}`, claim]));
    expect(Object.keys(signed(caller({ claims }), named)).filter((name) => name in claims)).toEqual([]);
  });

  test.each(["aud", "exp", "gateway_route", "constructor", "__proto__"])("%s is no claim of a user", (claim) => {
    const { user, sid } = caller({ claims: { aud: "x", exp: 1, gateway_route: "a/b" } });
    expect(upstreamClaim(user, sid, claim)).toBeUndefined();
  });
});

describe("claimHeaderProblems()", () => {
  const problems = (headers: Record<string, string>, others: string[] = ["partner"]): readonly string[] =>
    [...claimHeaderProblems(headers, others)].map(([header]) => header);

  test("reports claims by which a partner's user could pass as another user", () => {
    const headers = {
      "X-Remote-User": "name",
      "X-User": "user",
      "X-Login": "preferred_username",
      "X-Account": "email",
    };
    expect(problems(headers)).toEqual(["X-Remote-User"]);
    expect(problems({ Remote_User: "employee", "X-Department": "department" })).toEqual(["Remote_User"]);
    expect(problems(headers, [])).toEqual([]);
    expect(problems({ "X-Email": "mail", "X-Forwarded-Email": "email" })).toEqual(["X-Email"]);
  });

  test("reports claims that are not about the user", () => {
    expect(problems({ "X-Aud": "aud", "X-Sid": "sid" }, [])).toEqual(["X-Aud"]);
  });
});
