/**
 * Tokens for back ends of MCP client routes: bound to their session or grant, and returned while most of their lifetime
 * is left.
 */
import { expect, test } from "vitest";

import type { ExternalTokens } from "../../../../runtime/identity/external-token.ts";
import type { Principal } from "../../../../runtime/identity/principal.ts";
import { createApplicationTokens } from "../../../../runtime/identity/tokens/application-token.ts";
import { createTestClock } from "../../../support/clock.ts";
import { routeNamed, snapshotFrom } from "../../../support/config.ts";
import { userId } from "../../../support/users.ts";

const snapshot = snapshotFrom(`
idp_provider_url: https://id.example.com
idp_client_id: gateway
routes:
  - { name: one, from: "https://one.example.com", to: "http://127.0.0.1:9", allow_any_authenticated_user: true, mcp: { client: {} } }
  - { name: two, from: "https://two.example.com", to: "http://127.0.0.1:9", allow_any_authenticated_user: true, mcp: { client: {} } }
`);

function setUp() {
  const clock = createTestClock();
  const minted: Parameters<ExternalTokens["mint"]>[0][] = [];
  const tokens = createApplicationTokens({
    externalTokens: { mint: (claims: (typeof minted)[number]) => `token${minted.push(claims)}` } as never,
    snapshots: { current: () => snapshot, subscribe: () => () => {} },
    clock,
  });
  return { clock, minted, tokens };
}

const principal = (of: Partial<Principal>) => ({ user: { id: userId("alice") }, ...of }) as unknown as Principal;

test.each([{ sessionId: "s1" }, { grantId: "g1" }, { sessionId: "s1", grantId: "g1" }, {}])(
  "a token ends with its session or grant: %j",
  (of) => {
    const { clock, minted, tokens } = setUp();
    tokens.mint(principal(of), routeNamed(snapshot, "one"));
    expect(minted).toEqual([
      {
        kind: "application",
        userId: userId("alice"),
        ...of,
        routeKey: "default/one",
        audience: "application https://one.example.com",
        expiresAt: clock.now() / 1000 + 300,
      },
    ]);
    expect(Object.keys(minted[0] ?? {})).toHaveLength(5 + Object.keys(of).length);
  },
);

test("one token of a route is handed out for a fifth of its life, and never at another route", () => {
  const { clock, tokens } = setUp();
  const alice = principal({ sessionId: "s1" });
  const [one, two] = [routeNamed(snapshot, "one"), routeNamed(snapshot, "two")];
  expect(tokens.mint(alice, one)).toBe("token1");
  expect(tokens.mint(alice, two)).toBe("token2");
  clock.advance(59_000);
  expect(tokens.mint(alice, one)).toBe("token1");
  expect(tokens.mint(principal({ sessionId: "s2" }), one)).toBe("token3");
  clock.advance(1_000);
  expect(tokens.mint(alice, one)).toBe("token4");
});
