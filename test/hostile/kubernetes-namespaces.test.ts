/** Attacks on other namespaces by an author of Ingresses and Services in one namespace. */
import { describe, expect, test } from "vitest";

import { readHostList } from "../../runtime/kubernetes/translate/hosts/host-list.ts";
import type { Ingress, KubeObjects, Service } from "../../runtime/kubernetes/translate/objects.ts";
import { formatIngressProblem } from "../../runtime/kubernetes/translate/ingress-problem.ts";
import { translate, type TranslateOptions } from "../../runtime/kubernetes/translate/translate.ts";
import { ingress, nothing, service } from "../support/kube-manifests.ts";

const OLD = "2026-01-01T00:00:00Z";
const NEW = "2026-02-01T00:00:00Z";

/** Served Ingresses, and the messages for the authors of the others. */
async function translated(objects: Partial<KubeObjects>, options: TranslateOptions = {}) {
  const services = [service("web", "shop"), service("web", "evil"), service("web", "blog")];
  const { ingresses, problems } = await translate({ ...nothing, services, ...objects }, options);
  const served = ingresses.filter((each) => each.served).map(({ key }) => key);
  const errors = problems.filter(({ severity }) => severity === "error").map(formatIngressProblem);
  return { served: served.toSorted(), errors };
}

const of = (namespace: string, host: string, createdAt: string, more: object = {}): Ingress =>
  ingress("web", { namespace, host, createdAt, ...more });

describe("a host of another namespace", () => {
  test("is not claimed by an Exact path next to its Ingress", async () => {
    const { served, errors } = await translated({
      ingresses: [
        of("shop", "www.example.com", OLD),
        of("evil", "www.example.com", NEW, { paths: ["/login"], pathType: "Exact" }),
      ],
    });

    expect(served).toEqual(["shop/web"]);
    expect(errors).toEqual([
      'Ingress evil/web: error: "spec.rules[0].host" is "www.example.com", which belongs to namespace shop: its Ingress shop/web is the oldest that names it',
    ]);
  });

  test.each([
    ["a wildcard over a host of others", "shop.example.com", "*.example.com"],
    ["a wildcard over a wildcard of others", "*.shop.example.com", "*.example.com"],
    ["a host below a wildcard of others", "*.example.com", "login.example.com"],
    ["a host deep below a wildcard of others", "*.example.com", "a.b.example.com"],
    ["a wildcard below a wildcard of others", "*.example.com", "*.login.example.com"],
    ["the same wildcard", "*.example.com", "*.example.com"],
    ["the host in other letters", "shop.example.com", "SHOP.example.com"],
    ["the host with a dot behind", "shop.example.com", "shop.example.com."],
  ])("is not claimed by %s", async (_, older, newer) => {
    const { served, errors } = await translated({
      ingresses: [of("evil", newer, NEW, { paths: ["/login"] }), of("shop", older, OLD)],
    });

    expect(served).toEqual(["shop/web"]);
    expect(errors[0]).toContain("namespace shop");
  });

  test("is not free for others while its owner's Ingress is broken", async () => {
    const { served } = await translated({
      ingresses: [
        of("shop", "www.example.com", OLD, { annotations: { timeout: "soon" } }),
        of("evil", "www.example.com", NEW),
      ],
    });

    expect(served).toEqual([]);
  });

  test("is not claimed by a default backend", async () => {
    const backend = { service: { name: "web", port: { number: 80 } } };
    const evil: Ingress = { ...of("evil", "", NEW), spec: { ingressClassName: "gateway", defaultBackend: backend } };

    for (const spec of [
      { ...evil.spec, tls: [{ hosts: ["www.example.com"] }] },
      { ...evil.spec, rules: [{ host: "www.example.com" }] },
    ]) {
      const { served } = await translated({ ingresses: [of("shop", "www.example.com", OLD), { ...evil, spec }] });
      expect(served).toEqual(["shop/web"]);
    }
  });

  test("goes by namespace, then name, where two are equally old", async () => {
    // "a-b/…" comes before "a/…" as text, and after it by namespace.
    const services = [service("web", "a"), service("web", "a-b")];
    const ingresses = [of("a-b", "www.example.com", OLD), of("a", "www.example.com", OLD)];

    expect((await translated({ services, ingresses })).served).toEqual(["a/web"]);
    expect((await translated({ services, ingresses: ingresses.toReversed() })).served).toEqual(["a/web"]);
  });

  test("goes to the next oldest when its owner leaves", async () => {
    const others = [of("blog", "www.example.com", NEW), of("evil", "www.example.com", "2026-03-01T00:00:00Z")];

    expect((await translated({ ingresses: [of("shop", "www.example.com", OLD), ...others] })).served).toEqual([
      "shop/web",
    ]);
    expect((await translated({ ingresses: others })).served).toEqual(["blog/web"]);
  });

  test("a rejected host claims nothing: overlapping hosts stay free", async () => {
    const { served } = await translated({
      ingresses: [
        of("shop", "shop.example.com", OLD),
        of("evil", "*.example.com", NEW),
        of("blog", "blog.example.com", "2026-03-01T00:00:00Z"),
      ],
    });

    expect(served).toEqual(["blog/web", "shop/web"]);
  });
});

