/** The whole controller between an API server and a gateway. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, describe, expect, test } from "vitest";

import { digestOf } from "../../../../runtime/shared/canonical-json.ts";
import type { Slice } from "../../../../runtime/config/slice.ts";
import { GatewayError } from "../../../../runtime/shared/errors.ts";
import { createBackoff } from "../../../../runtime/shared/backoff.ts";
import { createKubeClient } from "../../../../runtime/kubernetes/controller/client.ts";
import {
  Controller,
  type ControllerOptions,
  type Round,
} from "../../../../runtime/kubernetes/controller/controller.ts";
import { createDirectoryPublisher } from "../../../../runtime/kubernetes/controller/directory-publisher.ts";
import {
  createAdminPublisher,
  type PublishAnswer,
  type SlicePublisher,
  sliceTexts,
} from "../../../../runtime/kubernetes/controller/publisher.ts";
import { createLog, silentLog } from "../../../../runtime/shared/log.ts";
import { systemClock } from "../../../../runtime/shared/clock.ts";
import { startGateway } from "../../../support/gateway.ts";
import { startKubeApi, type KubeApi } from "../../../support/kube-api.ts";
import { ingress, service } from "../../../support/kube-manifests.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A publisher that keeps what it gets, and answers as told. */
function keepingPublisher(answer: (text: string) => PublishAnswer = () => ({ kind: "published" })) {
  const texts: string[] = [];
  const publisher: SlicePublisher = {
    place: "the test",
    publish: async (slices) => {
      const text = slices.map((slice) => slice.text).join("");
      texts.push(text);
      return answer(text);
    },
    sealKey: async () => undefined,
  };
  return { publisher, texts };
}

async function startApi(...objects: readonly object[]): Promise<KubeApi> {
  const api = await startKubeApi();
  closers.push(() => api.close());
  for (const object of objects) api.apply(object);
  return api;
}

async function control(api: KubeApi, publisher: SlicePublisher, options: Partial<ControllerOptions> = {}) {
  const client = await createKubeClient({ kubeconfig: api.kubeconfig });
  closers.push(() => client.close());
  const rounds: Round[] = [];
  const waiting = new Set<() => void>();
  const controller = new Controller({
    client,
    publisher,
    translate: {},
    isLeader: () => true,
    clock: systemClock,
    log: silentLog(),
    quietMs: 5,
    mostMs: 50,
    backoff: createBackoff({ firstMs: 5, mostMs: 10 }),
    onRound(round) {
      rounds.push(round);
      for (const look of waiting) look();
    },
    ...options,
    view: { reflector: { backoff: () => createBackoff({ firstMs: 2, mostMs: 10 }) }, patienceMs: 200, ...options.view },
  });
  closers.push(() => controller.close());
  /** Resolves with the first round, past or to come, for which it holds. */
  const round = (holds: (round: Round) => boolean): Promise<Round> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = rounds.find(holds);
        if (!found) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  const routes = (wanted: readonly string[]) =>
    round(
      ({ outcome, translation }) =>
        (outcome === "published" || outcome === "unchanged") &&
        (translation?.slices ?? [])
          .flatMap(({ routes }) => Object.keys(routes))
          .toSorted()
          .join() === wanted.join(),
    );
  return { controller, rounds, round, routes };
}

const web = ingress("web", { host: "web.example.com" });
const bad = ingress("bad", { host: "bad.example.com", annotations: { timeout: "soon" } });

function statusOf(api: KubeApi, name: string): unknown {
  const found = api.objects("ingresses").find(({ metadata }) => metadata.name === name);
  return (found?.["status"] as { loadBalancer?: { ingress?: unknown } } | undefined)?.loadBalancer?.ingress;
}

function eventsOf(api: KubeApi, name: string): readonly string[] {
  return api
    .objects("events")
    .filter((event) => (event["involvedObject"] as { name: string }).name === name)
    .map(
      (event) =>
        `${String(event["type"])} ${String(event["reason"])} ${String(event["count"])}: ${String(event["message"])}`,
    );
}

