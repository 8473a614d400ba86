import { describe, expect, test } from "vitest";

import type { Field } from "../../runtime/settings/field.ts";
import { nestFields } from "../../runtime/settings/groups.ts";
import { formatPath, parsePath } from "../../runtime/settings/problem.ts";
import { attributePath, bundleValues, renderSlice } from "../../runtime/terraform/resource/bundle-document.ts";
import { placeToPointAt } from "../../runtime/terraform/resource/bundle-problem.ts";
import { pathText } from "../../runtime/terraform/protocol/diagnostics.ts";
import {
  type DocumentProblem,
  fromDocument,
  noStandIn,
  type StandIn,
  toDocument,
} from "../../runtime/terraform/schema/document.ts";
import { blockType } from "../../runtime/terraform/schema/schema-model.ts";
import { bundleSchema } from "../../runtime/terraform/schema/schema.ts";
import { valueFromJson } from "../../runtime/terraform/protocol/value-codec.ts";
import { UNKNOWN, type ValueMap } from "../../runtime/terraform/protocol/value.ts";

const about = { doc: "A setting.", required: false, scope: "route" } as const;
/** One field of each kind. */
const fields: readonly Field[] = [
  { ...about, name: "text", kind: "text" },
  { ...about, name: "flag", kind: "flag" },
  { ...about, name: "count", kind: "count" },
  { ...about, name: "duration", kind: "duration" },
  { ...about, name: "url", kind: "url" },
  { ...about, name: "choice", kind: "choice", values: ["a", "b"] },
  { ...about, name: "domains", kind: "domain-pattern-list" },
  { ...about, name: "texts", kind: "text-list" },
  { ...about, name: "urls", kind: "url-list" },
  { ...about, name: "map", kind: "text-map" },
  { ...about, name: "templates", kind: "template-map" },
  { ...about, name: "lists", kind: "text-list-map" },
  { ...about, name: "secret", kind: "secret" },
  { ...about, name: "block", kind: "block", fields: [{ ...about, name: "inner", kind: "block", fields: [] }] },
  { ...about, name: "items", kind: "block-list", fields: [{ ...about, name: "a", kind: "text" }] },
  { ...about, name: "named", kind: "labelled", fields: [{ ...about, name: "a", kind: "text" }] },
  { ...about, name: "policy", kind: "policy" },
];

const document = {
  text: "t",
  flag: false,
  count: 0,
  duration: "1s",
  url: "https://a.example.com",
  choice: "a",
  domains: ["*.example.com"],
  texts: [],
  urls: ["http://a", "http://b"],
  map: { "X-A": "" },
  templates: {},
  lists: { department: ["a", "b"], none: [] },
  secret_ref: "env:X",
  block: { inner: {} },
  items: [{ a: "x" }, {}],
  named: { "a b": { a: "x" }, constructor: {} },
  policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }],
};

