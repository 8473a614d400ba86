/** From one slice of all namespaces to one for each, and between namespaces, while a gateway serves requests. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";

import type { Slice } from "../../../../runtime/config/slice.ts";
import { startGateway, type Gateway } from "../../../../runtime/gateway.ts";
import { createDirectoryPublisher } from "../../../../runtime/kubernetes/controller/directory-publisher.ts";
import {
  createAdminPublisher,
  type SlicePublisher,
  sliceTexts,
} from "../../../../runtime/kubernetes/controller/publisher.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { startEchoUpstream, type EchoUpstream } from "../../../support/echo-upstream.ts";

const TOKEN = "admin-token-of-the-publishing-tests";

interface Place {
  readonly gateway: Gateway;
  readonly publisher: SlicePublisher;
  /** Publishes another publisher's slice, without the controller. */
  put(slice: Slice): Promise<void>;
  /** Owners of the slices that are there. */
  owners(): Promise<readonly string[]>;
  close(): Promise<void>;
}

let upstream: EchoUpstream;
beforeAll(async () => {
  upstream = await startEchoUpstream();
});
afterAll(() => upstream.close());

/** @param route "<namespace>.<ingress>" → host */
function slice(owner: string, routes: Readonly<Record<string, string>>): Slice {
  const docs = Object.entries(routes).map(([ingress, host]) => [
    `${ingress}:${host}`,
    {
      from: `http://${host}`,
      to: upstream.origin,
      allow_public_unauthenticated_access: true,
      set_request_headers: { "x-owner": owner },
    },
  ]);
  return { version: 1, owner, routes: Object.fromEntries(docs) as Slice["routes"] };
}

async function startPlace(kind: "directory" | "admin"): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-publishing-"));
  const boot = {
    address: "127.0.0.1:0",
    admin_address: "127.0.0.1:0",
    admin_token: TOKEN,
    insecure_server: true,
    development: true,
    shared_secret: Buffer.alloc(32, 7).toString("base64"),
    storage_url: "memory:",
    authorize_log: join(folder, "log", "authorize.log"),
    routes: [],
  };
  await mkdir(join(folder, "log"));
  await writeFile(join(folder, "gateway.yaml"), stringify(boot));
  await writeFile(join(folder, "token"), TOKEN);
  const gateway = await startGateway({ config: folder, log: silentLog() });
  const close = async (): Promise<void> => {
    await gateway.close();
    await rm(folder, { recursive: true });
  };
  if (kind === "directory") {
    return {
      gateway,
      publisher: createDirectoryPublisher(folder, "kubernetes"),
      put: (some) => writeFile(join(folder, `${some.owner}.json`), JSON.stringify(some)),
      owners: async () => (await readdir(folder)).flatMap((name) => /^(.+)\.json$/.exec(name)?.[1] ?? []).toSorted(),
      close,
    };
  }
  const url = `${gateway.adminOrigin}/config/slices`;
  const headers = { authorization: `Bearer ${TOKEN}` };
  return {
    gateway,
    publisher: createAdminPublisher({
      url: gateway.adminOrigin,
      owner: "kubernetes",
      tokenFile: join(folder, "token"),
    }),
    async put(some) {
      const answer = await fetch(`${url}/${some.owner}`, {
        method: "PUT",
        headers: { ...headers, "if-none-match": "*" },
        body: JSON.stringify(some),
      });
      expect(answer.status).toBe(200);
    },
    async owners() {
      const { slices } = (await (await fetch(url, { headers })).json()) as { slices: readonly { owner: string }[] };
      return slices.map(({ owner }) => owner);
    },
    close,
  };
}

