/** Gateway API objects, from the API server through a real gateway to upstreams, with the statuses that are written back. */
import { request } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";

import { createKubeClient } from "../../../runtime/kubernetes/controller/client.ts";
import { Controller } from "../../../runtime/kubernetes/controller/controller.ts";
import { createAdminPublisher } from "../../../runtime/kubernetes/controller/publisher.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { createAdminClient } from "../../support/admin-client.ts";
import { type EchoUpstream, startEchoUpstream } from "../../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";
import { createNotesClient, metadataOf, startNotesServer } from "../../support/grpc.ts";
import { type KubeApi, startKubeApi, type StoredObject } from "../../support/kube-api.ts";
import { ingress, service } from "../../support/kube-manifests.ts";

const TOKEN = "publish-token-of-the-routes";
const CONTROLLER = "ingress.gateway.io/controller";

let folder = "";
let gateway: TestGateway;
let one: EchoUpstream;
let two: EchoUpstream;
let api: KubeApi;
let close = async (): Promise<void> => {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-api-"));
  await writeFile(join(folder, "token"), TOKEN);
  [one, two] = await Promise.all([startEchoUpstream(), startEchoUpstream()]);
  gateway = await startGateway({
    yaml: "routes: []\n",
    boot: {
      owners: { "kubernetes.*": { publish_token: TOKEN, allowed_settings: [], allow_local_upstreams: true } },
    },
  });
});
afterEach(async () => {
  await close();
  close = async () => {};
  const admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
  const { body } = await admin.get("/config/slices");
  for (const { owner } of body["slices"] as readonly { readonly owner: string }[]) await admin.remove(owner);
});
afterAll(async () => {
  await Promise.all([gateway.close(), one.close(), two.close()]);
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  api = await startKubeApi();
  close = () => api.close();
});

/** Its endpoints are an upstream of this test. */
function backend(name: string, origin: string, namespace = "shop", appProtocol?: string): readonly object[] {
  const port = { name: "http", port: 8080, ...(appProtocol !== undefined && { appProtocol }) };
  return [
    { apiVersion: "v1", kind: "Service", metadata: { name, namespace }, spec: { ports: [port] } },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: `${name}-1`, namespace, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [{ name: "http", port: Number(new URL(origin).port) }],
      endpoints: [{ addresses: ["127.0.0.1"] }],
    },
  ];
}

function objectsOf(yaml: string): readonly object[] {
  return parseAllDocuments(yaml).map((document) => document.toJS() as object);
}

const CLASS = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: gateway }
spec:
  controllerName: ${CONTROLLER}
  parametersRef: { group: ingress.gateway.io, kind: GatewayRoutePolicy, namespace: infra, name: open }
---
apiVersion: ingress.gateway.io/v1alpha1
kind: GatewayRoutePolicy
metadata: { name: open, namespace: infra }
spec: { settings: { allow_public_unauthenticated_access: true, service_proxy_upstream: false } }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: main, namespace: infra }
spec:
  gatewayClassName: gateway
  listeners: [{ name: http, port: 80, protocol: HTTP, allowedRoutes: { namespaces: { from: All } } }]
`;

function route(name: string, rules: string, more = ""): string {
  return `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: ${name}, namespace: shop }
