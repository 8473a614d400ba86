/**
 * Work that grows with the product of two external numbers: at thousands of each it costs like a few dozen ordinary
 * requests.
 */
import { expect, test } from "vitest";

import type { CompiledRoute } from "../../runtime/config/compiled.ts";
import { inForce, routePrecedence } from "../../runtime/config/active-precedence.ts";
import { readSlice } from "../../runtime/config/read-slice.ts";
import type { Snapshot } from "../../runtime/config/snapshot.ts";
import { compileConnect, compileUpstream } from "../../runtime/features/connection/compile.ts";
import { HostRoutes } from "../../runtime/features/routing/apply-host-routes.ts";
import { PathNode } from "../../runtime/features/routing/apply-path-tree.ts";
import { compileConditions } from "../../runtime/features/routing/conditions.ts";
import { mcpRules } from "../../runtime/features/mcp/rules.ts";
import { toolOf, type LockedTool } from "../../runtime/features/mcp/tool-lock-file.ts";
import { serversOpenTo } from "../../runtime/identity/application-reach.ts";
import { type ClusterServices, readUpstream } from "../../runtime/kubernetes/translate/backend.ts";
import { draftIngress } from "../../runtime/kubernetes/translate/draft.ts";
import { readGateways } from "../../runtime/kubernetes/translate/gateway-api/listeners.ts";
import { NO_GATEWAY_API } from "../../runtime/kubernetes/translate/gateway-api/objects.ts";
import { createHostClaims } from "../../runtime/kubernetes/translate/hosts/host-claims.ts";
import { pairProblem, readTls } from "../../runtime/kubernetes/translate/hosts/tls.ts";
import { CONTROLLER_NAME } from "../../runtime/kubernetes/translate/ingress-class.ts";
import { readRules } from "../../runtime/kubernetes/translate/ingress-rules.ts";
import type { EndpointSlice, Ingress } from "../../runtime/kubernetes/translate/objects.ts";
import { readListAnswer } from "../../runtime/mcp/lists/list-answer.ts";
import { compareTools } from "../../runtime/mcp/tool-locks/tool-changes.ts";
import { formatChanges } from "../../runtime/mcp/tool-locks/change-words.ts";
import { checkTools, DigestMemory } from "../../runtime/mcp/tool-locks/check-tools.ts";
import { compilePolicy } from "../../runtime/policy/evaluate.ts";
import { Streams } from "../../runtime/proxy/forwarding/streams.ts";
import { parseExactJson } from "../../runtime/shared/json/exact-json.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { createSpreadWork } from "../../runtime/shared/changes/spread-work.ts";
import { createHealthChecks } from "../../runtime/upstreams/health/health-checks.ts";
import type { Transport } from "../../runtime/upstreams/transport-types.ts";
import { anonymous } from "../support/facts.ts";
import { makeTestCertificate } from "../support/certificates.ts";
import { ingress, service } from "../support/kube-manifests.ts";
import { mayStall } from "../support/stall-limit.ts";
import { unitsOf } from "../support/work.ts";

const many = <T>(make: (index: number) => T, length: number): T[] => Array.from({ length }, (_, index) => make(index));
const membersOf = (count: number, value: unknown): object =>
  Object.fromEntries(many((index) => [`k${index}`, value], count));

function tool(definition: object): LockedTool {
  return toolOf(parseExactJson(JSON.stringify({ name: "t", ...definition })) ?? null) as LockedTool;
}

const backend = { service: { name: "web", port: { number: 80 } } };
const whole = { http: { paths: [{ path: "/", pathType: "Prefix", backend }] } };
const withSpec = (spec: object, annotations = {}): Ingress => {
  const { spec: usual, ...rest } = ingress("i", { host: "a.example.com", annotations });
  return { ...rest, spec: { ...usual, ...spec } };
};
const OPTIONS = { namespace: "shop", secure: false, clusterDomain: "cluster.local", externalNames: false };
const clusterOf = (...ports: readonly { readonly name: string; readonly port: number }[]): ClusterServices => ({
  services: new Map([["shop/web", { ...service("web"), spec: { ports } }]]),
  endpointSlices: new Map(),
});
const slicesOf = (count: number): readonly EndpointSlice[] => [
  {
    metadata: { name: "web", namespace: "shop" },
    addressType: "IPv4",
    ports: [{ name: "http", port: 80 }],
    endpoints: many((index) => ({ addresses: [`10.0.${index >> 8}.${index & 255}`] }), count),
  },
];