describe.each(["directory", "admin"] as const)("slices of namespaces (%s)", (kind) => {
  let place: Place;
  beforeEach(async () => {
    place = await startPlace(kind);
    return () => place.close();
  });

  function ask(host: string): Promise<{ readonly status: number; readonly owner: string }> {
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port: place.gateway.port, headers: { host }, agent: false };
      const sent = request(options, (answer) => {
        let body = "";
        answer.on("data", (chunk: Buffer) => (body += chunk.toString()));
        answer.once("end", () =>
          resolve({ status: answer.statusCode ?? 0, owner: /"x-owner": ?"([^"]*)"/.exec(body)?.[1] ?? "" }),
        );
      });
      sent.once("error", reject);
      sent.end();
    });
  }

  /** A directory is read when the gateway comes to it. */
  const served = (host: string, owner: string): Promise<void> =>
    expect.poll(async () => (await ask(host)).owner).toBe(owner);

  /** Statuses of the requests to these hosts that were answered while `act` went on. */
  async function during(hosts: readonly string[], act: () => Promise<void>): Promise<ReadonlySet<number>> {
    const statuses = new Set<number>();
    const over = new AbortController();
    const asking = hosts.map(async (host) => {
      while (!over.signal.aborted) statuses.add((await ask(host)).status);
    });
    await act();
    over.abort();
    await Promise.all(asking);
    return statuses;
  }

  /**
   * A missing host is 404. 403: the route was removed while its request was in flight, which ends the right to a response
   * (D11).
   */
  const unexpected = (statuses: ReadonlySet<number>): readonly number[] =>
    [...statuses].filter((status) => status !== 200 && status !== 403);

  const shop = (): Slice => slice("kubernetes.shop", { "shop.web": "shop.example.com" });
  const blog = (): Slice => slice("kubernetes.blog", { "blog.web": "blog.example.com" });

  test("take the place of the one slice of an earlier version, and no request is missed", async () => {
    await place.put(slice("kubernetes", { "shop.web": "shop.example.com", "blog.web": "blog.example.com" }));
    await served("shop.example.com", "kubernetes");

    const statuses = await during(["shop.example.com", "blog.example.com"], async () => {
      expect(await place.publisher.publish(sliceTexts([blog(), shop()]))).toEqual({ kind: "published" });
      await served("shop.example.com", "kubernetes.shop");
    });

    expect(unexpected(statuses)).toEqual([]);
    expect(await place.owners()).toEqual(["kubernetes.blog", "kubernetes.shop"]);
  });

  test("hand a host to another namespace, and no request is missed", async () => {
    await place.publisher.publish(sliceTexts([blog(), shop()]));
    await served("shop.example.com", "kubernetes.shop");

    const statuses = await during(["shop.example.com", "blog.example.com"], async () => {
      // Each gets the other's.
      const swapped = [
        slice("kubernetes.blog", { "blog.web": "shop.example.com" }),
        slice("kubernetes.shop", { "shop.web": "blog.example.com" }),
      ];
      await place.publisher.publish(sliceTexts(swapped));
      await served("shop.example.com", "kubernetes.blog");
    });

    expect(unexpected(statuses)).toEqual([]);
  });

  test("are removed when their namespace has no Ingress, also after a restart of the controller", async () => {
    await place.publisher.publish(sliceTexts([blog(), shop()]));
    await served("shop.example.com", "kubernetes.shop");

    // It has nothing in mind but what is there.
    await place.publisher.publish(sliceTexts([blog()]));
    await served("shop.example.com", "");

    expect(await place.owners()).toEqual(["kubernetes.blog"]);
    expect((await ask("shop.example.com")).status).toBe(404);
  });

  test("of other publishers are never removed, whatever their names", async () => {
    await place.put({ ...slice("kubernetes.terraform", { main: "one.example.com" }) });
    await place.put({ version: 1, owner: "kubernetes.a.b", routes: {} });
    await place.put({ version: 1, owner: "team", routes: {} });
    await served("one.example.com", "kubernetes.terraform");

    await place.publisher.publish(sliceTexts([shop()]));
    await served("shop.example.com", "kubernetes.shop");

    expect(await place.owners()).toEqual(["kubernetes.a.b", "kubernetes.shop", "kubernetes.terraform", "team"]);
  });
});

describe("a directory", () => {
  test("with a file that is a stranger's holds up no other namespace", async () => {
    const place = await startPlace("directory");
    try {
      const directory = place.publisher.place;
      await writeFile(join(directory, "kubernetes.a.json"), JSON.stringify({ version: 1, owner: "other", routes: {} }));
      const slices = [
        slice("kubernetes.a", { "a.web": "a.example.com" }),
        slice("kubernetes.b", { "b.web": "b.example.com" }),
      ];

      await expect(place.publisher.publish(sliceTexts(slices))).rejects.toMatchObject({ code: "publish.foreign" });

      expect(await place.owners()).toContain("kubernetes.b");
    } finally {
      await place.close();
    }
  });
});
