/** `directories`: what is refused before it is in force. */
import { describe, expect, test } from "vitest";

import {
  compileDirectories,
  directoryProblems,
  directoryRules,
} from "../../../../runtime/features/sign-in/directories.ts";
import { compileTrustedIssuers } from "../../../../runtime/features/sign-in/trusted-issuers.ts";

const token = "a-token-of-a-directory";
const IDP = "https://idp.example.com";
const identity_issuers = {
  first: { issuer: IDP, uses: ["logout"] },
  entra: { issuer: "https://entra.example.com", uses: ["id_jag"] },
};

test("directoryRules() rejects tokens that are short or that no client can send", () => {
  const problems = [
    ...directoryRules({ directories: { a: { token: "short" }, b: { token, previous_token: `${token} x` } } }),
  ];
  expect(problems.map(({ path }) => path)).toEqual([
    ["directories", "a", "token"],
    ["directories", "b", "previous_token"],
  ]);
});

describe("directoryProblems()", () => {
  const problems = (directories: Readonly<Record<string, { provider?: string; token: string }>>): number =>
    [...directoryProblems({ directories, identity_issuers, idp_provider_url: IDP })].length;

  test.each([
    ["one for each provider", { a: { token }, b: { provider: "entra", token } }, 0],
    ["two for one", { a: { provider: "entra", token }, b: { provider: "entra", token } }, 1],
    ["two for one by two names", { a: { token }, b: { provider: "first", token } }, 1],
    ["nobody's", { a: { provider: "unknown", token } }, 1],
    ["an inherited name", { a: { provider: "constructor", token } }, 1],
  ])("%s: %j", (_, directories, expected) => {
    expect(problems(directories)).toBe(expected);
  });

  test("the default provider must be configured", () => {
    expect([...directoryProblems({ directories: { a: { token } } })]).toHaveLength(1);
  });
});

test("compileDirectories() finds the default provider among the issuers, and requires a token", () => {
  const issuers = compileTrustedIssuers({ identity_issuers }, IDP);
  const secrets = { resolve: (text: string) => text, open: (text: string) => text };
  const [one, other] = compileDirectories(
    { directories: { a: { provider: "first", token }, b: { provider: "entra", token, previous_token: `${token}-2` } } },
    issuers,
    secrets,
  );
  expect([one?.userIssuer, one?.tokenHashes.length]).toEqual([undefined, 1]);
  expect([other?.userIssuer, other?.tokenHashes.length]).toEqual(["entra", 2]);
  expect(() => compileDirectories({ directories: { a: {} } }, issuers, secrets)).toThrow("it has no token");
});
