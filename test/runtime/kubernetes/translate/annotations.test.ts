/** Every setting that has an annotation, read from its text. */
import { describe, expect, test } from "vitest";

import { ANNOTATION_PREFIX, annotationFields } from "../../../../runtime/config/surfaces/annotations.ts";
import type { Field } from "../../../../runtime/settings/field.ts";
import { routeFields } from "../../../../runtime/config/route.ts";
import { readAnnotations } from "../../../../runtime/kubernetes/translate/annotations/annotations.ts";

function read(annotations: Readonly<Record<string, unknown>>) {
  return readAnnotations(
    Object.fromEntries(Object.entries(annotations).map(([name, value]) => [ANNOTATION_PREFIX + name, value])),
  );
}

function messages(annotations: Readonly<Record<string, unknown>>): readonly string[] {
  return read(annotations).problems.map(({ annotation, message }) => `${annotation} ${message}`);
}

function valueAt(settings: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], settings);
}

/** The nine of the requirements: name → text → value. */
const headerSettings: Readonly<Record<string, readonly [string, unknown]>> = {
  preserve_host_header: ["true", true],
  host_rewrite: ["www.example.com", "www.example.com"],
  host_rewrite_header: ["X-Original-Host", "X-Original-Host"],
  host_path_regex_rewrite_pattern: ["^/(.+)/.+$", "^/(.+)/.+$"],
  host_path_regex_rewrite_substitution: ["\\1", "\\1"],
  set_request_headers: [
    'X-Token: Bearer ${gateway.access_token}\nX-Price: "$$5"\n',
    { "X-Token": "Bearer ${gateway.access_token}", "X-Price": "$$5" },
  ],
  remove_request_headers: ["- X-Debug\n- X-Internal\n", ["X-Debug", "X-Internal"]],
  set_response_headers: ["X-Frame-Options: DENY\n", { "X-Frame-Options": "DENY" }],
  rewrite_response_headers: [
    "- header: Location\n  prefix: http://internal/\n  value: https://app.example.com/\n",
    [{ header: "Location", prefix: "http://internal/", value: "https://app.example.com/" }],
  ],
};

/** A text for a setting of this kind, and its value. */
function sample(field: Field): readonly [string, unknown] {
  switch (field.kind) {
    case "flag":
      return ["true", true];
    case "count":
      return ["17", 17];
    case "choice":
      return [field.values?.[0] ?? "", field.values?.[0]];
    case "text":
    case "url":
    case "duration":
      return ["[text: as it stands]", "[text: as it stands]"];
    case "text-list":
    case "url-list":
    case "domain-pattern-list":
      return ["- one\n- two\n", ["one", "two"]];
    case "text-map":
    case "template-map":
      return ["A: one\nB: two\n", { A: "one", B: "two" }];
    case "text-list-map":
      return ["groups: [one, two]\n", { groups: ["one", "two"] }];
    case "policy":
      return ["- allow:\n    and:\n      - accept: true\n", [{ allow: { and: [{ accept: true }] } }]];
    default:
      return ["{ a: { b: 1 } }", { a: { b: 1 } }];
  }
}

