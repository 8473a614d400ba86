/** Promises of a translation for any objects. */
import { describe, expect, test } from "vitest";

import { formatProblem, loadSlices } from "../../../../runtime/config/load.ts";
import { conflict, formatPath } from "../../../../runtime/settings/problem.ts";
import { readSource } from "../../../../runtime/settings/source.ts";
import { terminalText } from "../../../../runtime/shared/json/foreign-text.ts";
import { readManifests } from "../../../../runtime/kubernetes/translate/manifests.ts";
import type { KubeObjects } from "../../../../runtime/kubernetes/translate/objects.ts";
import { formatIngressProblem } from "../../../../runtime/kubernetes/translate/ingress-problem.ts";
import { renderProblems, renderSlices } from "../../../../runtime/kubernetes/render.ts";
import { routeName } from "../../../../runtime/kubernetes/translate/route-name.ts";
import {
  translate,
  type TranslateOptions,
  type Translation,
} from "../../../../runtime/kubernetes/translate/translate.ts";
import { ingress, nothing, service } from "../../../support/kube-manifests.ts";

async function translated(objects: Partial<KubeObjects>, options: TranslateOptions = {}): Promise<Translation> {
  return translate({ ...nothing, services: [service("web")], ...objects }, options);
}

function texts({ problems }: Translation): readonly string[] {
  return problems.filter(({ severity }) => severity === "error").map(formatIngressProblem);
}

function accepted(translation: Translation): readonly string[] {
  const sources = translation.slices.map((slice) => {
    return { file: slice.owner, text: JSON.stringify(slice), boot: false } as const;
  });
  const { config, problems } = loadSlices(sources);
  if (!config) throw new Error(problems.map(formatProblem).join("\n"));
  return config.routes.map(({ key }) => key);
}

const good = ingress("good", { host: "good.example.com" });