describe("fromDocument() and toDocument()", () => {
  test("give back a document of every kind of setting, empty blocks and lists included", () => {
    const value = fromDocument(fields, document, null);
    const problems: DocumentProblem[] = [];
    expect(toDocument(fields, value, [], { standIn: noStandIn, problems })).toEqual(document);
    expect(problems).toEqual([]);
  });

  test("make values that have every attribute of the schema, unset ones null", () => {
    expect(fromDocument(fields, {}, null)).toEqual({
      text: null,
      flag: null,
      count: null,
      duration: null,
      url: null,
      choice: null,
      domains: null,
      texts: null,
      urls: null,
      map: null,
      templates: null,
      lists: null,
      secret: null,
      secret_ref: null,
      secret_sealed: null,
      secret_wo: null,
      secret_wo_version: null,
      block: null,
      items: [],
      named: {},
      policy: null,
    });
  });

  test("treat a value of another kind in a file as unset", () => {
    const hostile = Object.fromEntries(fields.map(({ name }) => [name, 7]));
    const value = fromDocument(fields, { ...hostile, count: "7", secret_ref: {}, map: { a: 1 } }, null);
    expect(value).toMatchObject({
      text: null,
      flag: null,
      count: null,
      urls: null,
      map: { a: null },
      block: null,
      items: [],
      named: {},
    });
  });

  test("never find a member that only a prototype has", () => {
    const field: Field = { ...about, name: "constructor", kind: "text" };
    expect(fromDocument([field], {}, null)).toEqual({ constructor: null });
  });

  test("read a single upstream written without a list", () => {
    expect(fromDocument(fields, { urls: "http://a" }, null)).toMatchObject({ urls: ["http://a"] });
  });

  test("keep the user's own text of a policy as long as it means the same", () => {
    const own = '[ {"allow": {"and": [ {"domain": {"is": "example.com"} } ] } } ]';
    expect(fromDocument(fields, document, { policy: own })["policy"]).toBe(own);
    expect(fromDocument(fields, document, { policy: "[]" })["policy"]).toBe(JSON.stringify(document.policy));
    expect(fromDocument(fields, document, { policy: "no JSON" })["policy"]).toBe(JSON.stringify(document.policy));
  });

  test("drop the version of a secret with another seal", () => {
    const prior = { secret_sealed: "a.b.c.d.e", secret_wo_version: 3 };
    expect(fromDocument(fields, { secret_sealed: "a.b.c.d.e" }, prior)).toMatchObject({ secret_wo_version: 3 });
    expect(fromDocument(fields, { secret_sealed: "x.b.c.d.e" }, prior)).toMatchObject({ secret_wo_version: null });
  });

  test("report a policy that is not JSON", () => {
    const problems: DocumentProblem[] = [];
    toDocument(fields, { policy: "allow" }, ["routes", "x"], { standIn: noStandIn, problems });
    expect(problems).toEqual([
      { path: ["routes", "x", "policy"], message: expect.stringContaining("is not JSON") as string },
    ]);
  });

  test("tell a policy with a repeated key, of which readers take one or the other", () => {
    const problems: DocumentProblem[] = [];
    const policy = '[{"allow":{"and":[]},"deny":{"or":[{"reject":true}]},"deny":{}}]';
    toDocument(fields, { policy }, ["routes", "x"], { standIn: noStandIn, problems });
    expect(problems).toEqual([
      { path: ["routes", "x", "policy"], message: expect.stringContaining("twice") as string },
    ]);
  });

  test("request a stand-in for every unknown value, and say whether it is a member", () => {
    const asked: string[] = [];
    const value = {
      text: UNKNOWN,
      urls: ["http://a", UNKNOWN],
      map: { "X-A": UNKNOWN },
      items: [{ a: UNKNOWN }],
      block: UNKNOWN,
    };
    const doc = toDocument(fields, value, [], {
      problems: [],
      standIn: (field, path, item) => {
        asked.push(`${formatPath(path)} ${field.kind} ${item}`);
        return item ? "?" : undefined;
      },
    });
    expect(asked).toEqual([
      "text text false",
      "urls[1] url-list true",
      'map["X-A"] text-map true',
      "block block false",
      "items[0].a text false",
    ]);
    expect(doc).toEqual({ urls: ["http://a", "?"], map: { "X-A": "?" }, items: [{}] });
    expect(() => toDocument(fields, value, [], { standIn: noStandIn, problems: [] })).toThrow('Cannot render "text"');
  });
});

test("renderSlice() and bundleValues() are inverse for a bundle", () => {
  const slice = {
    version: 1,
    owner: "team",
    settings: { runtime_flags: { mcp: true }, set_response_headers: { "X-A": "b" } },
    routes: {
      app: {
        from: "https://app.example.com",
        to: ["http://10.0.0.1"],
        mcp: { server: { max_request_bytes: 1, upstream_oauth2: { client_id: "x", client_secret_ref: "env:X" } } },
        tls_server_name: "app.internal",
        health_checks: [{ tcp_health_check: {} }],
        allowed_users: ["a@example.com"],
        prefix_rewrite: "/",
        rewrite_response_headers: [{ header: "Location", prefix: "", value: "" }],
      },
      client: { from: "https://c.example.com", to: ["http://10.0.0.2"], mcp: { client: {} } },
    },
  };
  const bundle = { owner: "team", ...bundleValues(slice, {}) };
  expect(renderSlice(bundle, { standIn: noStandIn, problems: [] })).toEqual(slice);
  // They fit the schema as they are.
  const typed = valueFromJson(blockType(bundleSchema), bundle) as ValueMap;
  expect(renderSlice(typed, { standIn: noStandIn, problems: [] })).toEqual(slice);
});