describe("Controller", () => {
  test("publishes existing Ingresses, then changes and removals", async () => {
    const api = await startApi(service("web"), web);
    const { publisher, texts } = keepingPublisher();
    const { routes } = await control(api, publisher);
    await routes(["shop.web:web.example.com"]);

    api.apply(ingress("api", { host: "api.example.com" }));
    await routes(["shop.api:api.example.com", "shop.web:web.example.com"]);
    api.remove("ingresses", "shop", "web");
    await routes(["shop.api:api.example.com"]);

    expect(JSON.parse(texts.at(-1) ?? "")).toMatchObject({ version: 1, owner: "kubernetes.shop" });
  });

  test("marks a bad Ingress with an event and serves the others; says when it is good", async () => {
    const api = await startApi(service("web"), web, bad);
    const { publisher } = keepingPublisher();
    const { routes } = await control(api, publisher);
    await routes(["shop.web:web.example.com"]);
    await api.until(() => eventsOf(api, "bad").length === 1);

    expect(eventsOf(api, "bad")).toEqual([
      'Warning Rejected 1: annotation "ingress.gateway.io/timeout" is "soon", must be a duration such as "30s", "5m", "1h30m" or "90d"',
    ]);
    expect(eventsOf(api, "web")).toEqual([]);
    api.apply(ingress("bad", { host: "bad.example.com", annotations: { timeout: "30s" } }));
    await api.until(() => eventsOf(api, "bad").length === 2);
    expect(eventsOf(api, "bad")[1]).toBe("Normal Served 1: the gateway serves it");
  });

  test("reports once that annotations of another gateway are ignored, and Ingresses of other classes not served", async () => {
    const lines: string[] = [];
    const said = (text: string): number => lines.filter((line) => line.includes(text)).length;
    const strange = ingress("strange", { host: "strange.example.com" });
    const annotations = { ...strange.metadata.annotations, "ingress.pomerium.io/policy": "[]" };
    const theirs = ingress("theirs", { host: "theirs.example.com", ingressClass: "pomerium" });
    const foreign = { ...theirs, metadata: { ...theirs.metadata, name: "foreign", annotations: {}, generation: 1 } };
    const api = await startApi(service("web"), { ...strange, metadata: { ...strange.metadata, annotations } }, theirs);
    api.apply(foreign);
    const { publisher } = keepingPublisher();
    const { routes, controller, rounds } = await control(api, publisher, {
      log: createLog({ destination: { write: (line) => void lines.push(line) } }),
    });
    await routes(["shop.strange:strange.example.com"]);
    await api.until(() => eventsOf(api, "strange").length === 1 && eventsOf(api, "theirs").length === 1);
    const before = rounds.length;
    controller.wake({ republish: true });
    await expect.poll(() => rounds.length).toBeGreaterThan(before);

    expect(eventsOf(api, "strange")).toEqual([
      'Warning Questionable 1: has annotations that are ignored: "ingress.pomerium.io/policy"; those of this gateway start with "ingress.gateway.io/"',
    ]);
    expect(eventsOf(api, "theirs")).toEqual([
      'Warning Questionable 1: "spec.ingressClassName" is "pomerium": not served, though it has annotations of this gateway; name an IngressClass of this gateway',
    ]);
    expect(eventsOf(api, "foreign")).toEqual([]);
    expect(said("has annotations that are ignored")).toBe(1);
    expect(said("ingresses of other classes ignored")).toBe(1);
    expect(said("shop/theirs (pomerium)")).toBe(1);

    api.apply({ ...foreign, metadata: { ...foreign.metadata, generation: 2 } });
    await expect.poll(() => said("shop/foreign (pomerium)")).toBe(2);
    expect(said("shop/theirs (pomerium)")).toBe(1);
  });

  test("counts a repeated event up instead of writing another one", async () => {
    const api = await startApi(service("web"), bad);
    const first = await control(api, keepingPublisher().publisher);
    await api.until(() => eventsOf(api, "bad").length === 1);
    await first.controller.close();

    await control(api, keepingPublisher().publisher);
    await api.until(() => eventsOf(api, "bad").some((text) => text.startsWith("Warning Rejected 2")));

    expect(eventsOf(api, "bad")).toHaveLength(1);
  });

  test("takes its address from an Ingress that leaves the class, also after a restart, and from no other one", async () => {
    const address = { ip: "203.0.113.7" };
    const others = { ...ingress("other", { host: "other.example.com", ingressClass: "nginx" }) };
    const api = await startApi(web, { ...others, status: { loadBalancer: { ingress: [address] } } }, service("web"));
    const first = await control(api, keepingPublisher().publisher, { addresses: [address] });
    await api.until(() => statusOf(api, "web") !== undefined);
    await first.controller.close();
    const left = api.objects("ingresses").find(({ metadata }) => metadata.name === "web");
    api.apply({ ...left, spec: { ...(left?.["spec"] as object), ingressClassName: "nginx" } });
    await control(api, keepingPublisher().publisher, { addresses: [address] });
    await api.until(() => statusOf(api, "web") === undefined);
    expect(statusOf(api, "other")).toEqual([address]);
  });

  test("writes the address into the status of served Ingresses, and removes it from others", async () => {
    const api = await startApi(service("web"), web, {
      ...bad,
      status: { loadBalancer: { ingress: [{ ip: "203.0.113.7" }] } },
    });
    await control(api, keepingPublisher().publisher, { addresses: [{ ip: "203.0.113.7" }] });

    await api.until(() => statusOf(api, "web") !== undefined && statusOf(api, "bad") === undefined);

    expect(statusOf(api, "web")).toEqual([{ ip: "203.0.113.7" }]);
  });

  test("reports no problem of its own when a namespace is being deleted and rejects Events", async () => {
    const api = await startApi(service("web"), bad);
    api.terminate("shop");
    const lines: string[] = [];
    const { round } = await control(api, keepingPublisher().publisher, {
      log: createLog({ destination: { write: (line) => void lines.push(line) } }),
    });

    await round(({ outcome }) => outcome === "published");

    expect(lines.join("")).toContain("ingress has a problem");
    expect(lines.join("")).not.toContain("cannot write event");
  });

  test("retries when another client wrote the Ingress at the same time (409)", async () => {
    const api = await startApi(service("web"), web);
    api.beforeNextWrite(
      ({ path }) => path.endsWith("/status"),
      () => void api.apply({ ...web, metadata: { ...web.metadata, labels: { by: "somebody" } } }),
    );
    await control(api, keepingPublisher().publisher, { addresses: [{ hostname: "gateway.example.com" }] });

    await api.until(() => statusOf(api, "web") !== undefined);

    expect(api.objects("ingresses")[0]?.metadata).toMatchObject({ labels: { by: "somebody" } });
  });

  test("takes the address of a Service, and follows it", async () => {
    const lb = (ip: string): object => ({
      ...service("gateway"),
      status: { loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } },
    });
    const api = await startApi(service("web"), web, lb("203.0.113.1"));
    await control(api, keepingPublisher().publisher, { view: { addressService: "shop/gateway" } });
    await api.until(() => JSON.stringify(statusOf(api, "web")) === '[{"ip":"203.0.113.1"}]');

    api.apply(lb("203.0.113.2"));

    await api.until(() => JSON.stringify(statusOf(api, "web")) === '[{"ip":"203.0.113.2"}]');
  });

  test("reads only Secrets that an Ingress names, and publishes again when one changes", async () => {
    const annotations = { mcp_server: "true", mcp_server_upstream_oauth2_secret: "oauth" };
    const secret = (id: string): object => ({
      kind: "Secret",
      metadata: { name: "oauth", namespace: "shop" },
      data: { client_id: btoa(id) },
    });
    const other = {
      kind: "Secret",
      metadata: { name: "other", namespace: "shop" },
      data: { client_id: btoa("other") },
    };
    const api = await startApi(
      service("web"),
      ingress("mcp", { host: "mcp.example.com", annotations }),
      secret("one"),
      other,
    );
    const { publisher } = keepingPublisher();
    const { round } = await control(api, publisher);
    const hasId = (id: string) => (each: Round) =>
      JSON.stringify(each.translation?.slices ?? "").includes(`"client_id":"${id}"`);
    await round(hasId("one"));

    api.apply(secret("two"));
    await round(hasId("two"));

    const asked = api.seen.filter(({ path }) => path.includes("/secrets"));
    expect(
      asked.every(
        ({ path, query }) =>
          path === "/api/v1/namespaces/shop/secrets" && query.get("fieldSelector") === "metadata.name=oauth",
      ),
    ).toBe(true);
  });

  test("a Secret that cannot be read delays no other Ingress", async () => {
    const annotations = { mcp_server: "true", mcp_server_upstream_oauth2_secret: "oauth" };
    const api = await startApi(service("web"), web, ingress("mcp", { host: "mcp.example.com", annotations }));
    api.forbid(({ path }) => path.includes("/secrets") || path.includes("ingressclasses"));
    const { routes } = await control(api, keepingPublisher().publisher);

    await routes(["shop.web:web.example.com"]);
  });

  test("asks for endpoints only when an Ingress wants them, and follows them", async () => {
    const slice = (address: string): object => ({
      kind: "EndpointSlice",
      metadata: { name: "web-1", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: [{ addresses: [address] }],
    });
    const api = await startApi(service("web"), web, slice("10.0.0.1"));
    const { routes, round } = await control(api, keepingPublisher().publisher);
    await routes(["shop.web:web.example.com"]);
    expect(api.seen.some(({ path }) => path.includes("endpointslices"))).toBe(false);

    api.apply(ingress("web", { host: "web.example.com", annotations: { service_proxy_upstream: "false" } }));
    await round(
      ({ outcome, translation }) =>
        outcome === "published" && JSON.stringify(translation?.slices).includes("http://10.0.0.1:8080"),
    );
    api.apply(slice("10.0.0.2"));
    await round(
      ({ outcome, translation }) =>
        outcome === "published" && JSON.stringify(translation?.slices).includes("http://10.0.0.2:8080"),
    );
  });

  test("publishes nothing before everything was read", async () => {
    const api = await startApi(service("web"), web);
    const lift = api.forbid(({ path }) => path.endsWith("/services"));
    const { publisher, texts } = keepingPublisher();
    const { routes } = await control(api, publisher);
    await api.until(() => api.seen.filter(({ path }) => path.endsWith("/services")).length >= 5);

    expect(texts).toEqual([]);
    lift();
    await routes(["shop.web:web.example.com"]);
    expect(texts).toHaveLength(1);
  });

  test("a controller that does not lead publishes and writes nothing, until it leads", async () => {
    let leads = false;
    const api = await startApi(service("web"), web, bad);
    const { publisher, texts } = keepingPublisher();
    const { controller, round } = await control(api, publisher, {
      isLeader: () => leads,
      addresses: [{ ip: "203.0.113.7" }],
    });
    await round(({ outcome, translation }) => outcome === "waiting" && translation !== undefined);
    expect([texts, api.objects("events"), api.seen.filter(({ method }) => method !== "GET")]).toEqual([[], [], []]);

    leads = true;
    controller.wake({ republish: true });
    await round(({ outcome }) => outcome === "published");

    expect(texts).toHaveLength(1);
  });

  test("omits the Ingress that the gateway rejects, notifies its author, and serves the rest", async () => {
    const api = await startApi(service("web"), web, ingress("foreign", { host: "foreign.example.org" }));
    const place = ["routes", "shop.foreign:foreign.example.org", "from"];
    const { publisher, texts } = keepingPublisher((text) =>
      text.includes("foreign")
        ? {
            kind: "invalid",
            problems: [{ severity: "error", owner: "kubernetes.shop", path: place, message: "may not be served" }],
          }
        : { kind: "published" },
    );
    const { routes } = await control(api, publisher);

    await routes(["shop.web:web.example.com"]);
    await api.until(() => eventsOf(api, "foreign").length === 1);

    expect(eventsOf(api, "foreign")[0]).toContain('"spec.rules[0].host" may not be served');
    expect(texts).toHaveLength(2);
  });

  test("tries again, unasked, when publishing fails", async () => {
    let failures = 3;
    const api = await startApi(service("web"), web);
    const { publisher, texts } = keepingPublisher(() => {
      if (failures-- > 0) throw new GatewayError("publish.refused", "away");
      return { kind: "published" };
    });
    const { routes } = await control(api, publisher);

    await routes(["shop.web:web.example.com"]);

    expect(texts).toHaveLength(4);
  });

  test("publishes once for a flock of changes, and not for changes that change nothing", async () => {
    const api = await startApi(service("web"), web);
    const { publisher, texts } = keepingPublisher();
    const { routes, round } = await control(api, publisher);
    await routes(["shop.web:web.example.com"]);

    api.apply({ ...web, metadata: { ...web.metadata, labels: { changes: "nothing" } } });
    await round(({ outcome }) => outcome === "unchanged");

    expect(texts).toHaveLength(1);
  });
});