const UPSTREAM = { host: "h", basePath: "", weight: 1, owner: "a" };
const policy = compilePolicy({ allow: { and: [{ accept: true }] } });
const snapshotOf = (routes: readonly object[], more: object = {}): Snapshot =>
  ({
    digest: "",
    generation: 1,
    routes: routes as CompiledRoute[],
    settings: { mcpEnabled: true },
    ...more,
  }) as unknown as Snapshot;

/** Prepared outside the measurement. */
type Prepare = () => () => unknown;

const WORK: readonly (readonly [what: string, mostUnits: number, prepare: Prepare])[] = [
  [
    "20,000 ranges of a policy, when they are compiled for requests",
    600,
    () => {
      const list = many((index) => `2001:db8:${index >> 16}:${(index & 0xff_ff).toString(16)}::/64`, 20_000);
      return () => compilePolicy({ allow: { and: [{ source_ip: list }] } });
    },
  ],
  [
    "what differs between a reviewed tool and a listed one, each with 20,000 values",
    100,
    () => {
      const values = (word: string) =>
        tool({ inputSchema: { enum: many((index) => `${word}${index}`, 20_000), ...membersOf(2000, word) } });
      const [reviewed, listed] = [values("a"), values("b")];
      return () => formatChanges([{ url: "https://a.example", ...compareTools([reviewed], [listed]) }]);
    },
  ],
  [
    "what differs between 200 reviewed definitions of a tool and 32 that are listed",
    100,
    () => {
      const definition = (index: number) => tool({ description: `d${index}`, inputSchema: membersOf(100, { a: 1 }) });
      const [reviewed, listed] = [many(definition, 200), many((index) => definition(index + 1000), 32)];
      return () => compareTools(reviewed, listed);
    },
  ],
  [
    "texts of 10,000 listed tools that no lock has",
    100,
    () => {
      const tools = many((index) => ({ name: `t${index}` }), 10_000);
      const bytes = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } }));
      const nothing = { kinds: new Set(["tool"] as const), items: new Map() };
      const lock = {
        ...nothing,
        onDrift: "warn",
        onUnlisted: "pass",
        reviewed: undefined,
        classes: new Map(),
      } as const;
      return () => {
        const answer = readListAnswer(bytes);
        if (typeof answer === "string") throw new Error(answer);
        const { drifts, textOf } = checkTools(lock, new DigestMemory(), bytes, answer);
        expect(drifts).toHaveLength(10_000);
        for (const drift of drifts) textOf(drift.key);
      };
    },
  ],
  [
    "who was there first, for 2,000 changed routes of an owner who had as many",
    100,
    () => {
      const text = (path: string) =>
        JSON.stringify({
          version: 1,
          owner: "team",
          routes: Object.fromEntries(
            many(
              (index) => [
                `r${index}`,
                { from: "https://a.example", to: "http://b.internal", prefix: `/${path}${index}` },
              ],
              2000,
            ),
          ),
        });
      const before = inForce("team", 1, [{ file: "team", boot: false, text: text("a") }]);
      const slice = readSlice({ file: "team", boot: false, text: text("b"), before }, []);
      before.slices();
      return () => {
        for (const route of slice?.routes ?? []) expect(routePrecedence(route)).toBe(Number.MAX_SAFE_INTEGER);
      };
    },
  ],
  [
    "30,000 scopes of an upstream, as many of which its provider is asked for",
    80,
    () => {
      const [scopes, others] = [many((index) => `a${index}`, 30_000), many((index) => `b${index}`, 30_000)];
      const server = { upstream_oauth2: { client_id: "c", scopes, id_jag: { scopes: others } } };
      return () => mcpRules({ server }, () => {});
    },
  ],
  [
    "the MCP servers that 2,000 client routes of an owner open, of 2,000 of another",
    20,
    () => {
      const client = (index: number) => ({ key: `a/${index}`, host: "h", limitedTo: "a", mcp: { kind: "client" } });
      const server = { limitedTo: "b", mcp: { kind: "server", allowedApplications: ["a"] } };
      const routes = [...many(client, 2000), ...many(() => server, 2000)];
      const snapshot = snapshotOf(routes, { separatesOwners: true });
      return () => expect(serversOpenTo(snapshot, "h", undefined)).toHaveLength(2000);
    },
  ],
  [
    "5,000 answers that begin after a change of 20,000 routes, and stay open over another",
    200,
    () => {
      const route = (index: number) => ({ key: `a/${index}`, policy });
      const [before, after] = [snapshotOf([]), snapshotOf(many(route, 20_000))];
      const clock = { now: () => 0 };
      return () => {
        const streams = new Streams({ revocations: { subscribe: () => () => {} } as never, clock });
        const facts = anonymous();
        streams.reconsider(after);
        for (let index = 0; index < 5000; index += 1) {
          const stream = { routeKey: `a/${index}`, snapshot: before, principal: undefined, isEndless: true };
          expect(streams.add({ ...stream, endsWithCredential: true, facts, end: () => {} })).toBe(true);
        }
        streams.reconsider(after);
        streams.close();
      };
    },
  ],
  [
    "an Ingress with 5,000 hosts of rules, 5,000 of TLS and a default backend",
    50,
    () => {
      const rules = many((index) => ({ host: `h${index}.example.com`, ...whole }), 5000);
      const tls = [{ hosts: many((index) => `t${index}.example.com`, 5000) }];
      const both = withSpec({ rules, tls, defaultBackend: backend });
      return () => expect(readRules(both, { pathRegex: false }).places).toHaveLength(10_000);
    },
  ],
  [
    "an Ingress with 5,000 entries of TLS, each for all of 5,000 hosts, and one that names a wildcard often",
    50,
    () => {
      const hosts = new Map(many((index) => [`h${index}.example.com`, `spec.rules[${index}]`] as const, 4999));
      const wildcard = { secretName: "s", hosts: many(() => "*.example.com", 5000) };
      const spec = { tls: [wildcard, ...many((index) => ({ secretName: `s${index}` }), 5000)] };
      return () => readTls(withSpec(spec), hosts);
    },
  ],
  [
    "3,000 paths to a Service with 3,000 ports, the last of them or none",
    100,
    () => {
      const cluster = clusterOf(...many((index) => ({ name: `p${index}`, port: index + 1 }), 3000));
      const read = (number: number) =>
        readUpstream({ service: { name: "web", port: { number } } }, "at", cluster, { ...OPTIONS, viaService: true });
      return () => {
        for (let index = 0; index < 3000; index += 1) expect([read(3000).ok, read(9999).ok]).toEqual([true, false]);
      };
    },
  ],
  [
    "4,000 wildcards of a namespace against 4,000 hosts of the operator",
    150,
    () => {
      const list = new Map(many((index) => [`h${index}.example.com`, ["other"]] as const, 4000));
      return () => {
        const claims = createHostClaims(list);
        for (let index = 0; index < 4000; index += 1)
          expect(
            claims.claim({ host: `*.x${index}.example.org`, namespace: "n", label: "Ingress n/i" }),
          ).toBeUndefined();
      };
    },
  ],
  [
    "900 prefixes of 10,000 segments, laid out",
    50,
    () => {
      const paths = many((index) => `r${index}${"/a".repeat(10_000)}`, 900);
      return () => {
        const root = new PathNode<string, never>();
        for (const path of paths) root.grow(path).prefix = path;
      };
    },
  ],
  [
    "1,000 upstreams that are checked at a path of 1 MiB",
    100,
    () => {
      const probe = { kind: "http", path: `/${"a".repeat(2 ** 20)}`, host: undefined, statuses: [] } as const;
      const times = { intervalMs: 30_000, timeoutMs: 1000, unhealthyThreshold: 1, healthyThreshold: 1 };
      const to = many((index) => ({ ...UPSTREAM, origin: `http://h${index}` }), 1000);
      const route = { key: "a/b", owner: "a", to, balancing: { healthChecks: [{ ...times, probe }] } };
      return () => {
        const schedule = () => () => {};
        const spreadWork = createSpreadWork(Infinity);
        const checks = createHealthChecks({ transport: {} as Transport, log: silentLog(), schedule, spreadWork });
        checks.follow({ routes: [route] } as unknown as Snapshot);
        expect(checks.size).toBe(1000);
      };
    },
  ],
  [
    "1,000 upstreams whose certificates are checked with authorities of half a MiB",
    100,
    () => {
      const doc = { tls_custom_ca: "a".repeat(2 ** 19) };
      return () => {
        const connect = compileConnect({ key: "team/a", doc }, { resolve: String, open: String });
        return many((index) => compileUpstream(`https://h${index}`, "team", connect), 1000);
      };
    },
  ],
  [
    "10,000 routes of one path with conditions, laid out and asked with a long query",
    400,
    () => {
      const match = { kind: "prefix", prefix: "/a" };
      const doc = (index: number) => ({ match_headers: { team: "a" }, match_query: { part: `p${index}` } });
      const routes = many(
        (index) => ({ key: `a/r${index}`, match, conditions: compileConditions(doc(index)) }),
        10_000,
      );
      const request = { method: "GET", query: `?${"a&".repeat(4000)}part=p1`, header: () => "a" };
      return () => {
        const table = new HostRoutes(routes as unknown as CompiledRoute[], "https", ({ key }) => key);
        expect(table.findRoute("/a/b", request)).toMatchObject({ ok: true, prepared: "a/r1" });
      };
    },
  ],
  [
    "4,096 references of a Gateway to one certificate",
    100,
    () => {
      const pair = makeTestCertificate({ name: "x", dns: ["x.example.com"] });
      const stringData = { "tls.crt": pair.cert, "tls.key": pair.key };
      const secret = { metadata: { name: "s", namespace: "shop" }, stringData };
      return () => many(() => expect(pairProblem(secret)).toBeUndefined(), 4096);
    },
  ],
  [
    "4,096 certificates of a Gateway in a namespace with 1,000 ReferenceGrants",
    100,
    () => {
      const metadata = (name: string, namespace = "shop") => ({ name, namespace });
      const from = many(() => ({ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "shop" }), 16);
      const to = many((index) => ({ group: "", kind: "Secret", name: `x${index}` }), 16);
      const certificateRefs = many((index) => ({ name: `s${index}`, namespace: "other" }), 64);
      const listeners = many(
        (index) => ({ name: `l${index}`, port: 1000 + index, protocol: "HTTPS", tls: { certificateRefs } }),
        64,
      );
      const objects = {
        ...NO_GATEWAY_API,
        gatewayClasses: [{ metadata: metadata("c"), spec: { controllerName: CONTROLLER_NAME } }],
        gateways: [{ metadata: metadata("g"), spec: { gatewayClassName: "c", listeners } }],
        referenceGrants: many((index) => ({ metadata: metadata(`r${index}`, "other"), spec: { from, to } }), 1000),
      };
      return () => readGateways(objects, { secrets: new Map(), ignoreTls: false, addresses: [] });
    },
  ],
];