describe("a host on the operator's list", () => {
  const hosts = readHostList("hosts.yaml", 'www.example.com: [shop, blog]\n"*.apps.example.com": [shop]\n');

  test("is shared by the listed namespaces only, regardless of age", async () => {
    const { served, errors } = await translated(
      {
        ingresses: [
          of("evil", "www.example.com", "2025-01-01T00:00:00Z"),
          of("shop", "www.example.com", OLD, { paths: ["/shop"] }),
          of("blog", "www.example.com", NEW, { paths: ["/blog"] }),
        ],
      },
      { hosts },
    );

    expect(served).toEqual(["blog/web", "shop/web"]);
    expect(errors).toEqual([
      'Ingress evil/web: error: "spec.rules[0].host" is "www.example.com", but the operator gives "www.example.com" to shop, blog, not to namespace evil',
    ]);
  });

  test.each(["a.apps.example.com", "a.b.apps.example.com", "*.apps.example.com", "*.a.apps.example.com"])(
    "with a wildcard is closed to others: %s",
    async (host) => {
      expect((await translated({ ingresses: [of("evil", host, OLD)] }, { hosts })).served).toEqual([]);
      expect((await translated({ ingresses: [of("shop", host, OLD)] }, { hosts })).served).toEqual(["shop/web"]);
    },
  );

  test.each(["*.example.com", "*.com"])("is not walked around by a wildcard that covers it: %s", async (host) => {
    expect((await translated({ ingresses: [of("evil", host, OLD)] }, { hosts })).served).toEqual([]);
  });

  test("without namespaces is closed to all", async () => {
    const none = readHostList("hosts.yaml", "www.example.com: []");

    expect((await translated({ ingresses: [of("shop", "www.example.com", OLD)] }, { hosts: none })).served).toEqual([]);
  });

  test.each([
    ["no list", "- a", /must name hosts/],
    ["a host that is none", '"https://a": [shop]', /must be a host name/],
    ["a namespace that is none", "a.example.com: [Shop]", /must be a list of namespaces/],
    ["one host in two spellings", "a.example.com: [shop]\nA.example.com: [blog]", /twice/],
  ])("with %s is refused", (_, text, message) => {
    expect(() => readHostList("hosts.yaml", text)).toThrow(message);
  });
});

describe("input too large for one request", () => {
  test("leaves out the Ingresses of that namespace that do not fit, the newest first, and no others", async () => {
    const paths = Array.from({ length: 2_000 }, (_, index) => `/p${index}`);
    const long = { set_response_headers: `X-Long: ${"x".repeat(100_000)}` };
    const large = of("evil", "evil.example.com", OLD, { paths, annotations: long });
    const { served, errors } = await translated({
      ingresses: [
        of("evil", "small.evil.example.com", OLD),
        { ...large, metadata: { ...large.metadata, name: "large", creationTimestamp: NEW } },
        of("shop", "www.example.com", "2026-03-01T00:00:00Z"),
      ],
    });

    expect(served).toEqual(["evil/web", "shop/web"]);
    expect(errors).toEqual([
      "Ingress evil/large: error: makes the configuration of namespace evil larger than 8 MiB, must have fewer paths or shorter annotations",
    ]);
  });
});