describe("readAnnotations()", () => {
  test.each(Object.entries(headerSettings))(
    "takes the header setting %s as an annotation of the same name and type",
    (name, [text, value]) => {
      const { settings, problems } = read({ [name]: text });

      expect(problems).toEqual([]);
      expect(settings).toEqual({ [name]: value });
    },
  );

  test("each header setting of a route has an annotation of its own name", () => {
    const named = routeFields
      .filter(({ name }) => name in headerSettings)
      .map(({ name, annotation }) => [name, annotation]);

    expect(named).toEqual(Object.keys(headerSettings).map((name) => [name, name]));
  });

  test.each(
    annotationFields
      .filter(({ field }) => field.kind !== "block" || !isNested(field))
      .map((each) => [each.name, each] as const),
  )("puts %s where the Field tree says, by its kind", (name, { path, field }) => {
    // A Secret's name is read elsewhere.
    if (name.endsWith("_secret")) return;
    const [text, value] = field.kind === "block" && !field.fields?.length ? ["true", {}] : sample(field);

    const { settings, problems } = read({ [name]: text });

    expect(problems).toEqual([]);
    expect(valueAt(settings, path)).toEqual(value);
  });

  test.each([
    ["a block", "X-A: one\nX-B: two\n"],
    ["one line", "{ X-A: one, X-B: two }"],
    ["JSON", '{"X-A":"one","X-B":"two"}'],
    ["an alias", "X-A: &a one\nX-B: two\n"],
  ])("takes YAML text of a map written as %s", (_, text) => {
    expect(read({ set_request_headers: text }).settings).toEqual({
      set_request_headers: { "X-A": "one", "X-B": "two" },
    });
  });

  test.each([
    ["remove_request_headers", "- [A", /not valid YAML/],
    ["set_request_headers", "X-A: one\nX-A: two\n", /"X-A" twice/],
    ["set_request_headers", "X-A: !!js/function 'x'", /YAML/],
    ["set_request_headers", "a: 1\n---\nb: 2\n", /second document/],
    ["policy", "a: &a [*a]", /alias/],
    ["mcp_server", "path: /mcp", /must be "true" or empty/],
    ["preserve_host_header", true, /must be text: write it in quotes/],
    ["mcp_server_max_request_bytes", 5, /must be text: write it in quotes/],
    ["secure_upstream", "yes", /must be "true" or "false"/],
    ["mcp_server_upstream_oauth2_secret", "Not A Name", /must be the name of a Secret/],
    ["timout", "30s", /not a known annotation, did you mean "timeout"/],
    ["client_secret", "hunter2", /not a known annotation/],
    ["from", "https://other.example.com", /not a known annotation/],
    ["to", "http://other", /not a known annotation/],
  ])("refuses %s: %j", (name, value, expected) => {
    const found = messages({ [name]: value });

    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(expected);
    expect(found[0]).not.toContain("hunter2");
  });

  test("ignores annotations of other tools, whatever their values", () => {
    const tools = {
      "kubernetes.io/ingress.class": "gateway",
      "kubectl.kubernetes.io/last-applied-configuration": '{"metadata":{"annotations":{"ingress.gateway.io/zzz":"1"}}}',
      "meta.helm.sh/release-name": "web",
      "argocd.argoproj.io/tracking-id": "web:networking.k8s.io/Ingress:shop/web",
      "cert-manager.io/cluster-issuer": "letsencrypt",
      "external-dns.alpha.kubernetes.io/hostname": "web.example.com",
      description: "",
      "example.com/odd": 5,
    };

    expect(readAnnotations(tools)).toMatchObject({ settings: {}, problems: [] });
  });

  test.each([
    "ingress.pomerium.io/policy",
    "nginx.ingress.kubernetes.io/whitelist-source-range",
    "ingress.gatewy.io/policy",
    "ingress.gateway.iox/name",
    "ingres.gateway.io/timeout",
    "gateway.io/policy",
  ])("says that %s is not read", (key) => {
    expect(readAnnotations({ [key]: "x" })).toMatchObject({
      settings: {},
      problems: [
        {
          severity: "warning",
          message: `has annotations that are ignored: "${key}"; those of this gateway start with "ingress.gateway.io/"`,
        },
      ],
    });
  });

  test("says it once of many", () => {
    const many = Array.from({ length: 7 }, (_, index) => [`ingress.pomerium.io/a${index}`, "x"]);

    const { problems } = readAnnotations(Object.fromEntries(many));

    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toContain('"ingress.pomerium.io/a4" and 2 more;');
  });

  test("accepts logo_url, and warns that nothing shows it", () => {
    expect(read({ logo_url: "x" }).problems).toMatchObject([{ severity: "warning", annotation: "logo_url" }]);
  });

  test("suggests the intended name for a misspelled annotation", () => {
    expect(messages({ set_request_header: "X-A: b" })).toEqual([
      'set_request_header is not a known annotation, did you mean "set_request_headers"?',
    ]);
    expect(messages({ lb_policy: "LEAST_REQUEST" })).toEqual([
      'lb_policy is not a known annotation, did you mean "load_balancing_policy"?',
    ]);
  });

  test.each(["LEAST_REQUEST", "Least_Request", "least_request"])("takes the choice %s in any case", (text) => {
    expect(read({ load_balancing_policy: text }).settings).toEqual({ load_balancing_policy: "least_request" });
  });

  test("rejects a server that is also a client, once, and keeps the server", () => {
    const { settings, problems } = read({ mcp_server: "", mcp_client: "true" });

    expect(problems.map(({ annotation }) => annotation)).toEqual(["mcp_client"]);
    expect(settings).toEqual({ mcp: { server: {} } });
  });

  test.each([
    ["in_header", "header"],
    ["in_params", "params"],
    ["header", "header"],
    ["params", "params"],
  ])("takes auth style %s as %s", (written, style) => {
    const { settings } = read({ mcp_server_upstream_oauth2_auth_style: written });

    expect(valueAt(settings, ["mcp", "server", "upstream_oauth2", "endpoint", "auth_style"])).toBe(style);
  });

  test.each([["a, b ,c"], ["- a\n- b\n- c"], ["[a, b, c]"]])("takes the scopes %j as a list", (text) => {
    const { settings } = read({ mcp_server_upstream_oauth2_scopes: text });

    expect(valueAt(settings, ["mcp", "server", "upstream_oauth2", "scopes"])).toEqual(["a", "b", "c"]);
  });

  test("treats mcp_server false as absent, and reports it next to server settings", () => {
    expect(read({ mcp_server: "false" }).settings).toEqual({});
    expect(messages({ mcp_server: "false", mcp_server_path: "/mcp" })[0]).toMatch(
      /"false" together with .*mcp_server_path/,
    );
  });

  test("drops the line break at the end of a block scalar and nothing else of a text", () => {
    expect(read({ host_rewrite: "a.example.com\n" }).settings).toEqual({ host_rewrite: "a.example.com" });
    expect(read({ host_rewrite: " a.example.com" }).settings).toEqual({ host_rewrite: " a.example.com" });
  });
});

/** Filled by annotations of its members. */
function isNested(field: Field): boolean {
  return (field.fields ?? []).some((member) => member.annotation !== undefined || isNested(member));
}
