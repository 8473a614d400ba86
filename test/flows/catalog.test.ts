/** The catalog of MCP servers as clients read it, with and without a token. Whole gateway. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Ajv } from "ajv";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { registryEndpoint } from "../../runtime/catalog/registry.ts";
import { NO_BLOCKS } from "../../runtime/identity/blocks.ts";
import { createExternalTokens, EVERY_SERVER } from "../../runtime/identity/external-token.ts";
import { createServiceAccount, mintServiceAccountToken } from "../../runtime/identity/tokens/service-accounts.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { snapshotFrom } from "../support/config.ts";
import { createFakeExchange } from "../support/fake-exchange.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { sendRaw } from "../support/raw-client.ts";
import { silentLog } from "../../runtime/shared/log.ts";

const SERVERS = "/.gateway/registry/v0.1/servers";
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1]);
const INTERNAL = "internal-host.example";
const route = (name: string, more: string): string =>
  `  - { name: ${name}, to: "http://${INTERNAL}:8080", mcp: { server: { path: /mcp } }, ${more} }\n`;
const PEOPLE = "policy: [{ allow: { and: [domain: example.com] } }]";
const ROBOTS = "policy: [{ allow: { and: [groups: robots] } }]";
const settings = (catalog: string): string => `
runtime_flags: { mcp: true }
idp_provider_url: http://127.0.0.1:9
idp_client_id: gateway
authenticate_service_url: "{origin}"
${catalog}
routes:
${route("wiki", `from: "https://wiki.example.com", ${PEOPLE}, catalog: public, title: Team wiki, description: "${"Pages. ".repeat(20)}", version: 2.0.1, documentation_url: "https://docs.example.com/wiki", contact: "mailto:wiki@example.com", icon: "data:image/png;base64,${PNG.toString("base64")}"`)}${route("orders", `from: "https://orders.example.com", ${ROBOTS}`)}${route("Builds (old)", `from: "https://builds.example.com", ${ROBOTS}, description: Builds of all teams`)}  - { name: app, from: "https://app.example.com", to: "http://${INTERNAL}:8080", allow_any_authenticated_user: true }
`;

let directory: string;
let gateway: TestGateway;
let store: Awaited<ReturnType<typeof openRecords>>;
let token: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-catalog-"));
  const storageUrl = `sqlite:${join(directory, "store.db")}`;
  gateway = await startGateway({ yaml: settings("mcp_catalog: public"), boot: { storage_url: storageUrl } });
  store = await openRecords(storageUrl, { clock: systemClock, log: silentLog() });
  const expiresAt = Math.floor(Date.now() / 1000) + 3600;
  const account = { name: "ci", email: "", groups: ["robots"], expiresAt, audience: EVERY_SERVER };
  const made = await createServiceAccount({ store, clock: systemClock }, account);
  if (!made.ok) throw new Error(made.reason);
  const tokens = createExternalTokens({ keys: createKeys([Buffer.alloc(32)]), clock: systemClock });
  token = mintServiceAccountToken(tokens, made, EVERY_SERVER, expiresAt);
});
afterAll(async () => {
  await store?.close();
  await gateway?.close();
  await rm(directory, { recursive: true, force: true });
});

const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(gateway.origin + path, { headers });
/** Of another host of the gateway. */
const getAt = (host: string, path: string) =>
  sendRaw(gateway.port, `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
const mine = () => ({ authorization: `Bearer ${token}` });

interface Listed {
  readonly servers: readonly { readonly server: Readonly<Record<string, unknown>>; readonly _meta: unknown }[];
  readonly metadata: { readonly count: number; readonly nextCursor?: string };
}

const list = async (query = "", headers: Readonly<Record<string, string>> = {}): Promise<Listed> =>
  (await get(SERVERS + query, headers).then((answer) => answer.json())) as Listed;
const names = ({ servers }: Listed): readonly unknown[] => servers.map(({ server }) => server["name"]);

const OLD_BUILDS = expect.stringMatching(/^com\.example\.builds\/Builds-old\.[0-9a-f]{16}$/) as unknown;

/** Members and bounds of server.json 2025-12-11 and server-card v1 that are used here. */
const COMMON = {
  name: { type: "string", minLength: 3, maxLength: 200, pattern: "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$" },
  description: { type: "string", minLength: 1, maxLength: 100 },
  title: { type: "string", minLength: 1, maxLength: 100 },
  version: { type: "string", maxLength: 255 },
  websiteUrl: { type: "string" },
  icons: {
    type: "array",
    items: {
      type: "object",
      required: ["src"],
      additionalProperties: false,
      properties: {
        src: { type: "string", maxLength: 255, pattern: "^https://" },
        mimeType: { enum: ["image/png", "image/jpeg", "image/webp"] },
      },
    },
  },
  remotes: {
    type: "array",
    items: {
      type: "object",
      required: ["type", "url"],
      additionalProperties: false,
      properties: {
        type: { enum: ["streamable-http", "sse"] },
        url: { type: "string", pattern: "^https?://[^\\s]+$" },
      },
    },
  },
};
const schemaOf = (address: string) => ({
  type: "object",
  required: ["$schema", "name", "description", "version"],
  additionalProperties: false,
  properties: { $schema: { const: address }, ...COMMON },
});
const ajv = new Ajv({ strict: true });
const isServerJson = ajv.compile(
  schemaOf("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
);
const isCard = ajv.compile(schemaOf("https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"));

describe("the registry", () => {
  test("lists public servers to everyone, with what server.json may have and nothing internal", async () => {
    const answer = await get(SERVERS, { cookie: "gateway_session=x" });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    expect(answer.headers.get("cache-control")).toBe("public, max-age=60");
    const text = await answer.text();
    expect(text).not.toContain(INTERNAL);
    expect(text).not.toContain("8080");
    const { servers, metadata } = JSON.parse(text) as Listed;
    expect(metadata).toEqual({ count: 1 });
    expect(servers[0]).toEqual({
      server: {
        $schema: expect.any(String) as string,
        name: "com.example.wiki/wiki",
        title: "Team wiki",
        description: `${"Pages. ".repeat(14)}P…`,
        version: "2.0.1",
        websiteUrl: "https://docs.example.com/wiki",
        icons: [
          {
            src: expect.stringMatching(/^https:\/\/wiki\.example\.com\/\.gateway\/icons\/[0-9a-f]{32}$/) as string,
            mimeType: "image/png",
          },
        ],
        remotes: [{ type: "streamable-http", url: "https://wiki.example.com/mcp" }],
      },
      _meta: { "io.modelcontextprotocol.registry/official": { status: "active", isLatest: true } },
    });
    expect([isServerJson(servers[0]?.server), isServerJson.errors]).toEqual([true, null]);
    const again = await get(SERVERS, { "if-none-match": answer.headers.get("etag") ?? "" });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  });

  test("lists to a caller with a token what their policy allows, also if it is public to others", async () => {
    const answer = await get(SERVERS, mine());
    expect(answer.headers.get("cache-control")).toBe("private, no-store");
    expect(answer.headers.get("etag")).toBeNull();
    const found = (await answer.json()) as Listed;
    expect(names(found)).toEqual([OLD_BUILDS, "com.example.orders/orders"]);
    for (const { server } of found.servers) expect([isServerJson(server), isServerJson.errors]).toEqual([true, null]);
  });

  test("has pages, a search and filters", async () => {
    const first = await list("?limit=1", mine());
    expect([names(first), first.metadata.count]).toEqual([[OLD_BUILDS], 1]);
    const second = await list(`?limit=1&cursor=${first.metadata.nextCursor}`, mine());
    expect(names(second)).toEqual(["com.example.orders/orders"]);
    // The one server behind it cannot be found by this caller.
    expect(second.metadata.nextCursor).toBeUndefined();
    expect(names(await list("?search=ALL%20TEAMS", mine()))).toEqual([OLD_BUILDS]);
    expect(names(await list("?version=2.0.1"))).toEqual(["com.example.wiki/wiki"]);
    expect(names(await list("?version=latest&updated_since=2026-11-30T12:00:00Z"))).toEqual(["com.example.wiki/wiki"]);
    expect(names(await list("?version=9"))).toEqual([]);
  });

  test("a cursor never names a server that its reader may not find", async () => {
    const base = snapshotFrom(
      settings("mcp_catalog: public")
        .replaceAll("{origin}", "https://auth.example.com")
        .replace("http://127.0.0.1:9", "https://idp.example.com"),
    );
    const [found, hidden] = ["wiki", "orders"].map((name) => base.routes.find((route) => route.name === name));
    if (!found || !hidden) throw new Error("no routes");
    const copies = Array.from({ length: 2_100 }, (_, index) => {
      const name = `secret-${index}`;
      return { ...hidden, name, key: `default/${name}` };
    });
    const snapshot = { ...base, routes: [...copies, found] };
    const endpoint = registryEndpoint({ programs: { ownBearer: () => undefined }, blocks: NO_BLOCKS });
    const read = async (query: string): Promise<Listed> => {
      let text = "";
      const respond = (_status: number, _headers: readonly string[], body?: Buffer | string) => (text = String(body));
      const exchange = createFakeExchange({ method: "GET", path: SERVERS });
      await endpoint.handle({ ...exchange, host: "auth.example.com", query, respond }, snapshot);
      return JSON.parse(text) as Listed;
    };
    const first = await read("");
    const { nextCursor = "" } = first.metadata;
    expect([names(first), Buffer.from(nextCursor, "base64url").toString()]).toEqual([[], ":2000"]);
    const second = await read(`?cursor=${nextCursor}`);
    expect([names(second), second.metadata.nextCursor]).toEqual([["com.example.wiki/wiki"], undefined]);
  });

  test.each([
    "?limit=0",
    "?limit=x",
    "?cursor=..",
    // ":1"
    "?cursor=OjE",
    "?updated_since=yesterday",
    `?search=${"x".repeat(101)}`,
    "?limit=1&limit=2",
  ])("rejects %s", async (query) => {
    const answer = await get(SERVERS + query);
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ error: "catalog.bad-request" }),
    ]);
  });

  test.each(["com.example.wiki%2Fwiki", "com.example.wiki%2fwiki", "com.example.wiki/wiki"])(
    "has the versions of %s",
    async (name) => {
      const all = (await get(`${SERVERS}/${name}/versions`).then((answer) => answer.json())) as Listed;
      expect(names(all)).toEqual(["com.example.wiki/wiki"]);
      for (const version of ["latest", "2.0.1"]) {
        const answer = await get(`${SERVERS}/${name}/versions/${version}`);
        expect([answer.status, await answer.json()]).toEqual([200, all.servers[0]]);
      }
    },
  );

  test.each([
    "com.example.wiki%2Fwiki/versions/1.0.0",
    "com.example.orders%2Forders/versions/latest",
    "com.example.none%2Fnone/versions",
    "com.example.wiki%2Fwiki",
  ])("has no sign of %s", async (path) => {
    const answer = await get(`${SERVERS}/${path}`);
    expect([answer.status, await answer.json()]).toEqual([
      404,
      expect.objectContaining({ error: "catalog.not-found" }),
    ]);
  });

  test.each([
    `${SERVERS}/a%2F..%2Fb/versions`,
    `${SERVERS}/a%2Fb%2Fversions`,
    `${SERVERS}/..%2Fa`,
    "/.gateway/registry%2Fv0.1/servers",
    "/a%2Fb",
    `/x${SERVERS}/a%2Fb`,
  ])("an escaped slash elsewhere is rejected: %s", async (path) => {
    expect((await getAt(`localhost:${gateway.port}`, path)).status).toBe(400);
  });

  test("answers the preflight of every page, and rejects other tokens instead of ignoring them", async () => {
    const preflight = await fetch(gateway.origin + SERVERS, {
      method: "OPTIONS",
      headers: { origin: "https://elsewhere.example", "access-control-request-method": "GET" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
    expect(preflight.headers.get("access-control-allow-headers")).toContain("authorization");
    expect(preflight.headers.get("access-control-allow-credentials")).toBeNull();
    for (const other of [`${token}x`, "something", `Basic x`]) {
      const answer = await get(SERVERS, { authorization: other.startsWith("Basic") ? other : `Bearer ${other}` });
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, 'Bearer error="invalid_token"']);
    }
  });

  test("is on the host of the sign-in pages only", async () => {
    expect((await getAt("wiki.example.com", SERVERS)).status).toBe(404);
  });
});

describe("discovery by domain", () => {
  test("leads from the catalog of a host to a card of each of its servers", async () => {
    const whole = await get("/.well-known/ai-catalog.json");
    expect(whole.headers.get("content-type")).toBe("application/ai-catalog+json");
    const catalog = await whole.json();
    expect(catalog).toEqual({
      specVersion: "1.0",
      entries: [
        {
          identifier: "urn:air:wiki.example.com:mcp:wiki",
          type: "application/mcp-server-card+json",
          url: "https://wiki.example.com/.gateway/server-cards/com.example.wiki/wiki",
        },
      ],
    });
    expect(JSON.parse((await getAt("wiki.example.com", "/.well-known/ai-catalog.json")).body)).toEqual(catalog);
    expect(JSON.parse((await getAt("orders.example.com", "/.well-known/ai-catalog.json")).body)).toEqual({
      specVersion: "1.0",
      entries: [],
    });
    const card = await getAt("wiki.example.com", "/.gateway/server-cards/com.example.wiki/wiki");
    expect([card.status, card.headers.get("content-type")]).toEqual([200, ["application/mcp-server-card+json"]]);
    expect([isCard(JSON.parse(Buffer.from(card.body, "latin1").toString())), isCard.errors]).toEqual([true, null]);
    expect(card.body).not.toContain(INTERNAL);
    expect((await getAt("orders.example.com", "/.gateway/server-cards/com.example.orders/orders")).status).toBe(404);
  });

  test("serves the icon as an image that can be nothing else", async () => {
    const { servers } = await list();
    const [{ src = "" } = {}] = (servers[0]?.server["icons"] ?? []) as readonly { readonly src?: string }[];
    const icon = await get(new URL(src).pathname);
    expect([icon.status, icon.headers.get("content-type"), Buffer.from(await icon.arrayBuffer())]).toEqual([
      200,
      "image/png",
      PNG,
    ]);
    expect(icon.headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
    expect(icon.headers.get("x-content-type-options")).toBe("nosniff");
    expect((await get("/.gateway/icons/0")).status).toBe(404);
  });
});

describe("without `mcp_catalog: public`", () => {
  test("`users` needs a token, and no setting means no catalog and no address of its own", async () => {
    await gateway.reconfigure(settings("mcp_catalog: users"));
    const answer = await get(SERVERS);
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect((await get("/.well-known/ai-catalog.json")).status).toBe(401);
    expect(names(await list("", mine()))).toHaveLength(2);
    await gateway.reconfigure(settings(""));
    expect((await get(SERVERS, mine())).status).toBe(404);
    // The request belongs to the host's application, as any other.
    const ofApplication = await getAt("app.example.com", "/.well-known/ai-catalog.json");
    expect([ofApplication.status, ofApplication.body]).toEqual([401, expect.stringContaining("sign-in.required")]);
  });
});