describe("the cost of one Ingress", () => {
  const annotation = (members: number): string =>
    JSON.stringify(Object.fromEntries(Array.from({ length: members }, (_, at) => [`idle_timeou${at}`, 1])));

  test("9,000 unknown members on 36 paths are reported in short, without blocking the event loop", async () => {
    let rounds = 0;
    let isOver = false;
    const count = (): void => {
      rounds += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const paths = Array.from({ length: 36 }, (_, at) => `/p${at}`);
    const health = { health_checks: `[${annotation(9_000)}]` };
    const { problems, ingresses } = await translate({
      ...nothing,
      services: [service("web", "shop"), service("web", "evil")],
      ingresses: [
        of("evil", "evil.example.com", OLD, { paths, annotations: health }),
        ...Array.from({ length: 20 }, (_, at) => of("shop", `w${at}.example.com`, NEW)).map((each, at) => ({
          ...each,
          metadata: { ...each.metadata, name: `web${at}` },
        })),
      ],
    });
    isOver = true;
    expect(ingresses.filter(({ served }) => served)).toHaveLength(20);
    expect(problems.length).toBeLessThan(150);
    expect(problems.filter(({ message }) => message.includes("did you mean")).length).toBeLessThanOrEqual(5);
    // How often depends on the machine's speed.
    expect(rounds).toBeGreaterThanOrEqual(1);
  });

  test("hosts of very many labels are refused, and shorter ones are claimed at a cost that grows with them", async () => {
    const host = (at: number, labels: number): string => `${"a.".repeat(labels - 3)}h${at}.example.com`;
    const rulesOf = (labels: number): Ingress => {
      const made = of("evil", "evil.example.com", OLD);
      const [rule] = made.spec?.rules ?? [];
      const rules = Array.from({ length: 4_000 }, (_, at) => ({ ...rule, host: host(at, labels) }));
      return { ...made, spec: { ...made.spec, rules } };
    };
    const { errors } = await translated({ ingresses: [rulesOf(120), of("shop", "www.example.com", NEW)] });
    expect(errors[0]).toMatch(/which has 120 labels, must have at most 32$/);
    expect(errors).toHaveLength(101);
    const { served } = await translated({ ingresses: [rulesOf(32), of("shop", "*.h1.example.com", NEW)] });
    expect(served).toEqual(["evil/web"]);
  });

  test("one that does not fit counts in bytes, and claims no host", async () => {
    const paths = Array.from({ length: 98 }, (_, at) => `/p${at}`);
    const long = { set_response_headers: JSON.stringify({ "X-Long": "語".repeat(40_000) }) };
    const { served, errors } = await translated({
      ingresses: [of("evil", "www.example.com", OLD, { paths, annotations: long }), of("shop", "www.example.com", NEW)],
    });
    expect(errors).toEqual([
      "Ingress evil/web: error: makes the configuration of namespace evil larger than 8 MiB, must have fewer paths or shorter annotations",
    ]);
    expect(served).toEqual(["shop/web"]);
  });
});

describe("an Ingress labelled as a solver of ACME challenges", () => {
  const PATH = "/.well-known/acme-challenge/EvmP-8n5_q";
  /** As cert-manager makes it. */
  const solver = (namespace: string, host: string, change: object = {}): Ingress => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: "cm-acme-http-solver-x7k2p",
      namespace,
      creationTimestamp: NEW,
      labels: { "acme.cert-manager.io/http01-solver": "true" },
      annotations: { "nginx.ingress.kubernetes.io/whitelist-source-range": "0.0.0.0/0,::/0" },
    },
    spec: {
      ingressClassName: "gateway",
      rules: [{ host, http: { paths: [{ path: PATH, pathType: "ImplementationSpecific", backend }] } }],
      ...change,
    },
  });
  const backend = { service: { name: "web", port: { number: 80 } } };
  const paths = (...texts: readonly string[]): object => ({
    rules: [{ host: "www.example.com", http: { paths: texts.map((path) => ({ path, pathType: "Prefix", backend })) } }],
  });
  const key = "shop/cm-acme-http-solver-x7k2p";

  test("is public on that one path of a host of its namespace, and changes nothing else", async () => {
    const ingresses = [of("shop", "www.example.com", OLD), solver("shop", "www.example.com")];
    const services = [service("web", "shop")];
    const { slices, problems } = await translate({ ...nothing, services, ingresses });

    expect(problems).toEqual([]);
    const [slice] = slices;
    const publicRoutes = Object.values(slice?.routes ?? {}).filter(
      (route) => route.allow_public_unauthenticated_access,
    );
    expect(publicRoutes).toEqual([
      {
        from: "https://www.example.com",
        to: "http://web.shop.svc.cluster.local:80",
        path: PATH,
        allow_public_unauthenticated_access: true,
        pass_identity_headers: false,
      },
    ]);
    expect(Object.keys(slice?.routes ?? {})).toHaveLength(2);
  });

  test.each([
    ["a host of another namespace", "www.example.com"],
    ["a host that nobody has", "free.example.com"],
    ["a host below its own wildcard", "a.evil.example.com"],
    ["a wildcard", "*.evil.example.com"],
  ])("gets no access on %s, and does not claim it", async (_, host) => {
    const ingresses = [
      of("evil", "*.evil.example.com", OLD),
      of("shop", "www.example.com", OLD),
      { ...solver("evil", host), metadata: { ...solver("evil", host).metadata, creationTimestamp: "2020-01-01" } },
      of("blog", "free.example.com", "2026-03-01T00:00:00Z"),
    ];
    const { served, errors } = await translated({ ingresses });

    expect(served).toEqual(["blog/web", "evil/web", "shop/web"]);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain("must be");
  });

  test.each([
    ["another path", paths("/admin")],
    ["all of the host", paths("/")],
    ["every token", paths("/.well-known/acme-challenge/")],
    ["a path behind the token", paths(`${PATH}/../../admin`)],
    ["an encoded path behind the token", paths(`${PATH}%2f..%2fadmin`)],
    ["two paths", paths(PATH, "/admin")],
    ["two rules", { rules: [...solver("shop", "www.example.com").spec!.rules!, { host: "www.example.com" }] }],
    ["a default backend", { defaultBackend: backend }],
    ["no rule", { rules: [] }],
  ])("is refused with %s", async (_, change) => {
    const ingresses = [of("shop", "www.example.com", OLD), solver("shop", "www.example.com", change)];

    expect((await translated({ ingresses })).served).toEqual(["shop/web"]);
  });

  test.each([
    ["without its label", { labels: {} }],
    ["with another value", { labels: { "acme.cert-manager.io/http01-solver": "yes" } }],
    ["with annotations of the gateway", { annotations: { "ingress.gateway.io/host_rewrite": "a.example.com" } }],
  ])("is an ordinary Ingress %s: all requests are denied", async (_, change) => {
    const one = solver("shop", "www.example.com");
    const ingresses = [of("shop", "www.example.com", OLD), { ...one, metadata: { ...one.metadata, ...change } }];
    const services = [service("web", "shop")];
    const { slices } = await translate({ ...nothing, services, ingresses });

    const routes = Object.values(slices[0]?.routes ?? {});
    expect(routes.some((route) => route.allow_public_unauthenticated_access)).toBe(false);
  });

  test("reaches no Service that an Ingress could not reach", async () => {
    const out: Service = { ...service("web", "shop"), spec: { type: "ExternalName", externalName: "169.254.169.254" } };
    const ingresses = [of("shop", "www.example.com", OLD, { service: "other" }), solver("shop", "www.example.com")];

    const { served } = await translated(
      { ingresses, services: [out, service("other", "shop")] },
      { externalNames: true },
    );
    expect(served).not.toContain(key);
  });
});

