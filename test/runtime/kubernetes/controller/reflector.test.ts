/** Copies of collections, against an API server that behaves and misbehaves like a real one. */
import { afterEach, describe, expect, test, vi } from "vitest";

import { POLL_MS } from "../../../support/limits.ts";
import { createBackoff } from "../../../../runtime/shared/backoff.ts";
import { createKubeClient } from "../../../../runtime/kubernetes/controller/client.ts";
import { collectionPath, KubeError } from "../../../../runtime/kubernetes/controller/kube-client.ts";
import type { Ingress } from "../../../../runtime/kubernetes/translate/objects.ts";
import { Reflector, type ReflectorOptions } from "../../../../runtime/kubernetes/controller/reflector.ts";
import { createLog, silentLog } from "../../../../runtime/shared/log.ts";
import { startKubeApi, type KubeApi, type SeenRequest } from "../../../support/kube-api.ts";
import { ingress } from "../../../support/kube-manifests.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function setup(options: Partial<ReflectorOptions> & { readonly before?: (api: KubeApi) => void } = {}) {
  const { before, ...more } = options;
  const api = await startKubeApi();
  closers.push(() => api.close());
  before?.(api);
  const client = await createKubeClient({ kubeconfig: api.kubeconfig });
  closers.push(() => client.close());
  const waiting = new Set<() => void>();
  const reflector = new Reflector<Ingress>({
    client,
    path: collectionPath("ingresses"),
    onChange: () => waiting.forEach((look) => look()),
    log: silentLog(),
    backoff: createBackoff({ firstMs: 1, mostMs: 5 }),
    ...more,
  });
  closers.push(() => reflector.close());
  const names = (): readonly string[] => [...reflector.items().keys()].toSorted();
  /** Resolves when the copy holds exactly these. */
  const holds = (...wanted: readonly string[]): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (names().join() !== wanted.map((name) => `shop/${name}`).join() || !reflector.isSynced()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return { api, reflector, names, holds };
}

const one = ingress("one", { host: "one.example.com" });
const two = ingress("two", { host: "two.example.com" });
const isList = ({ query }: SeenRequest): boolean => query.get("watch") !== "true";
const lists = (api: KubeApi): number => api.seen.filter((each) => isList(each) && !each.query.has("continue")).length;
const lastWatch = (api: KubeApi) => api.seen.findLast((each) => !isList(each))?.query;

