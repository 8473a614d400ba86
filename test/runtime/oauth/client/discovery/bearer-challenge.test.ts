import { expect, test } from "vitest";

import { readChallenge } from "../../../../../runtime/oauth/client/discovery/bearer-challenge.ts";

const bearer = (challenge: object): object => ({ kind: "bearer", challenge });

test.each([
  ["no header", undefined, { kind: "none" }],
  ["an empty header", "", { kind: "none" }],
  ["Bearer alone", "Bearer", bearer({})],
  ["any case", 'bearer ERROR="x"', bearer({ error: "x" })],
  [
    "all parameters, quoted",
    'Bearer realm="x", error="insufficient_scope", scope="a b", resource_metadata="https://h/p"',
    bearer({ error: "insufficient_scope", scope: "a b", resourceMetadata: "https://h/p" }),
  ],
  ["unquoted parameters", "Bearer scope=a, error=invalid_token", bearer({ scope: "a", error: "invalid_token" })],
  ["escaped quotes", 'Bearer scope="a\\"b"', bearer({ scope: 'a"b' })],
  ["Bearer after another scheme", 'Basic realm="x", Bearer scope="a"', bearer({ scope: "a" })],
  ["Bearer after a token", "Negotiate abc==, Bearer scope=a", bearer({ scope: "a" })],
  ["several headers", ['Basic realm="x"', 'Bearer scope="a"'], bearer({ scope: "a" })],
  ["another scheme only", 'Basic realm="scope=\\"x\\", Bearer"', { kind: "other" }],
  ["a Bearer inside a quoted text", 'Digest realm="Bearer scope=evil"', { kind: "other" }],
  ["a parameter that only ends alike", 'Bearer xscope="a", x_error="b"', bearer({})],
  ["the first of two", 'Bearer scope="a", scope="b"', bearer({ scope: "a" })],
  ["an unfinished quote", 'Bearer error="x", scope="a', bearer({ error: "x" })],
  ["noise", "=,,==;;", { kind: "none" }],
])("readChallenge() of %s", (_name, value, expected) => {
  expect(readChallenge(value)).toEqual(expected);
});

test("readChallenge() reads a bounded part of an endless header", () => {
  expect(readChallenge(`Bearer scope="${"a".repeat(1_000_000)}"`)).toEqual(bearer({}));
});
