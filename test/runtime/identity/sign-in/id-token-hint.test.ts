/** Choice of the ID token that identifies the session to end at the provider. */
import { expect, test } from "vitest";

import { newestOfSession } from "../../../../runtime/identity/sign-in/provider-sessions.ts";

const idToken = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.`;
const first = idToken({ iat: 100, sid: "laptop" });

test.each<readonly [string, string, string, "first" | "refreshed"]>([
  ["a refresh of the same session", first, idToken({ iat: 200, sid: "laptop" }), "refreshed"],
  ["a refresh of the same second", first, idToken({ iat: 100, sid: "laptop", jti: "2" }), "refreshed"],
  ["a refresh of another browser's session", first, idToken({ iat: 200, sid: "phone" }), "first"],
  ["a refresh that names no session", first, idToken({ iat: 200 }), "first"],
  ["a refresh before this sign-in", first, idToken({ iat: 50, sid: "laptop" }), "first"],
  ["no sessions at all", idToken({ iat: 100 }), idToken({ iat: 200 }), "refreshed"],
  ["no refresh", first, "", "first"],
  ["what is not a JWT", first, "opaque", "first"],
])("%s", (_what, own, refreshed, expected) => {
  expect(newestOfSession(own, refreshed)).toBe(expected === "first" ? own : refreshed);
});