describe("createDirectoryPublisher()", () => {
  test("replaces its own slice whole, repairs a damaged one, and never touches a stranger's", async () => {
    const directory = await mkdtemp(join(tmpdir(), "gateway-ingress-"));
    closers.push(() => rm(directory, { recursive: true }));
    const publisher = createDirectoryPublisher(directory, "kubernetes");
    const file = join(directory, "kubernetes.shop.json");
    const slice = (routes: Slice["routes"]) => sliceTexts([{ version: 1, owner: "kubernetes.shop", routes }]);

    await publisher.publish(slice({}));
    await publisher.publish(slice({ a: { from: "https://a.example.com", to: "http://a" } }));
    expect(await readFile(file, "utf8")).toContain("a.example.com");
    await writeFile(file, "{ damaged");
    await publisher.publish(slice({}));
    expect(await readFile(file, "utf8")).toBe(slice({})[0]?.text);

    await writeFile(file, JSON.stringify({ version: 1, owner: "stranger", routes: {} }));
    await expect(publisher.publish(slice({}))).rejects.toMatchObject({ code: "publish.foreign" });
  });
});

describe("a gateway's admin address", () => {
  const yaml = `
idp_provider_url: https://login.example.com
idp_client_id: gateway
idp_client_secret: secret
runtime_flags: { mcp: true }
routes: []
`;

  async function gatewayAndPublisher() {
    const gateway = await startGateway({ yaml });
    closers.push(() => gateway.close());
    const directory = await mkdtemp(join(tmpdir(), "gateway-ingress-"));
    closers.push(() => rm(directory, { recursive: true }));
    const tokenFile = join(directory, "token");
    await writeFile(tokenFile, `${gateway.adminToken}\n`);
    return {
      gateway,
      publisher: createAdminPublisher({ url: gateway.adminOrigin, owner: "kubernetes", tokenFile }),
      tokenFile,
    };
  }

  test("gets the slice with secrets sealed to its key, and activates it before publishing ends", async () => {
    const { gateway, publisher } = await gatewayAndPublisher();
    const annotations = { mcp_server: "true", mcp_server_upstream_oauth2_secret: "oauth" };
    const secret = {
      kind: "Secret",
      metadata: { name: "oauth", namespace: "shop" },
      data: { client_id: btoa("gateway"), client_secret: btoa("hunter2") },
    };
    const api = await startApi(service("web"), web, ingress("mcp", { host: "mcp.example.com", annotations }), secret);
    const before = gateway.runtime.current().digest;

    const { round } = await control(api, publisher);
    const done = await round(({ outcome }) => outcome === "published");

    expect(done.translation?.problems).toEqual([]);
    expect(gateway.runtime.current().digest).not.toBe(before);
    expect(JSON.stringify(done.translation?.slices)).not.toContain("hunter2");
    const answer = await fetch(`${gateway.adminOrigin}/config/slices/kubernetes.shop`, {
      headers: { authorization: `Bearer ${gateway.adminToken}` },
    });
    expect(digestOf(await answer.json())).toBe(digestOf(done.translation?.slices[0]));
    expect(gateway.log()).not.toContain("hunter2");
  });

  test("names the Ingress that it rejects; the others are active", async () => {
    const { gateway, publisher } = await gatewayAndPublisher();
    // The authenticate host of this gateway serves no route: only the gateway knows that.
    await gateway.reconfigure(`${yaml}authenticate_service_url: https://auth.example.com\n`);
    const api = await startApi(service("web"), web, ingress("auth", { host: "auth.example.com" }));

    const { routes } = await control(api, publisher);
    await routes(["shop.web:web.example.com"]);
    await api.until(() => eventsOf(api, "auth").length === 1);

    expect(eventsOf(api, "auth")[0]).toContain('"spec.rules[0].host" has the host of "authenticate_service_url"');
  });

  test("rejects a namespace without permissions in the main configuration file; the others are active", async () => {
    const gateway = await startGateway({ yaml, boot: { owners: { "kubernetes.shop": {} } } });
    closers.push(() => gateway.close());
    const { tokenFile } = await gatewayAndPublisher();
    const publisher = createAdminPublisher({ url: gateway.adminOrigin, owner: "kubernetes", tokenFile });
    const foreign = ingress("foreign", { host: "foreign.example.com", namespace: "blog" });
    const api = await startApi(service("web"), service("web", "blog"), web, foreign);

    const { routes } = await control(api, publisher);
    await routes(["shop.web:web.example.com"]);
    await api.until(() => eventsOf(api, "foreign").length === 1);

    expect(eventsOf(api, "foreign")[0]).toContain("the gateway rejects its namespace");
    expect(eventsOf(api, "web")).toEqual([]);
  });

  test("rejects many Ingresses of one namespace, one at a time: the others are active", async () => {
    const { gateway, publisher } = await gatewayAndPublisher();
    await gateway.reconfigure(`${yaml}authenticate_service_url: https://auth.example.com\n`);
    // Where the oldest is refused the next one takes its place.
    const queue = Array.from({ length: 60 }, (_, index) =>
      ingress(`evil-${String(index).padStart(2, "0")}`, { host: "auth.example.com", namespace: "evil" }),
    );
    const api = await startApi(service("web"), service("web", "evil"), web, ...queue);

    const { round, routes } = await control(api, publisher);
    const first = await round(({ outcome }) => outcome === "published" || outcome === "failed");
    expect(first.outcome).toBe("published");
    await routes(["shop.web:web.example.com"]);
    await api.until(() => eventsOf(api, "evil-59").length > 0);
    expect(eventsOf(api, "evil-59").join("\n")).toContain("too many of its Ingresses");
  });

  test("rejects hundreds of values of one namespace: another one loses only its own bad one", async () => {
    const owners = { "kubernetes.*": { allowed_from: ["*.example.com"] } };
    const gateway = await startGateway({ yaml, boot: { owners } });
    closers.push(() => gateway.close());
    const { tokenFile } = await gatewayAndPublisher();
    const publisher = createAdminPublisher({ url: gateway.adminOrigin, owner: "kubernetes", tokenFile });
    const outside = ingress("outside", { host: "elsewhere.test" });
    const many = ingress("many", { host: "many.test", namespace: "zoo" });
    const rules = Array.from({ length: 250 }, (_, index) => ({ ...many.spec?.rules?.[0], host: `h${index}.test` }));
    const api = await startApi(service("web"), service("web", "zoo"), web, outside, {
      ...many,
      spec: { ...many.spec, rules },
    });

    const { routes } = await control(api, publisher);
    await routes(["shop.web:web.example.com"]);
    await api.until(() => eventsOf(api, "outside").length > 0);
    expect(eventsOf(api, "web")).toEqual([]);
  });

  test("refuses a wrong token, which no message repeats", async () => {
    const { publisher, tokenFile } = await gatewayAndPublisher();
    await writeFile(tokenFile, "wrong-token");

    const failure: unknown = await publisher.publish([]).catch((error: unknown) => error);

    expect(failure).toMatchObject({ code: "publish.refused" });
    expect(String(failure)).not.toContain("wrong-token");
  });
});
