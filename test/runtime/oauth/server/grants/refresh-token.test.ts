import { describe, expect, test } from "vitest";

import { createKeys, hashSecret } from "../../../../../runtime/shared/keys.ts";
import type { RefreshFamily } from "../../../../../runtime/oauth/server/grant-records.ts";
import {
  classifyRefreshToken,
  isBoundTo,
  mintRefreshToken,
  openRefreshToken,
  prolongReplay,
  replayAnswer,
  rotateFamily,
  type OpenedRefreshToken,
} from "../../../../../runtime/oauth/server/grants/refresh-token.ts";
import { withChangedEnd } from "../../../../support/tamper.ts";
import type { UserId } from "../../../../../runtime/shared/user-id.ts";

const old = Buffer.alloc(32, 1);
const keys = createKeys([old]);
const owner = { issuer: "https://mcp.example.com", clientId: "gwc_a" };
const grant = { userId: "alice" as UserId, audience: "https://mcp.example.com/a", scope: "mcp" };

/** A family after `count` rotations at the given times, and all its tokens. */
function rotate(times: readonly number[]) {
  const tokens = [mintRefreshToken(keys, owner, "g", 1, grant)];
  let family: RefreshFamily = { generation: 1, hash: hashSecret(tokens[0] ?? ""), rotated: [] };
  for (const now of times) {
    const refreshToken = mintRefreshToken(keys, owner, "g", family.generation + 1, grant);
    const answer = {
      accessToken: `access-${family.generation + 1}`,
      accessExpiresAt: now + 900,
      audience: "a",
      scope: "mcp",
      refreshToken,
    };
    family = rotateFamily(keys, family, tokens.at(-1) ?? "", answer, now);
    tokens.push(refreshToken);
  }
  const classify = (index: number, now: number) => {
    const opened = openRefreshToken(keys, owner, tokens[index] ?? "");
    if (!opened) throw new Error("does not open");
    return classifyRefreshToken(family, opened, now);
  };
  return { tokens, family, classify };
}

describe("openRefreshToken()", () => {
  const token = mintRefreshToken(keys, owner, "g", 3, grant);

  test("opens for its client at its issuer, under a later secret too", () => {
    const expected = { grantId: "g", generation: 3, binding: expect.any(String) as string, hash: hashSecret(token) };
    expect(openRefreshToken(keys, owner, token)).toEqual(expected);
    expect(openRefreshToken(createKeys([Buffer.alloc(32, 2), old]), owner, token)).toEqual(expected);
  });

  test.each([
    ["another client", { ...owner, clientId: "gwc_b" }, token],
    ["another issuer", { ...owner, issuer: "https://other.example.com" }, token],
    ["a changed token", owner, withChangedEnd(token)],
    ["a truncated token", owner, token.slice(0, 40)],
    ["a longer token", owner, `${token}A`],
    ["an access token", owner, token.replace("gwr_", "gwt_")],
    ["no prefix", owner, token.slice(4)],
    ["the prefix alone", owner, "gwr_"],
    ["a huge token", owner, `gwr_${"A".repeat(5000)}`],
  ])("does not open for %s", (_, who, text) => {
    expect(openRefreshToken(keys, who, text)).toBeUndefined();
  });

  test.each([
    ["another user", { userId: "bob" as UserId }],
    ["another audience", { audience: "https://mcp.example.com" }],
    ["more scope", { scope: "mcp admin" }],
  ])("is bound to its grant: not to one of %s", (_what, change) => {
    const opened = openRefreshToken(keys, owner, token) ?? expect.unreachable();
    expect([isBoundTo(opened, grant), isBoundTo(opened, { ...grant, ...change })]).toEqual([true, false]);
    expect(isBoundTo({ ...opened, binding: undefined }, grant)).toBe(false);
  });

  test("does not open under another secret", () => {
    expect(openRefreshToken(createKeys([Buffer.alloc(32, 9)]), owner, token)).toBeUndefined();
  });
});

