import { describe, expect, test } from "vitest";

import { routeFields } from "../../../runtime/config/route.ts";
import { secretRules, secretUses, secretValues, type SecretSource } from "../../../runtime/settings/secret-forms.ts";
import { settingsFields } from "../../../runtime/config/settings.ts";
import type { UnplacedProblem } from "../../../runtime/settings/problem.ts";

const source: SecretSource = { resolve: (reference) => `read ${reference}`, open: (sealed) => `opened ${sealed}` };

describe("secretUses()", () => {
  test("finds secrets at every depth, in all forms", () => {
    const route = { mcp: { server: { upstream_oauth2: { client_id: "a", client_secret_ref: "env:A" } } } };
    const settings = { shared_secret: "x", signing_key_ref: ["env:B", "env:C"], idp_client_secret_sealed: "s" };

    expect([...secretUses(routeFields, route)]).toEqual([
      {
        path: ["mcp", "server", "upstream_oauth2", "client_secret_ref"],
        name: "client_secret",
        form: "ref",
        values: ["env:A"],
      },
    ]);
    expect([...secretUses(settingsFields, settings)].map(({ name, form, values }) => [name, form, values])).toEqual([
      ["shared_secret", "plain", ["x"]],
      ["signing_key", "ref", ["env:B", "env:C"]],
      ["idp_client_secret", "sealed", ["s"]],
    ]);
  });

  test.each([undefined, null, 5, "text", []])("finds none in %j", (value) => {
    expect([...secretUses(routeFields, value)]).toEqual([]);
  });
});

const problemsOf = (value: object, publisher: string | undefined): readonly UnplacedProblem[] => {
  const found: UnplacedProblem[] = [];
  secretRules(settingsFields, value, publisher, (problem) => found.push(problem));
  return found;
};

describe("secretRules()", () => {
  const severities = (value: object, published: boolean) =>
    problemsOf(value, published ? "team" : undefined).map(({ severity }) => severity);

  test.each([
    [{}, false, []],
    [{ idp_client_secret: "x" }, false, []],
    [{ idp_client_secret: "x" }, true, ["warning"]],
    [{ idp_client_secret_ref: "env:A" }, true, []],
    [{ idp_client_secret_sealed: "s" }, true, []],
    [{ idp_client_secret: "x", idp_client_secret_ref: "env:A" }, false, ["error"]],
    [
      { idp_client_secret: "x", idp_client_secret_ref: "env:A", idp_client_secret_sealed: "s" },
      false,
      ["error", "error"],
    ],
    [{ idp_client_secret: "x", admin_token_ref: "env:A" }, false, []],
  ])("judges %j, published %s: %j", (value, published, expected) => {
    expect(severities(value, published)).toEqual(expected);
  });
});

describe("seals for an owner", () => {
  const sealedFor = (header: object): string => `${Buffer.from(JSON.stringify(header)).toString("base64url")}.a.b.c.d`;
  const messages = (sealed: string, publisher: string | undefined) =>
    problemsOf({ idp_client_secret_sealed: sealed }, publisher).map(({ message }) => message);

  test("are rejected in a published slice of another owner", () => {
    expect(messages(sealedFor({ owner: "team" }), "other")).toEqual([
      'was sealed for owner "team", must be sealed for "other"',
    ]);
  });

  test.each([
    ["of that owner", sealedFor({ owner: "team" }), "team"],
    ["in the operator's main configuration file", sealedFor({ owner: "team" }), undefined],
    ["that name none", sealedFor({ alg: "ECDH-ES+A256KW" }), "team"],
    ["with an owner that is not a text", sealedFor({ owner: ["other"] }), "team"],
    ["that are no seals, which do not open", "e30", "team"],
    ["with something else for a header", `${Buffer.from("[").toString("base64url")}.a`, "team"],
  ])("say nothing %s", (_name, sealed, publisher) => {
    expect(messages(sealed, publisher)).toEqual([]);
  });
});

describe("secretValues()", () => {
  test("returns plain text unchanged, resolves references, opens seals", () => {
    expect(secretValues({ key: ["a", "b"] }, "key", source)).toEqual(["a", "b"]);
    expect(secretValues({ key_ref: "env:A" }, "key", source)).toEqual(["read env:A"]);
    expect(secretValues({ key_sealed: "s" }, "key", source)).toEqual(["opened s"]);
    expect(secretValues({}, "key", source)).toEqual([]);
  });

  test("rejects an empty external secret: it would mean no secret", () => {
    const empty: SecretSource = { resolve: () => "", open: () => "" };

    expect(() => secretValues({ key_ref: "env:A" }, "key", empty)).toThrow(
      expect.objectContaining({ code: "config.secret" }) as Error,
    );
  });
});