describe("a Service of another namespace", () => {
  const external = (externalName: string): Service => ({
    ...service("out", "evil"),
    spec: { type: "ExternalName", externalName, ports: [{ port: 80 }] },
  });
  const ingresses = [of("evil", "evil.example.com", OLD, { service: "out" })];

  test("is not reached by an ExternalName: there are none", async () => {
    const { served, errors } = await translated({ ingresses, services: [external("billing.shop.svc.cluster.local")] });

    expect(served).toEqual([]);
    expect(errors[0]).toContain("of type ExternalName");
  });

  test.each([
    "web.shop.svc.cluster.local",
    "WEB.shop.svc.cluster.local.",
    "web.shop.svc",
    "web.shop",
    "0.web.shop",
    "web",
    "10-0-0-1.shop.pod.cluster.local",
    "localhost",
    "127.0.0.1",
    "0x7f.1",
    "169.254.169.254",
    "0.0.0.0",
  ])("is not reached by the ExternalName %s where they are served", async (name) => {
    const services = [service("web", "shop"), external(name)];

    expect((await translated({ ingresses, services }, { externalNames: true })).served).toEqual([]);
  });

  test("a name outside of the cluster is served where the operator says so", async () => {
    const services = [external("www.example.net")];

    expect((await translated({ ingresses, services }, { externalNames: true })).served).toEqual(["evil/web"]);
  });

  test.each([
    ["a Service with a path to another namespace", { service: "../shop/web" }],
    ["a Secret of another namespace", { annotations: { tls_custom_ca_secret: "shop/ca" } }],
  ])("is not reached by %s", async (_, more) => {
    expect((await translated({ ingresses: [of("evil", "evil.example.com", OLD, more)] })).served).toEqual([]);
  });
});