describe("Reflector", () => {
  test("says that it may not read, once, and again after it could", async () => {
    const lines: string[] = [];
    let lift = (): void => {};
    const { api, reflector, holds } = await setup({
      before(api) {
        api.apply(one);
        lift = api.forbid(() => true);
      },
      log: createLog({ destination: { write: (line) => void lines.push(line) } }),
    });
    await api.until(() => api.seen.length >= 4);
    expect([reflector.isForbidden(), reflector.isSynced(), lines.length]).toEqual([true, false, 1]);
    lift();
    await holds("one");
    expect(reflector.isForbidden()).toBe(false);

    const before = api.seen.length;
    api.forbid(() => true);
    api.cutWatches();
    await api.until(() => api.seen.length >= before + 3);
    await vi.waitFor(() => expect(lines.filter((line) => line.includes("Forbidden"))).toHaveLength(2), {
      timeout: POLL_MS,
    });
  });

  test("lists, then follows additions, changes and removals", async () => {
    const { api, reflector, holds } = await setup({ before: (api) => api.apply(one) });
    await holds("one");

    await api.until(() => api.watches() === 1);
    api.apply(two);
    await holds("one", "two");
    api.apply({ ...one, metadata: { ...one.metadata, labels: { changed: "yes" } } });
    api.remove("ingresses", "shop", "two");
    await holds("one");

    expect(reflector.items().get("shop/one")?.metadata.labels).toEqual({ changed: "yes" });
    expect(lists(api)).toBe(1);
  });

  test("reads lists page by page", async () => {
    const all = Array.from({ length: 7 }, (_, index) => `i${index}`);
    const { api, holds } = await setup({
      pageSize: 3,
      before: (api) => all.forEach((name) => api.apply(ingress(name, { host: `${name}.example.com` }))),
    });

    await holds(...all);

    expect(api.seen.filter(isList)).toHaveLength(3);
  });

  test("restarts a list whose next page is gone", async () => {
    let compacted = false;
    const { api, holds } = await setup({
      pageSize: 1,
      before: (api) => {
        api.apply(one);
        api.apply(two);
        // Between the first page and the second one.
        void api.saw(isList).then(() => {
          if (compacted) return;
          compacted = true;
          api.apply(ingress("three", { host: "three.example.com" }));
          api.compact();
        });
      },
    });

    await holds("one", "three", "two");

    expect(api.seen.some(({ query }) => query.has("continue"))).toBe(true);
  });

  test("continues from the last version when a watch ends in the middle of a line", async () => {
    const { api, holds } = await setup({ before: (api) => api.apply(one) });
    await holds("one");
    await api.until(() => api.watches() === 1);

    api.cutWatches();
    await api.until(() => api.watches() === 0);
    api.apply(two);
    await holds("one", "two");

    expect(lists(api)).toBe(1);
  });

  test("continues from a bookmark, so that quiet collections are not listed again", async () => {
    const { api, holds } = await setup({ before: (api) => api.apply(one), watchSeconds: 1 });
    await holds("one");
    await api.until(() => api.watches() === 1);

    // Others write; the version of our collection falls behind what the server keeps.
    api.apply({ kind: "Service", metadata: { name: "web", namespace: "shop" } });
    api.bookmark();
    api.compact();
    const before = lastWatch(api)?.get("resourceVersion");
    await api.until(() => lastWatch(api)?.get("resourceVersion") !== before);

    expect(lastWatch(api)?.get("allowWatchBookmarks")).toBe("true");
    expect(lists(api)).toBe(1);
  });

  test("lists again after 410 Gone, and drops objects that were removed meanwhile", async () => {
    const { api, holds } = await setup({
      before: (api) => {
        api.apply(one);
        api.apply(two);
      },
    });
    await holds("one", "two");
    await api.until(() => api.watches() === 1);

    api.fail(1, 503, (request) => !isList(request));
    api.cutWatches();
    await api.until(() => api.watches() === 0);
    api.remove("ingresses", "shop", "two");
    api.compact();
    await holds("one");

    expect(lists(api)).toBe(2);
  });

  test("lists again when the status of a watch is 410", async () => {
    const { api, holds } = await setup({ before: (api) => api.apply(one) });
    await holds("one");
    await api.until(() => api.watches() === 1);

    api.fail(1, 410, (request) => !isList(request));
    api.cutWatches();
    await api.until(() => lists(api) === 2);
    await api.until(() => api.watches() === 1);
  });

  test.each([
    ["no JSON", "this is no event\n"],
    ["no event", "[1]\n"],
    ["an event of unknown type", '{"type":"RENAMED","object":{"metadata":{"name":"x","resourceVersion":"5"}}}\n'],
    ["an event without version", '{"type":"MODIFIED","object":{"metadata":{"name":"x"}}}\n'],
    ["an event without a name", '{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"5"}}}\n'],
  ])("treats %s as a missed change, and lists again", async (_, line) => {
    const { api, names, holds } = await setup({ before: (api) => api.apply(one) });
    await holds("one");
    await api.until(() => api.watches() === 1);

    api.garble(line);
    await api.until(() => lists(api) === 2);
    await api.until(() => api.watches() === 1);
    api.apply(two);
    await holds("one", "two");

    expect(names()).toEqual(["shop/one", "shop/two"]);
  });

  test("a watch on which nothing happens is opened again without a warning, a pause and a problem", async () => {
    const api = await startKubeApi();
    closers.push(() => api.close());
    api.apply(one);
    const client = await createKubeClient({ kubeconfig: api.kubeconfig, silenceMs: 50 });
    closers.push(() => client.close());
    const lines: string[] = [];
    const reflector = new Reflector<Ingress>({
      client,
      path: collectionPath("ingresses"),
      onChange: () => {},
      log: createLog({ destination: { write: (line) => void lines.push(line) } }),
      // A pause would last longer than the test.
      backoff: createBackoff({ firstMs: 3_600_000, mostMs: 3_600_000 }),
    });
    closers.push(() => reflector.close());

    await api.until(() => api.seen.filter((each) => !isList(each)).length === 3);

    expect(lines).toEqual([]);
    expect(reflector.problem()).toBeUndefined();
    expect(lists(api)).toBe(1);
  });

  test("restarts when a watch is silent without an end", async () => {
    const { api, holds } = await setup({ before: (api) => api.apply(one), watchSeconds: 0.05, graceMs: 100 });
    await holds("one");
    await api.until(() => api.watches() === 1);

    api.silence();
    api.apply(two);
    await holds("one", "two");

    expect(lists(api)).toBe(1);
  });

  test("keeps its objects while the server is unavailable, and recovers afterwards", async () => {
    const { api, names, reflector, holds } = await setup({ before: (api) => api.apply(one) });
    await holds("one");
    await api.until(() => api.watches() === 1);

    api.fail(5, 500);
    api.cutWatches();
    await api.until(() => api.watches() === 0);
    expect([names(), reflector.isSynced()]).toEqual([["shop/one"], true]);
    api.apply(two);
    await holds("one", "two");
  });

  test("is not synced while it may not list, and syncs when it may", async () => {
    let lift: () => void = () => {};
    const { api, reflector, holds } = await setup({
      before: (api) => {
        api.apply(one);
        lift = api.forbid(isList);
      },
    });

    await api.until(() => lists(api) >= 3);
    expect(reflector.isSynced()).toBe(false);
    lift();
    await holds("one");
  });

  test("asks for one object by its name", async () => {
    const { api, holds } = await setup({
      fieldSelector: "metadata.name=two",
      before: (api) => {
        api.apply(one);
        api.apply(two);
      },
    });

    await holds("two");
    await api.until(() => api.watches() === 1);

    expect(api.seen.every(({ query }) => query.get("fieldSelector") === "metadata.name=two")).toBe(true);
  });
});