describe("settings with a group", () => {
  const rare = { name: "rare", doc: "Rare settings." };
  const grouped: readonly Field[] = [
    { ...about, name: "first", kind: "text", group: rare },
    { ...about, name: "flat", kind: "text" },
    { ...about, name: "named", kind: "labelled", group: rare, fields: [{ ...about, name: "a", kind: "text" }] },
    { ...about, name: "key", kind: "secret", group: rare },
  ];
  const nested = nestFields(grouped);
  const render = (value: ValueMap): unknown => toDocument(grouped, value, [], { standIn: noStandIn, problems: [] });

  test("are in a block in Terraform, and next to the others in a document, in its order", () => {
    const doc = { first: "1", flat: "2", named: { x: { a: "3" } }, key_ref: "env:K" };
    const value = fromDocument(nested, doc, null);
    expect(value).toMatchObject({ flat: "2", rare: { first: "1", named: { x: { a: "3" } }, key_ref: "env:K" } });
    expect(Object.keys(value)).toEqual(["rare", "flat"]);
    expect(JSON.stringify(render(value))).toBe(JSON.stringify(doc));
  });

  test.each([{ first: "1" }, { named: { x: {} } }, { key_sealed: "a.b.c.d.e" }])("bring the block: %j", (doc) => {
    expect(fromDocument(nested, doc, null)["rare"]).not.toBeNull();
    expect(render(fromDocument(nested, doc, null))).toEqual(doc);
  });

  test("bring no block when none is written, and leave one without content where it was", () => {
    expect(fromDocument(nested, { flat: "2" }, null)).toEqual({ rare: null, flat: "2" });
    expect(fromDocument(nested, { flat: "2" }, { rare: { first: "1" } })["rare"]).toMatchObject({
      first: null,
      named: {},
    });
    expect(render({ rare: null, flat: "2" })).toEqual({ flat: "2" });
    expect(render({ rare: {}, flat: "2" })).toEqual({ flat: "2" });
  });

  test("are requested one by one when the block is unknown", () => {
    const asked: string[] = [];
    const standIn: StandIn = (field, path, item) => void asked.push(`${formatPath(path)} ${field.kind} ${item}`);
    expect(toDocument(grouped, { rare: UNKNOWN, flat: "2" }, [], { standIn, problems: [] })).toEqual({ flat: "2" });
    expect(asked).toEqual([
      "first block false",
      "named block false",
      "key block false",
      "key_ref block false",
      "key_sealed block false",
    ]);
  });
});

describe("attributePath()", () => {
  test.each<[string, string, string]>([
    ["settings.cookie_expiration", "cookie_expiration", "cookie_expiration"],
    ["settings.runtime_flags.mcp", "runtime_flags.mcp", "runtime_flags.mcp"],
    ['settings.set_response_headers["X-A"]', 'set_response_headers["X-A"]', 'set_response_headers["X-A"]'],
    ['routes["my app"].to[1]', 'route["my app"].to[1]', 'route["my app"].to[1]'],
    [
      "routes.a.rewrite_response_headers[2].value",
      'route["a"].headers.rewrite_response_headers[2].value',
      'route["a"].headers.rewrite_response_headers[2].value',
    ],
    [
      "routes.a.redirect.host_redirect",
      'route["a"].routing.redirect.host_redirect',
      'route["a"].routing.redirect.host_redirect',
    ],
    ["routes.a.allowed_users[1]", 'route["a"].access.allowed_users[1]', 'route["a"].access.allowed_users[1]'],
    ["routes.a.tls_custom_ca_ref", 'route["a"].upstream.tls_custom_ca_ref', 'route["a"].upstream.tls_custom_ca_ref'],
    [
      'routes.a.set_request_headers_secret["X-A"].secret',
      'route["a"].headers.set_request_headers_secret["X-A"].secret',
      'route["a"].headers',
    ],
    ["routes.a.policy[0].allow.and[1].domain", 'route["a"].policy', 'route["a"].policy'],
    ["routes.a", 'route["a"]', 'route["a"].from'],
    [
      "routes.a.mcp.server.upstream_oauth2.client_secret",
      'route["a"].mcp.server.upstream_oauth2.client_secret',
      'route["a"].mcp.server.upstream_oauth2',
    ],
    [
      "routes.a.mcp.server.upstream_oauth2.client_secret_ref",
      'route["a"].mcp.server.upstream_oauth2.client_secret_ref',
      'route["a"].mcp.server.upstream_oauth2.client_secret_ref',
    ],
    [
      "settings.idp_groups_resolver.entra.client_secret",
      "idp_groups_resolver.entra.client_secret",
      "idp_groups_resolver.entra",
    ],
    ["owner", "owner", "owner"],
    ["routes", "route", "route"],
    ["", "", ""],
  ])("takes %s to %s and points at %s", (text, path, pointedAt) => {
    const found = attributePath(parsePath(text), {});
    expect(pathText(found)).toBe(path);
    expect(pathText(placeToPointAt(found))).toBe(pointedAt);
  });
});

test("parsePath() is the inverse of formatPath()", () => {
  for (const path of [
    ["routes", "a.b[0]", "to", 1],
    ["routes", 'say "hi"', "set_request_headers", "X-A"],
    [],
    ["a", 0, "b"],
  ]) {
    expect(parsePath(formatPath(path))).toEqual(path);
  }
  // From an answer that is not ours.
  expect(() => parsePath('routes["\\q"]["')).not.toThrow();
});
