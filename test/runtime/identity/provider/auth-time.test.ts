import { expect, test } from "vitest";

import { authTime, freshSignIn, isStale } from "../../../../runtime/identity/provider/auth-time.ts";

const NOW = 1_800_000_000;
const tokens = (at: unknown) => ({ providerUrl: "", clientId: "", accessToken: "", idClaims: { auth_time: at } });

test("authTime() is the provider's value, and never in the future", () => {
  expect(authTime(tokens(NOW - 5), NOW)).toBe(NOW - 5);
  expect(authTime(tokens(NOW + 500), NOW)).toBe(NOW);
  for (const none of [undefined, "1", Number.NaN]) expect(authTime(tokens(none), NOW)).toBeUndefined();
  expect(authTime({}, NOW)).toBeUndefined();
});

test("isStale() is true if the provider reports an older authentication", () => {
  expect(isStale(tokens(NOW - 15 * 60 - 61), NOW)).toBe(true);
  expect(isStale(tokens(NOW - 15 * 60), NOW)).toBe(false);
  expect(isStale(tokens(undefined), NOW)).toBe(false);
});

test("freshSignIn() requests a login, and from Google, which rejects that, the choice of an account", () => {
  expect(freshSignIn({ providerUrl: "https://idp.example.com" })).toEqual({ prompt: "login", max_age: "900" });
  expect(freshSignIn({ providerUrl: "https://accounts.google.com" })).toEqual({ prompt: "select_account" });
});