describe("createKubeClient()", () => {
  test("reports status and reason of a rejection, and never the token", async () => {
    const api = await startKubeApi();
    closers.push(() => api.close());
    const client = await createKubeClient({ kubeconfig: api.kubeconfig });
    closers.push(() => client.close());

    const failure: unknown = await client
      .request({ method: "GET", path: "/api/v1/namespaces/shop/secrets/x" })
      .catch((e) => e);

    expect(failure).toBeInstanceOf(KubeError);
    expect(failure).toMatchObject({ code: "kube.refused", status: 404, reason: "NotFound" });
    expect(String(failure)).not.toContain(api.token);
  });

  test("is refused with a wrong token", async () => {
    const api = await startKubeApi();
    closers.push(() => api.close());
    const client = await createKubeClient({ kubeconfig: api.kubeconfig.replace(api.token, "wrong") });
    closers.push(() => client.close());

    await expect(client.request({ method: "GET", path: "/api/v1/services" })).rejects.toMatchObject({ status: 401 });
  });

  test("says that a cluster cannot be reached", async () => {
    const api = await startKubeApi();
    await api.close();
    const client = await createKubeClient({ kubeconfig: api.kubeconfig });
    closers.push(() => client.close());

    await expect(client.request({ method: "GET", path: "/api/v1/services" })).rejects.toMatchObject({
      code: "kube.unreachable",
    });
  });

  test.each([["no YAML at all: ["], ["{}"]])("refuses a kubeconfig that is %j", async (kubeconfig) => {
    await expect(createKubeClient({ kubeconfig })).rejects.toMatchObject({ code: "kube.config" });
  });
});