spec: { parentRefs: [{ name: main, namespace: infra }], hostnames: [${name}.example.com], rules: ${rules} }
${more}`;
}

interface Running {
  /** Applies objects and resolves once the gateway has their routes, and all statuses are of their generation. */
  apply(...objects: readonly object[]): Promise<void>;
}

async function control(discoveryMs = 20): Promise<Running> {
  const client = await createKubeClient({ kubeconfig: api.kubeconfig });
  let rounds = 0;
  const controller = new Controller({
    client,
    publisher: createAdminPublisher({
      url: gateway.adminOrigin,
      owner: "kubernetes",
      tokenFile: join(folder, "token"),
    }),
    translate: { scheme: "http", port: gateway.port },
    addresses: [{ ip: "127.0.0.1" }],
    isLeader: () => true,
    clock: systemClock,
    log: silentLog(),
    quietMs: 5,
    mostMs: 50,
    view: { discoveryMs, patienceMs: 200 },
    onRound: () => void (rounds += 1),
  });
  close = async () => {
    await controller.close();
    await client.close();
    await api.close();
  };
  return {
    async apply(...objects) {
      for (const object of objects) api.apply(object);
      const before = rounds;
      await expect.poll(() => rounds > before && settled(), { timeout: 10_000, interval: 10 }).toBe(true);
    },
  };
}

interface Entry {
  readonly controllerName?: string;
  readonly conditions?: readonly {
    readonly type: string;
    readonly observedGeneration: number;
    readonly status: string;
    readonly reason: string;
  }[];
}

interface Status extends Entry {
  readonly parents?: readonly Entry[];
  readonly ancestors?: readonly Entry[];
  readonly listeners?: readonly Entry[];
}

function statusOf(object: StoredObject | undefined): Status {
  return object?.["status"] ?? {};
}

function entriesOf(object: StoredObject): readonly Entry[] {
  const status = statusOf(object);
  return [...(status.conditions ? [status] : []), ...(status.parents ?? []), ...(status.ancestors ?? [])];
}

function settled(): boolean {
  return ["gatewayclasses", "gateways", "httproutes", "grpcroutes"]
    .flatMap((name) => api.objects(name))
    .every((object) => {
      const { generation } = object.metadata as { readonly generation?: number };
      const entries = entriesOf(object);
      return (
        entries.length > 0 &&
        entries.every(({ conditions = [] }) => conditions.every((each) => each.observedGeneration === generation))
      );
    });
}

function conditionsOf(collection: string, name: string): readonly string[] {
  const object = api.objects(collection).find(({ metadata }) => metadata.name === name);
  return (object ? entriesOf(object) : []).flatMap(({ conditions = [] }) =>
    conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
  );
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As the upstream saw it; undefined if the gateway answered. */
  readonly seen:
    | { readonly method: string; readonly target: string; readonly headers: Readonly<Record<string, string>> }
    | undefined;
  readonly upstream: "one" | "two" | undefined;
}

async function ask(
  host: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
): Promise<Answer> {
  const [before, after] = [one.seen.length, two.seen.length];
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port: gateway.port, path, method, headers: { ...headers, host: `${host}:${gateway.port}` } },
      (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => {
          const upstream = one.seen.length > before ? "one" : two.seen.length > after ? "two" : undefined;
          const seen = upstream === undefined ? undefined : (JSON.parse(text) as Answer["seen"]);
          resolve({ status: response.statusCode ?? 0, headers: response.headers, seen, upstream });
        });
      },
    );
    sent.on("error", reject);
    sent.end();
  });
}

const toOne = "backendRefs: [{ name: one, port: 8080 }]";
const toTwo = "backendRefs: [{ name: two, port: 8080 }]";

describe("routes of the Gateway API", () => {
  test("match paths, headers, methods and query parameters", async () => {
    const cluster = await control();
    const rules = `[
      { ${toOne} },
      { matches: [{ path: { type: Exact, value: /exact } }], ${toTwo} },
      { matches: [{ path: { value: /part } }], ${toTwo} },
      { matches: [{ path: { value: /part/deep }, headers: [{ name: Version, value: two }] }], ${toOne} },
      { matches: [{ headers: [{ name: color, value: blue }] }, { method: DELETE }, { queryParams: [{ name: animal, value: big whale }] }], ${toTwo} } ]`;
    await cluster.apply(
      ...backend("one", one.origin),
      ...backend("two", two.origin),
      ...objectsOf(CLASS),
      ...objectsOf(route("match", rules)),
    );

    const host = "match.example.com";
    expect((await ask(host, "/")).upstream).toBe("one");
    expect((await ask(host, "/exact")).upstream).toBe("two");
    expect((await ask(host, "/exact/")).upstream).toBe("one");
    expect((await ask(host, "/partial")).upstream).toBe("one");
    expect((await ask(host, "/part/x")).upstream).toBe("two");
    expect((await ask(host, "/part/deep", { version: "two" })).upstream).toBe("one");
    expect((await ask(host, "/part/deep", { version: "three" })).upstream).toBe("two");
    expect((await ask(host, "/", { color: "blue" })).upstream).toBe("two");
    expect((await ask(host, "/", { color: "Blue" })).upstream).toBe("one");
    expect((await ask(host, "/", {}, "DELETE")).upstream).toBe("two");
    expect((await ask(host, "/?animal=big%20whale")).upstream).toBe("two");
    expect((await ask(host, "/?animal=small")).upstream).toBe("one");
    expect((await ask("other.example.com", "/")).status).toBe(404);
    expect(conditionsOf("httproutes", "match")).toEqual(["Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs"]);
    expect(conditionsOf("gateways", "main")).toEqual(["Accepted=True Accepted", "Programmed=True Programmed"]);
    expect(statusOf(api.objects("gateways")[0])).toMatchObject({
      addresses: [{ type: "IPAddress", value: "127.0.0.1" }],
      listeners: [{ name: "http", attachedRoutes: 1, supportedKinds: [{ kind: "HTTPRoute" }, { kind: "GRPCRoute" }] }],
    });
  });

  test("change headers, redirect, rewrite, and answer 500 where no backend is", async () => {
    const cluster = await control();
    const rules = `[
      { matches: [{ path: { value: /headers } }], ${toOne}, filters: [
        { type: RequestHeaderModifier, requestHeaderModifier: { set: [{ name: X-Set, value: "$1" }], add: [{ name: X-Add, value: b }], remove: [X-Gone] } },
        { type: ResponseHeaderModifier, responseHeaderModifier: { set: [{ name: X-Set, value: r }], add: [{ name: X-Added, value: s }], remove: [Content-Type] } } ] },
      { matches: [{ path: { value: /moved } }], filters: [{ type: RequestRedirect, requestRedirect: { hostname: example.org, statusCode: 301, path: { type: ReplacePrefixMatch, replacePrefixMatch: /new } } }] },
      { matches: [{ path: { value: /strip } }], ${toOne}, filters: [{ type: URLRewrite, urlRewrite: { hostname: inner.example.org, path: { type: ReplacePrefixMatch, replacePrefixMatch: / } } }] },
      { matches: [{ path: { value: /whole } }], ${toOne}, filters: [{ type: URLRewrite, urlRewrite: { path: { type: ReplaceFullPath, replaceFullPath: /all } } }] },
      { matches: [{ path: { value: /absent } }], backendRefs: [{ name: absent, port: 8080 }] },
      { matches: [{ path: { value: /half } }], backendRefs: [{ name: absent, port: 8080 }, { name: one, port: 8080 }, { name: gone, port: 8080, weight: 0 }] },
      { matches: [{ path: { value: /foreign } }], backendRefs: [{ name: two, namespace: blog, port: 8080 }] } ]`;
    await cluster.apply(
      ...backend("one", one.origin),
      ...backend("two", two.origin, "blog"),
      ...objectsOf(CLASS),
      ...objectsOf(route("filters", rules)),
    );

    const host = "filters.example.com";
    const changed = await ask(host, "/headers", { "x-set": "old", "x-add": "a", "x-gone": "x" });
    expect(changed.seen?.headers).toMatchObject({ "x-set": "$1", "x-add": "a, b", host: `${host}:${gateway.port}` });
    expect(changed.seen?.headers).not.toHaveProperty("x-gone");
    expect([changed.headers["x-set"], changed.headers["x-added"], changed.headers["content-type"]]).toEqual([
      "r",
      "s",
      undefined,
    ]);
    const moved = await ask(host, "/moved/on?x=1");
    expect([moved.status, moved.headers["location"]]).toEqual([301, "http://example.org/new/on?x=1"]);
    const stripped = await ask(host, "/strip/a");
    expect([stripped.seen?.target, stripped.seen?.headers["host"]]).toEqual(["/a", "inner.example.org"]);
    expect((await ask(host, "/whole/a?q")).seen?.target).toBe("/all?q");
    expect((await ask(host, "/absent")).status).toBe(500);
    expect((await ask(host, "/foreign")).status).toBe(500);
    const half = new Set<number>();
    for (let count = 0; count < 64; count += 1) half.add((await ask(host, "/half")).status);
    expect(half).toEqual(new Set([200, 500]));
    expect(conditionsOf("httproutes", "filters")).toEqual([
      "Accepted=True Accepted",
      "ResolvedRefs=False BackendNotFound",
    ]);

    await cluster.apply(
      ...objectsOf(`
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: { name: shop, namespace: blog }
spec: { from: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop }], to: [{ group: "", kind: Service }] }`),
      ...objectsOf(route("filters", rules.replaceAll(/name: (absent|gone)/g, "name: one"))),
    );
    expect((await ask(host, "/foreign")).upstream).toBe("two");
    expect(conditionsOf("httproutes", "filters")).toEqual(["Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs"]);
  });

  test("serve gRPC methods by name and by header", async () => {
    const notes = await startNotesServer();
    const client = createNotesClient(`127.0.0.1:${gateway.port}`, undefined, {
      "grpc.default_authority": `grpc.example.com:${gateway.port}`,
    });
    try {
      const cluster = await control();
      const grpc = `
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: { name: grpc, namespace: shop }
spec:
  parentRefs: [{ name: main, namespace: infra }]
  hostnames: [grpc.example.com]
  rules: [{ matches: [{ method: { service: test.Notes, method: Say }, headers: [{ name: version, value: two }] }, { method: { method: Repeat } }], backendRefs: [{ name: notes, port: 8080 }] }]`;
      await cluster.apply(...backend("notes", notes.origin), ...objectsOf(CLASS), ...objectsOf(grpc));

      expect(await client.say({ text: "a" }, metadataOf({ version: "two" }))).toMatchObject({ code: 0 });
      expect((await client.say({ text: "a" })).code).toBe(12);
      expect(await client.repeat({ text: "a", count: 2 })).toMatchObject({ code: 0 });
      expect(conditionsOf("grpcroutes", "grpc")).toEqual(["Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs"]);
    } finally {
      client.close();
      notes.close();
    }
  });

  test("are watched once their definitions appear; statuses keep what others wrote, and are written once", async () => {
    for (const object of [service("web"), ingress("web", { host: "web.example.com" })]) api.apply(object);
    const cluster = await control();
    await api.until(() => api.objects("ingresses").some((each) => each["status"] !== undefined));

    const other = {
      parentRef: { name: "main" },
      controllerName: "example.com/other",
      conditions: [{ type: "Accepted", observedGeneration: 1, status: "True", reason: "Accepted" }],
    };
    const [shared = {}] = objectsOf(route("shared", `[{ ${toOne} }]`));
    const foreign = {
      ...shared,
      metadata: { name: "foreign", namespace: "shop" },
      spec: { parentRefs: [{ name: "other" }] },
      status: { parents: [other] },
    };
    await cluster.apply(foreign, ...backend("one", one.origin), ...objectsOf(CLASS), {
      ...shared,
      status: { parents: [other] },
    });
    expect((await ask("shared.example.com", "/")).upstream).toBe("one");
    expect(
      statusOf(api.objects("httproutes").find(({ metadata }) => metadata.name === "shared")).parents,
    ).toMatchObject([other, { controllerName: CONTROLLER, parentRef: { name: "main", namespace: "infra" } }]);

    const writes = (): number => api.seen.filter(({ method }) => method === "PUT").length;
    const before = writes();
    // A round without any change of the Gateway API.
    await cluster.apply(service("more"));
    expect(writes()).toBe(before);
    expect(statusOf(api.objects("httproutes").find(({ metadata }) => metadata.name === "foreign")).parents).toEqual([
      other,
    ]);

    const stored = api.objects("httproutes").find(({ metadata }) => metadata.name === "shared");
    api.apply({ ...stored, spec: { parentRefs: [{ name: "other" }] } });
    await api.until(() => {
      const now = api.objects("httproutes").find(({ metadata }) => metadata.name === "shared");
      return statusOf(now).parents?.length === 1 && statusOf(now).parents?.[0]?.controllerName === "example.com/other";
    });
    await expect.poll(async () => (await ask("shared.example.com", "/")).status).toBe(404);
  });
});