describe("classifyRefreshToken()", () => {
  test("the newest is current, the one before is rotated for 30 s and then reused", () => {
    const { classify } = rotate([1000]);
    expect(classify(1, 5000).kind).toBe("current");
    expect(classify(0, 1030).kind).toBe("rotated");
    expect(classify(0, 1031).kind).toBe("reused");
  });

  test("an older one than the window is reused, whatever came after", () => {
    const { classify } = rotate([1000, 1100, 1105]);
    expect([0, 1, 2, 3].map((index) => classify(index, 1110).kind)).toEqual([
      "reused",
      "rotated",
      "rotated",
      "current",
    ]);
  });

  test("a token of a later generation, or an equal one that is not ours, is unknown", () => {
    const { family } = rotate([1000]);
    const forged = { grantId: "g", generation: 2, binding: undefined, hash: hashSecret("another") };
    expect(classifyRefreshToken(family, forged, 1000).kind).toBe("unknown");
    expect(classifyRefreshToken(family, { ...forged, generation: 3 }, 1000).kind).toBe("unknown");
    expect(classifyRefreshToken(undefined, forged, 1000).kind).toBe("unknown");
  });
});

describe("prolongReplay()", () => {
  test("gives the token that was rotated since then its 30 s again", () => {
    const { family, tokens } = rotate([1000, 1005]);
    const opened = (index: number): OpenedRefreshToken => {
      const found = openRefreshToken(keys, owner, tokens[index] ?? "");
      if (!found) throw new Error("does not open");
      return found;
    };
    const prolonged = prolongReplay(family, opened(1), { since: 1005, now: 1040 });
    expect(classifyRefreshToken(prolonged, opened(1), 1070).kind).toBe("rotated");
    expect(classifyRefreshToken(prolonged, opened(1), 1071).kind).toBe("reused");
    expect(classifyRefreshToken(prolonged, opened(0), 1040).kind).toBe("reused");
    expect(classifyRefreshToken(prolonged, opened(2), 1040).kind).toBe("current");
    // It was rotated before.
    expect(prolongReplay(family, opened(1), { since: 1006, now: 1040 })).toBeUndefined();
    // Its successor was used, so that had arrived.
    expect(prolongReplay(family, opened(0), { since: 1000, now: 1040 })).toBeUndefined();
    expect(prolongReplay(family, opened(2), { since: 1000, now: 1040 })).toBeUndefined();
    expect(prolongReplay(undefined, opened(1), { since: 1000, now: 1040 })).toBeUndefined();
  });
});

describe("replayAnswer()", () => {
  test("returns the same response to the holder of the rotated token only", () => {
    const { tokens, family, classify } = rotate([1000]);
    const state = classify(0, 1001);
    if (state.kind !== "rotated") throw new Error(state.kind);
    expect(replayAnswer(keys, family, tokens[0] ?? "", state.by)).toMatchObject({
      accessToken: "access-2",
      refreshToken: tokens[1],
    });
    expect(replayAnswer(keys, family, tokens[1] ?? "", state.by)).toBeUndefined();
    expect(replayAnswer(createKeys([Buffer.alloc(32, 9)]), family, tokens[0] ?? "", state.by)).toBeUndefined();
  });

  test("gives the newest answer when the successor was rotated meanwhile", () => {
    const { tokens, family, classify } = rotate([1000, 1005, 1008]);
    const state = classify(0, 1010);
    if (state.kind !== "rotated") throw new Error(state.kind);
    expect(replayAnswer(keys, family, tokens[0] ?? "", state.by)).toMatchObject({
      accessToken: "access-4",
      refreshToken: tokens[3],
    });
  });

  test("stores no token in plain text", () => {
    const { tokens, family } = rotate([1000, 1001]);
    const stored = JSON.stringify(family);
    for (const token of tokens) expect(stored).not.toContain(token);
    expect(stored).not.toContain("access-");
  });
});
