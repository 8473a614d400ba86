import { describe, expect, test } from "vitest";

import type { Field } from "../../../runtime/settings/field.ts";
import { isGroup, nestFields, nestMembers } from "../../../runtime/settings/groups.ts";
import { count, text } from "../../../runtime/settings/types/scalar.ts";
import { fieldsOf, grouped } from "../../../runtime/settings/types/registry.ts";
import { secret } from "../../../runtime/settings/types/secret.ts";
import { routeFields } from "../../../runtime/config/route.ts";

const rare = { name: "rare", doc: "Rare settings." };
const fields = fieldsOf(
  {
    first: text({ doc: "First." }),
    ...grouped(rare, { second: text({ doc: "Second." }), ...secret("key", { doc: "A key." }) }),
    third: text({ doc: "Third." }),
    ...grouped(rare, { fourth: count({ doc: "Fourth.", min: 0, max: 9 }) }),
  },
  "route",
);

describe("grouped()", () => {
  test("keeps the other attributes of a setting", () => {
    expect(fields[1]).toEqual({
      name: "second",
      kind: "text",
      doc: "Second.",
      required: false,
      scope: "route",
      group: rare,
    });
  });

  test("rejects a required setting: its block would always be required", () => {
    expect(() => grouped(rare, { must: text({ doc: "Must.", required: true }) })).toThrow(
      'Cannot put setting "must" into the block "rare": it must be an optional setting',
    );
  });
});

describe("nestFields()", () => {
  test("gathers the settings of a group in one block at the position of the first", () => {
    const nested = nestFields(fields);
    expect(nested.map(({ name, kind }) => `${name} ${kind}`)).toEqual(["first text", "rare block", "third text"]);
    expect(nested[1]?.fields?.map(({ name, group }) => [name, group])).toEqual([
      ["second", undefined],
      ["key", undefined],
      ["fourth", undefined],
    ]);
  });

  test("has each setting of a route once", () => {
    const flat = nestFields(routeFields).flatMap((field): readonly Field[] =>
      isGroup(field) ? field.fields : [field],
    );
    expect(flat.map(({ name }) => name).toSorted()).toEqual(routeFields.map(({ name }) => name).toSorted());
  });

  test("leaves flat what requirements name first and what most routes have", () => {
    const flat = nestFields(routeFields).filter((field) => !isGroup(field));
    const told = "a new setting goes into a group: grouped(…) in features/<feature>/settings.ts";
    expect(
      flat.map(({ name }) => name),
      told,
    ).toEqual([
      "name",
      "from",
      "to",
      "prefix",
      "path",
      "policy",
      "allow_public_unauthenticated_access",
      "allow_any_authenticated_user",
      "mcp",
      "preserve_host_header",
      "host_rewrite",
      "set_request_headers",
      "remove_request_headers",
      "set_response_headers",
      "allow_websockets",
      "timeout",
    ]);
  });
});

describe("nestMembers()", () => {
  test("moves members of a group into its block, under every form of a secret, and leaves the others", () => {
    const members = { fourth: 0, first: "1", key_ref: "env:K", second: null, surprise: true };
    expect(nestMembers(fields, members)).toEqual({ first: "1", surprise: true, rare: { key_ref: "env:K", fourth: 0 } });
  });

  test("creates no block for absent values", () => {
    const nested = nestMembers(routeFields, { from: "https://a", health_checks: [], set_request_headers_secret: {} });
    expect(nested).toEqual({ from: "https://a" });
  });
});