describe("translate()", () => {
  test("leaves out a bad Ingress and serves the others", async () => {
    const bad = ingress("bad", { host: "bad.example.com", annotations: { timeout: "soon" } });

    const translation = await translated({ ingresses: [bad, good] });

    expect(accepted(translation)).toEqual(["kubernetes.shop/shop.good:good.example.com"]);
    expect(texts(translation)).toEqual([
      'Ingress shop/bad: error: annotation "ingress.gateway.io/timeout" is "soon", must be a duration such as "30s", "5m", "1h30m" or "90d"',
    ]);
  });

  test("prints nothing that an author wrote to steer a terminal, to hide or to begin a line", async () => {
    const evil = "a\u001b]0;b\u0007\u009b31m\u202ec\u2028\u{e0041}\nIngress d";
    const bad = ingress(evil, { host: "bad.example.com", annotations: { [evil]: evil } });
    const other = ingress(evil, { host: "b.example.com" });
    const policy = JSON.stringify([{ allow: { and: [{ groups: { has: evil } }] } }]);
    const served = ingress("good", { host: "good.example.com", annotations: { policy } });
    const translation = await translated({
      ingresses: [bad, { ...other, spec: { ...other.spec, ingressClassName: evil } }, served],
    });
    const told = renderProblems(translation);
    expect(told).toBe(terminalText(told));
    expect(told).not.toMatch(/^Ingress d/m);
    const yaml = renderSlices(translation, "yaml");
    expect(yaml).toBe(terminalText(yaml));
    expect(accepted(translation)).toEqual(["kubernetes.shop/shop.good:good.example.com"]);
    expect(JSON.stringify(readSource("slice", yaml).value)).toContain(JSON.stringify(evil));
  });

  test("reports all problems of an Ingress together", async () => {
    const bad = ingress("bad", {
      host: "bad.example.com",
      annotations: { timeout: "soon", zzz: "1", set_request_headers: "Host: a" },
    });

    expect(texts(await translated({ ingresses: [bad] }))).toHaveLength(3);
  });

  test.each([
    ["nested deeper than a slice may be", `${"[".repeat(62)}${"]".repeat(62)}`],
    ["nested as deep as text can be", "[".repeat(20_000)],
    ["the name of what every object inherits", "__proto__: { polluted: true }"],
    ["a number that JSON cannot carry", "a: 9007199254740993"],
  ])("a value that is %s changes nothing for the others", async (_, text) => {
    const bad = ingress("bad", { host: "bad.example.com", annotations: { set_request_headers: text } });

    const translation = await translated({ ingresses: [bad, good] });

    expect(accepted(translation)).toEqual(["kubernetes.shop/shop.good:good.example.com"]);
    expect(texts(translation).length).toBeGreaterThan(0);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("gives requests that two Ingresses claim to the older one", async () => {
    const newer = ingress("a", { host: "same.example.com", createdAt: "2026-02-01T00:00:00Z" });
    const older = ingress("b", { host: "same.example.com", createdAt: "2026-01-01T00:00:00Z" });

    const translation = await translated({ ingresses: [newer, older] });

    expect(accepted(translation)).toEqual(["kubernetes.shop/shop.b:same.example.com"]);
    expect(texts(translation)[0]).toContain("Ingress shop/a: error:");
    expect(texts(translation)[0]).toContain("leads to the same requests as Ingress shop/b");
  });

  test("an Ingress that is bad takes no request from a newer good one", async () => {
    const older = ingress("a", {
      host: "same.example.com",
      createdAt: "2026-01-01T00:00:00Z",
      annotations: { timeout: "x" },
    });
    const newer = ingress("b", { host: "same.example.com", createdAt: "2026-02-01T00:00:00Z" });

    expect(accepted(await translated({ ingresses: [older, newer] }))).toEqual([
      "kubernetes.shop/shop.b:same.example.com",
    ]);
  });

  test("does not depend on the order of objects", async () => {
    const many = ["a", "b", "c", "d"].map((name) => ingress(name, { host: `${name}.example.com` }));

    const one = await translated({ ingresses: many });
    const other = await translated({ ingresses: many.toReversed() });

    expect(renderSlices(other, "json")).toBe(renderSlices(one, "json"));
  });

  test("a route keeps its name when other paths are added and removed", async () => {
    const before = await translated({ ingresses: [ingress("web", { host: "a.example.com", paths: ["/b"] })] });
    const after = await translated({
      ingresses: [ingress("web", { host: "a.example.com", paths: ["/a", "/b", "/"] })],
    });

    expect(accepted(after)).toEqual(expect.arrayContaining([...accepted(before)]));
  });

  test("seals values of Secrets: no value is in the slice or in a message", async () => {
    const annotations = { mcp_server: "true", mcp_server_upstream_oauth2_secret: "oauth" };
    const secret = {
      metadata: { name: "oauth", namespace: "shop" },
      data: { client_id: btoa("gateway"), client_secret: btoa("hunter2\n") },
    };
    const sealed: string[] = [];
    const seal = async (value: string): Promise<string> => `sealed-${sealed.push(value)}`;

    const translation = await translated(
      { ingresses: [ingress("mcp", { host: "mcp.example.com", annotations })], secrets: [secret] },
      { seal },
    );

    expect(sealed).toEqual(["hunter2"]);
    expect(translation.slices[0]?.routes["shop.mcp:mcp.example.com"]?.mcp?.server?.upstream_oauth2).toEqual({
      client_id: "gateway",
      client_secret_sealed: "sealed-1",
    });
    expect(JSON.stringify([translation.slices, translation.problems])).not.toMatch(/hunter2|aHVudGVyMg/);
    expect(translation.secrets).toEqual(["shop/oauth"]);
  });

  test("without the gateway's key an Ingress with secrets is omitted, the others are served", async () => {
    const annotations = { mcp_server: "true", mcp_server_upstream_oauth2_secret: "oauth" };
    const secret = {
      metadata: { name: "oauth", namespace: "shop" },
      stringData: { client_id: "a", client_secret: "hunter2" },
    };

    const translation = await translated({
      ingresses: [good, ingress("mcp", { host: "mcp.example.com", annotations })],
      secrets: [secret],
    });

    expect(accepted(translation)).toEqual(["kubernetes.shop/shop.good:good.example.com"]);
    expect(texts(translation)[0]).toContain("the gateway's key is not known");
  });

  test("never takes a Secret of another namespace", async () => {
    const annotations = { mcp_server: "true", mcp_server_upstream_oauth2_secret: "oauth" };
    const secret = { metadata: { name: "oauth", namespace: "other" }, stringData: { client_id: "a" } };

    const translation = await translated({
      ingresses: [ingress("mcp", { host: "mcp.example.com", annotations })],
      secrets: [secret],
    });

    expect(texts(translation)[0]).toContain("there is no Secret shop/oauth");
  });

  test("omits Ingresses that the gateway itself rejected", async () => {
    const other = ingress("other", { host: "other.example.com" });
    const refused = new Map([["shop/other", [{ severity: "error", message: "may not serve that host" } as const]]]);

    const translation = await translated({ ingresses: [good, other] }, { refused });

    expect(accepted(translation)).toEqual(["kubernetes.shop/shop.good:good.example.com"]);
    expect(texts(translation)).toEqual(["Ingress shop/other: error: may not serve that host"]);
  });

  test("gives a gateway's problems back to their Ingresses", async () => {
    const translation = await translated({ ingresses: [good] });
    const path = ["routes", "shop.good:good.example.com", "from"];

    const { found, others } = translation.assign([
      { severity: "error", owner: "kubernetes.shop", path, message: "is taken" },
      { severity: "error", owner: undefined, path: ["settings", "idp_client_id"], message: "is bad" },
    ]);

    expect([...found]).toEqual([
      ["shop/good", [{ severity: "error", path: "spec.rules[0].host", message: "is taken" }]],
    ]);
    expect(others.map(({ message }) => message)).toEqual(["is bad"]);
  });

  test("names the Ingress instead of a route that a gateway names, and only its own", async () => {
    const translation = await translated({ ingresses: [good] });
    const path = ["routes", "shop.good:good.example.com"];

    const { found } = translation.assign(
      ["published:kubernetes.shop", "published:other"].map((file) => {
        const problem = conflict([...path, "from"], { file, path }, "leads to the same requests as ", ", must differ");
        return { owner: "kubernetes.shop", ...problem };
      }),
    );

    expect(found.get("shop/good")?.map(({ message }) => message)).toEqual([
      "leads to the same requests as Ingress shop/good, must differ",
      `leads to the same requests as "${formatPath(path)}" in published:other, must differ`,
    ]);
  });

  test("a problem with a whole slice is reported for every Ingress of its namespace, and no other", async () => {
    const other = ingress("web", { host: "blog.example.com", namespace: "blog" });
    const translation = await translated({
      services: [service("web"), service("web", "blog")],
      ingresses: [good, other],
    });

    const { found, others } = translation.assign([
      { severity: "error", owner: "kubernetes.blog", path: ["owner"], message: "has no rights" },
    ]);

    expect([...found]).toEqual([
      ["blog/web", [{ severity: "error", message: 'the gateway rejects its namespace: "owner" has no rights' }]],
    ]);
    expect(others).toEqual([]);
  });

  test("makes a slice for each namespace", async () => {
    const other = ingress("web", { host: "blog.example.com", namespace: "blog" });
    const translation = await translated({
      services: [service("web"), service("web", "blog")],
      ingresses: [good, other, ingress("bad", { host: "bad.example.com", namespace: "empty" })],
    });

    expect(translation.slices.map(({ owner }) => owner)).toEqual(["kubernetes.blog", "kubernetes.shop"]);
    expect(accepted(translation)).toEqual([
      "kubernetes.blog/blog.web:blog.example.com",
      "kubernetes.shop/shop.good:good.example.com",
    ]);
  });

  test("knows its class by name, by controller and as the cluster's default", async () => {
    const controller = "ingress.gateway.io/controller";
    const mark = { "ingressclass.kubernetes.io/is-default-class": "true" };
    const classes = [
      { metadata: { name: "internal" }, spec: { controller } },
      { metadata: { name: "main", annotations: mark }, spec: { controller } },
      { metadata: { name: "nginx" }, spec: { controller: "k8s.io/ingress-nginx" } },
    ];
    const names = ["internal", "main", "gateway", "nginx", undefined];
    const ingresses = names.map((name, index) =>
      ingress(`i${index}`, { host: `i${index}.example.com`, ingressClass: name }),
    );

    const keys = async (ingressClasses: KubeObjects["ingressClasses"]): Promise<readonly string[]> =>
      (await translated({ ingresses, ingressClasses })).ingresses.map(({ key }) => key);

    expect(await keys(classes)).toEqual(["shop/i0", "shop/i1", "shop/i2", "shop/i4"]);
    expect(await keys([])).toEqual(["shop/i2"]);
    expect(await keys([{ metadata: { name: "gateway" }, spec: { controller: "example.com/other" } }])).toEqual([]);
  });

  test("serves users over http, on another port, for a gateway with such a listener", async () => {
    const { slices } = await translated(
      { ingresses: [good] },
      { scheme: "http", port: 8080, owner: "team", clusterDomain: "corp" },
    );

    expect(slices).toMatchObject([{ owner: "team.shop" }]);
    expect(slices[0]?.routes["shop.good:good.example.com"]).toMatchObject({
      from: "http://good.example.com:8080",
      to: "http://web.shop.svc.corp:80",
    });
  });

  test("a thousand Ingresses take less than a few seconds", { timeout: 20_000 }, async () => {
    const ingresses = Array.from({ length: 1000 }, (_, index) =>
      ingress(`i${index}`, { host: `h${index}.example.com` }),
    );

    const translation = await translated({ ingresses });

    expect(translation.ingresses.every(({ served }) => served)).toBe(true);
  });
});

test("an Ingress with a mistake in each of its thousands of paths costs no more than its length", async () => {
  const made = ingress("web", { host: "web.example.com", annotations: { path_regex: "true" } });
  const [rule] = made.spec?.rules ?? [];
  const [first] = rule?.http?.paths ?? [];
  // Quadratic, it takes minutes.
  const paths = Array.from({ length: 16_000 }, (_, index) => {
    return { ...first, path: `/(${index}`, pathType: "ImplementationSpecific" };
  });
  const translation = await translated({
    ingresses: [{ ...made, spec: { ...made.spec, rules: [{ ...rule, http: { paths } }] } }],
  });

  expect(translation.problems).toHaveLength(101);
  expect(translation.problems.at(-1)?.message).toBe("has 15900 more routes, not checked: there are too many problems");
});

describe("routeName()", () => {
  const place = { namespace: "shop", ingress: "web", host: "a.example.com", path: "/api", kind: "prefix" } as const;

  test("is short and describes the route", () => {
    expect(routeName(place)).toBe("shop.web:a.example.com:api");
    expect(routeName({ ...place, path: "" })).toBe("shop.web:a.example.com");
    expect(routeName({ ...place, kind: "exact" })).toBe("shop.web:a.example.com:api (exact)");
  });

  test("differs for paths that look alike", () => {
    const paths = ["/a/b", "/a:b", "/a-b", "/a%2Fb", "/a/b/", "//a/b", "/a~b", "/a b", "", "/"];
    const names = paths.flatMap((path) =>
      (["exact", "prefix"] as const).map((kind) => routeName({ ...place, path, kind })),
    );

    expect(new Set(names).size).toBe(names.length);
  });

  test("differs and stays within bounds for long names", () => {
    const one = routeName({ ...place, ingress: "x".repeat(253), path: "/a" });
    const other = routeName({ ...place, ingress: "x".repeat(253), path: "/b" });

    expect(one.length).toBeLessThanOrEqual(100);
    expect(one).not.toBe(other);
  });
});

describe("readManifests()", () => {
  test.each([
    ["broken YAML", "a: [", /manifest\.yaml:\d+: is not valid YAML/],
    ["a list of nothing known", "- 1", /is not a Kubernetes object/],
    ["an object without kind", "metadata: { name: a }", /without a "kind"/],
    [
      "an old version",
      "kind: Ingress\napiVersion: extensions/v1beta1\nmetadata: { name: a }",
      /must be "networking.k8s.io\/v1"/,
    ],
    ["no name", "kind: Ingress\napiVersion: networking.k8s.io/v1", /no "metadata.name"/],
    [
      "the same twice",
      "kind: Service\napiVersion: v1\nmetadata: { name: a }\n---\nkind: Service\napiVersion: v1\nmetadata: { name: a }",
      /must be there once/,
    ],
    [
      "too many aliases",
      `a: &a [1,1,1,1,1,1,1,1,1]\n${"bcdefgh"
        .split("")
        .map((key, i) => `${key}: &${key} [${Array(9).fill(`*${"abcdefgh"[i]}`).join()}]`)
        .join("\n")}`,
      /aliases/,
    ],
  ])("refuses %s", (_, text, expected) => {
    expect(readManifests([{ file: "manifest.yaml", text }]).problems.join("\n")).toMatch(expected);
  });

  test("reads documents, lists and JSON, and ignores other kinds", () => {
    const text = `
kind: Deployment
apiVersion: apps/v1
metadata: { name: web }
---
# nothing
---
{"kind": "ServiceList", "apiVersion": "v1", "items": [{"metadata": {"name": "web"}}]}`;

    expect(readManifests([{ file: "a", text }])).toMatchObject({
      problems: [],
      objects: { services: [{ kind: "Service" }] },
    });
  });

  test("a Service of the wrong shape is a problem of Ingresses that name it, not of the program", async () => {
    for (const spec of [{ ports: 5 }, { ports: [5, null] }, null, { type: "ExternalName", externalName: 5 }]) {
      const broken = { kind: "Service", apiVersion: "v1", metadata: { name: "web", namespace: "shop" }, spec };
      const { objects } = readManifests([{ file: "a", text: JSON.stringify(broken) }]);

      const translation = await translated({ services: objects.services, ingresses: [good] });

      expect(translation.ingresses).toEqual([{ key: "shop/good", served: false }]);
    }
  });
});
