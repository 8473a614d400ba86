import { describe, expect, test } from "vitest";

import { NO_GATEWAY_API } from "../../../../runtime/kubernetes/translate/gateway-api/objects.ts";
import { formatIngressProblem } from "../../../../runtime/kubernetes/translate/ingress-problem.ts";
import { readManifests } from "../../../../runtime/kubernetes/translate/manifests.ts";
import {
  translate,
  type TranslateOptions,
  type Translation,
} from "../../../../runtime/kubernetes/translate/translate.ts";
import { makeTestCertificate } from "../../../support/certificates.ts";

const BASE = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: gateway }
spec: { controllerName: ingress.gateway.io/controller }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: main, namespace: shop }
spec: { gatewayClassName: gateway, listeners: [{ name: http, port: 80, protocol: HTTP }] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { ports: [{ port: 80 }] }
---
`;

function translated(yaml: string, options: TranslateOptions = {}): Promise<Translation> {
  const { objects, problems } = readManifests([{ file: "a.yaml", text: BASE + yaml }]);
  expect(problems).toEqual([]);
  return translate(objects, options);
}

function route(spec: object, kind = "HTTPRoute"): string {
  const object = { apiVersion: "gateway.networking.k8s.io/v1", kind, metadata: { name: "a", namespace: "shop" }, spec };
  return JSON.stringify(object);
}

const parentRefs = [{ name: "main" }];
const backendRefs = [{ name: "web", port: 80 }];

describe("translate() with the Gateway API", () => {
  test.each([
    [route({ parentRefs: "main" }), 'HTTPRoute shop/a: error: "spec.parentRefs" is text, must be a list'],
    [
      route({ parentRefs, rules: [{ matches: [{ headers: [{ name: "x" }] }] }] }),
      '"spec.rules[0].matches[0].headers[0].value" is missing',
    ],
    [
      route({ parentRefs, rules: [{ matches: [{ method: { service: 5 } }] }] }, "GRPCRoute"),
      'GRPCRoute shop/a: error: "spec.rules[0].matches[0].method.service"',
    ],
    [
      route({ parentRefs, rules: [{ filters: [{ type: "URLRewrite", urlRewrite: [] }] }] }),
      '"spec.rules[0].filters[0].urlRewrite"',
    ],
    [route({ listeners: [{ name: "x" }] }, "Gateway"), 'Gateway shop/a: error: "spec.listeners[0].port" is missing'],
    [route({ validation: { caCertificateRefs: {} } }, "BackendTLSPolicy"), '"spec.validation.caCertificateRefs"'],
  ])("does not read %s", async (yaml, problem) => {
    const { problems, slices } = await translated(yaml);
    expect(problems.map(formatIngressProblem).join()).toContain(problem);
    expect(slices).toEqual([]);
  });

  test("with --plain-http, serves public routes by the protocol of each listener, and others by HTTPS only", async () => {
    const listeners = [
      { name: "http", port: 80, protocol: "HTTP" },
      { name: "more", port: 8080, protocol: "HTTP" },
      { name: "https", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "pair" }] } },
    ];
    const gateway = route({ gatewayClassName: "gateway", listeners }, "Gateway");
    const to = (name: string, hostname: string): string =>
      route({ parentRefs: [{ name }], hostnames: [hostname], rules: [{ backendRefs }] });
    const settings = { allow_public_unauthenticated_access: true };
    const open = JSON.stringify({
      apiVersion: "ingress.gateway.io/v1alpha1",
      kind: "GatewayRoutePolicy",
      metadata: { name: "open", namespace: "shop" },
      spec: { targetRefs: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", name: "a" }], settings },
    });
    const translate = async (...yaml: readonly string[]): Promise<readonly string[]> => {
      const { slices, problems } = await translated([gateway, ...yaml].join("\n---\n"), { plainHttp: true });
      const from = slices.flatMap(({ routes }) => Object.values(routes).map((each) => each.from));
      return [
        ...from.toSorted(),
        ...problems.filter(({ severity }) => severity === "error").map(({ message }) => message),
      ];
    };

    expect(await translate(to("a", "x.example.com"), open)).toEqual([
      "http://x.example.com:80",
      "http://x.example.com:8080",
      "https://x.example.com",
    ]);
    expect(await translate(to("a", "x.example.com"))).toEqual(["https://x.example.com"]);
    expect(await translate(to("main", "x.example.com"))).toEqual([expect.stringContaining("serve public routes")]);
  });

  test("a Gateway has the addresses that it names, if they are the gateway's", async () => {
    const named = (...values: readonly string[]): string =>
      JSON.stringify({
        apiVersion: "gateway.networking.k8s.io/v1",
        kind: "Gateway",
        metadata: { name: "named", namespace: "shop" },
        spec: {
          gatewayClassName: "gateway",
          addresses: values.map((value) => ({ value })),
          listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
        },
      });
    const translate = async (...values: readonly string[]): Promise<readonly string[]> => {
      const yaml = `${named(...values)}\n---\n${route({ parentRefs: [{ name: "named" }], rules: [{ backendRefs }] })}`;
      const { slices, problems } = await translated(yaml, { addresses: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }] });
      const from = slices.flatMap(({ routes }) => Object.values(routes).map((each) => each.from));
      return [
        ...from,
        ...problems.filter(({ message }) => message.includes("no address")).map(({ message }) => message),
      ];
    };
    expect(await translate()).toEqual(["https://10.0.0.1", "https://10.0.0.2"]);
    expect(await translate("10.0.0.2", "10.9.9.9")).toEqual(["https://10.0.0.2"]);
    expect(await translate("10.9.9.9")).toEqual([expect.stringContaining("the Gateway has no address")]);
  });

  test("omits a route that is larger than the configuration of its namespace can be", async () => {
    const matches = Array.from({ length: 64 }, (_, index) => ({ path: { value: `/${"p".repeat(900)}${index}` } }));
    const rules = Array.from({ length: 16 }, (_, index) => ({
      matches: matches.map(({ path }) => ({ path: { value: `/${index}${path.value}` } })),
      backendRefs,
    }));
    const hostnames = Array.from({ length: 16 }, (_, index) => `h${index}.example.com`);
    const { problems, slices } = await translated(route({ parentRefs, hostnames, rules }));

    expect(problems.map(({ message }) => message)).toContainEqual(expect.stringContaining("larger than 8 MiB"));
    expect(slices).toEqual([]);
  });

  test("reads no more Secrets and ConfigMaps for a namespace than one with Ingresses", async () => {
    const of = (kind: string, name: string, spec: object): string =>
      JSON.stringify({
        apiVersion: "gateway.networking.k8s.io/v1",
        kind,
        metadata: { name, namespace: "evil" },
        spec,
      });
    const many = (count: number, ref: object = {}) =>
      Array.from({ length: count }, (_, index) => ({ ...ref, name: `n${index}` }));
    const listener = { name: "a", port: 443, protocol: "HTTPS", tls: { certificateRefs: many(1100) } };
    const policies = Array.from({ length: 2 }, (_, policy) =>
      of("BackendTLSPolicy", `p${policy}`, {
        validation: { hostname: "x", caCertificateRefs: many(1100, { group: "", kind: "ConfigMap" }) },
      }),
    );
    const gateway = of("Gateway", "wide", { gatewayClassName: "gateway", listeners: [listener] });
    const small = { ...listener, tls: { certificateRefs: [{ name: "own" }] } };
    const other = route({ gatewayClassName: "gateway", listeners: [small] }, "Gateway");
    const { secrets, configMaps } = await translated([gateway, other, ...policies].join("\n---\n"));

    expect([secrets.length, configMaps.length]).toEqual([1001, 1000]);
    expect(secrets).toContain("shop/own");
  });

  test("shows a bounded number of certificates of one route", async () => {
    const pair = makeTestCertificate({ name: "x", dns: ["*.example.com"] });
    const secret = (index: number): string =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: `s${index}`, namespace: "shop" },
        stringData: { "tls.crt": pair.cert, "tls.key": pair.key },
      });
    const listeners = Array.from({ length: 64 }, (_, index) => ({
      name: `l${index}`,
      port: 1000 + index,
      protocol: "HTTPS",
      tls: { certificateRefs: Array.from({ length: 64 }, (__, at) => ({ name: `s${at}` })) },
    }));
    const gateway = route({ gatewayClassName: "gateway", listeners }, "Gateway").replace('"a"', '"wide"');
    const hostnames = Array.from({ length: 16 }, (_, index) => `h${index}.example.com`);
    const one = route({ parentRefs: [{ name: "wide" }], hostnames, rules: [{ backendRefs }] });
    const secrets = Array.from({ length: 64 }, (_, index) => secret(index));
    let sealed = 0;
    const seal = (): Promise<string> => Promise.resolve(String((sealed += 1)));
    const { objects } = readManifests([{ file: "a.yaml", text: BASE + [gateway, one, ...secrets].join("\n---\n") }]);
    const { slices } = await translate(objects, { seal });

    expect(sealed).toBe(64);
    expect(Object.keys(slices[0]?.settings?.host_certificates ?? {})).toHaveLength(16);
  });

  test("reads a policy once for the many Gateways and rules of one route", async () => {
    const gateways = Array.from({ length: 32 }, (_, index) => {
      const listeners = [{ name: "a", port: 2000 + index, protocol: "HTTP" }];
      return route({ gatewayClassName: "gateway", listeners }, "Gateway").replace('"a"', `"g${index}"`);
    });
    const rules = Array.from({ length: 16 }, (_, index) => ({ matches: [{ path: { value: `/${index}` } }] }));
    const refs = gateways.map((_, index) => ({ name: `g${index}` }));
    const one = route({ parentRefs: refs, hostnames: ["h.example.com"], rules });
    const policy = JSON.stringify({
      apiVersion: "ingress.gateway.io/v1alpha1",
      kind: "GatewayRoutePolicy",
      metadata: { name: "p", namespace: "shop" },
      spec: { targetRefs: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", name: "a" }] },
    });
    const text = BASE + [...gateways, one, policy].join("\n---\n");
    const { objects } = readManifests([{ file: "a.yaml", text }]);
    let reads = 0;
    const ownKeys = (settings: object): string[] => {
      reads += 1;
      return Object.keys(settings);
    };
    const settings = new Proxy<Record<string, unknown>>({ allow_any_authenticated_user: true }, { ownKeys });
    const [read] = objects.gatewayApi?.routePolicies ?? [];
    const routePolicies = [{ ...read, metadata: { name: "p", namespace: "shop" }, spec: { ...read?.spec, settings } }];
    const { slices } = await translate({
      ...objects,
      gatewayApi: { ...(objects.gatewayApi ?? NO_GATEWAY_API), routePolicies },
    });

    const routes = Object.values(slices[0]?.routes ?? {});
    expect(routes).toHaveLength(512);
    for (const each of routes) expect(each).toMatchObject({ allow_any_authenticated_user: true });
    // The check of its shape reads it as well.
    expect(reads).toBeLessThanOrEqual(2);
  });
});