test.each(WORK)("%s", (_, mostUnits, prepare) => {
  mayStall(Infinity);
  expect(unitsOf(prepare(), mostUnits)).toBeLessThan(mostUnits);
});

test("a Service with more endpoints than a route can have upstreams does its own balancing", () => {
  const backends = (count: number) =>
    readUpstream(
      { service: { name: "web", port: { number: 80 } } },
      "path",
      { ...clusterOf({ name: "http", port: 80 }), endpointSlices: new Map([["shop/web", slicesOf(count)]]) },
      { ...OPTIONS, viaService: false },
    );
  expect(backends(1000)).toMatchObject({ ok: true, to: { length: 1000 }, warnings: [] });
  const served = backends(1001);
  expect(served).toMatchObject({ ok: true, to: ["http://web.shop.svc.cluster.local:80"] });
  expect(JSON.stringify(served)).toContain("1001 ready endpoints: above 1000 the Service balances");
});

test("1,000 paths to 1,000 endpoints are read no further than a slice may be large", async () => {
  const annotations = { service_proxy_upstream: "false" };
  const paths = many((index) => ({ path: `/p${index}`, pathType: "Prefix", backend }), 1000);
  const draft = await draftIngress(withSpec({ rules: [{ host: "a.example.com", http: { paths } }] }, annotations), {
    ...clusterOf({ name: "http", port: 80 }),
    endpointSlices: new Map([["shop/web", slicesOf(1000)]]),
    secrets: new Map(),
    seal: undefined,
    scheme: "https",
    plainHttp: false,
    port: undefined,
    ...OPTIONS,
  });
  expect(draft.bytes).toBeGreaterThan(8 * 1024 * 1024);
  expect(draft.routes.length).toBeLessThan(500);
});
