/** Actions and the list of bundles over the provider's gRPC service, against the admin API and a whole gateway. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { readBlocks } from "../../runtime/identity/block-records.ts";
import { SESSIONS_TAG, userTag } from "../../runtime/identity/identity-records.ts";
import { actionSchemas } from "../../runtime/terraform/actions/actions.ts";
import { blockType } from "../../runtime/terraform/schema/schema-model.ts";
import { BUNDLE_TYPE, bundleListSchema, bundleSchema } from "../../runtime/terraform/schema/schema.ts";
import { UNKNOWN, type ValueMap, type ValueType } from "../../runtime/terraform/protocol/value.ts";
import type { Message } from "../../runtime/terraform/protocol/wire.ts";
import { type AdminApi, openAdminApi, OPERATOR_TOKEN, TEAM_TOKEN } from "../support/admin-api.ts";
import { createAdminClient } from "../support/admin-client.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { connectPlugin, dynamic, type PluginClient, valueOf } from "../support/plugin-client.ts";
import { type InProcessProvider, serveInProcess } from "../support/terraform.ts";

let provider: InProcessProvider;
let plugin: PluginClient;
let api: AdminApi;
let gateway: TestGateway;
beforeAll(async () => {
  provider = await serveInProcess();
  plugin = connectPlugin(provider.socketPath);
  api = await openAdminApi();
  gateway = await startGateway({
    yaml: "routes: []\n",
    boot: { owners: { team: { publish_token: TEAM_TOKEN, allowed_from: ["*.example.com"] }, other: {} } },
  });
  process.env["ACTION_TOKEN"] = OPERATOR_TOKEN;
  process.env["TEAM_TOKEN"] = TEAM_TOKEN;
  process.env["GATEWAY_ADMIN_TOKEN"] = gateway.adminToken;
});
afterAll(async () => {
  for (const name of ["ACTION_TOKEN", "TEAM_TOKEN", "GATEWAY_ADMIN_TOKEN"]) delete process.env[name];
  plugin.close();
  provider.close();
  await api.close();
  await gateway.close();
});

type Diagnostics = readonly { readonly severity: number; readonly summary: string; readonly detail: string }[];
const diagnosticsOf = ({ diagnostics }: Message): Diagnostics => diagnostics as Diagnostics;
const request = (typeName: string, config: ValueMap): Message => ({
  typeName,
  config: dynamic(blockType(actionSchemas[typeName]!), { url: api.origin, token_ref: "env:ACTION_TOKEN", ...config }),
});
const plan = async (typeName: string, config: ValueMap): Promise<Diagnostics> =>
  diagnosticsOf(await plugin.call("PlanAction", request(typeName, config)));
/** Progress, and the diagnostics of the end. */
const invoke = async (typeName: string, config: ValueMap): Promise<{ told: readonly string[]; ended: Diagnostics }> => {
  const events = await plugin.stream("InvokeAction", request(typeName, config));
  const told = events.flatMap(({ progress }) => (progress ? [(progress as { message: string }).message] : []));
  const ends = events.flatMap(({ completed }) => (completed ? [completed as Message] : []));
  expect(ends).toHaveLength(1);
  return { told, ended: diagnosticsOf(ends[0]!) };
};
const error = (text: string): object => ({ severity: 1, detail: expect.stringContaining(text) as string });

const USER = { user: "alice", reason: "left the company" };
const BLOCK = { kind: "tool", name: "drop", route: "team/db", until: "2h", reason: "it drops" };

test("actions and lists are announced with their schemas", async () => {
  const { actions, lists } = await plugin.call("GetMetadata", {});
  const names = ["gateway_block", "gateway_revoke_user", "gateway_rollback"];
  expect([actions, lists]).toEqual([names.map((name) => ({ name })), [{ name: BUNDLE_TYPE }]]);
  const schemas = await plugin.call("GetProviderSchema", {});
  expect(Object.keys(schemas["actions"] as object)).toEqual(names);
  expect(Object.keys(schemas["lists"] as object)).toEqual([BUNDLE_TYPE]);
});

describe("a plan says what the action will do", () => {
  test.each<[string, ValueMap, string]>([
    ["gateway_block", BLOCK, 'Blocks tool "drop" on route "team/db" in every process within 2 seconds, until "2h".'],
    ["gateway_block", { kind: "user", name: UNKNOWN, reason: "r" }, "Blocks user (known after apply) in every process"],
    ["gateway_revoke_user", USER, 'Ends all sessions of user "alice", and revokes the access of all their clients'],
    [
      "gateway_rollback",
      { owner: "team" },
      'Restores the slice of owner "team" as of the version before its last change',
    ],
    [
      "gateway_rollback",
      { owner: "team", to: 12 },
      'owner "team" as of generation 12, and removes it if there was none.',
    ],
    ["gateway_rollback", { owner: "team", to: UNKNOWN, url: UNKNOWN }, "as of generation (known after apply),"],
  ])("%s %j", async (typeName, config, text) => {
    const told = await plan(typeName, config);
    expect(told).toMatchObject([{ severity: 2, summary: expect.stringContaining(`Action ${typeName}: `) as string }]);
    expect(told[0]?.detail).toContain(text);
    expect(told[0]?.detail).toContain("Terraform cannot undo it.");
    expect(told[0]?.detail).not.toContain("left the company");
  });

  test.each<[string, ValueMap, string]>([
    ["gateway_block", { ...BLOCK, kind: "planet", route: null }, '"kind" is "planet", must be one of user, client'],
    ["gateway_block", { ...BLOCK, name: "a\u0007" }, '"name" must have 1 to 2048 characters'],
    ["gateway_block", { ...BLOCK, kind: "route", name: "db", route: null }, '"name" is "db", must be a route'],
    ["gateway_block", { ...BLOCK, route: "db" }, '"route" is "db", must be a route'],
    ["gateway_block", { ...BLOCK, kind: "user" }, '"route" is only for the kind "tool"'],
    ["gateway_block", { ...BLOCK, until: "yesterday" }, '"until" is "yesterday", must be a duration'],
    ["gateway_block", { ...BLOCK, reason: " " }, '"reason" must have 1 to 500 characters'],
    ["gateway_revoke_user", { ...USER, user: "" }, '"user" must have 1 to 2048 characters'],
    ["gateway_revoke_user", { ...USER, reason: "r".repeat(501) }, '"reason" must have 1 to 500 characters'],
    ["gateway_revoke_user", { ...USER, url: "http://me:hush@gateway" }, "must not hold a password"],
    ["gateway_revoke_user", { ...USER, token_ref: "hush-hush" }, '"token_ref" must be "env:NAME"'],
    ["gateway_rollback", { owner: "../team" }, '"owner" must be at most 127'],
    ["gateway_rollback", { owner: "team", to: 1.5 }, '"to" is 1.5, must be a generation'],
  ])("and so do validation and invocation what is wrong: %s %j", async (typeName, config, text) => {
    const planned = await plan(typeName, config);
    expect(planned).toMatchObject([error(text)]);
    expect(JSON.stringify(planned)).not.toContain("hush");
    expect(diagnosticsOf(await plugin.call("ValidateActionConfig", request(typeName, config)))).toEqual(planned);
    expect(await invoke(typeName, config)).toEqual({ told: [], ended: planned });
  });
});

describe("gateway_block", () => {
  test("blocks with a record, also a second time", async () => {
    expect(await invoke("gateway_block", BLOCK)).toEqual({ told: ["Blocked: tool drop on team/db"], ended: [] });
    expect((await invoke("gateway_block", { ...BLOCK, until: null })).ended).toEqual([]);
    expect((await readBlocks(api.store)).blocks).toMatchObject([{ kind: "tool", name: "drop", route: "team/db" }]);
    const record = { action: "block", by: "admin_token", reason: "it drops" };
    expect(api.actions.splice(0)).toMatchObject([record, record]);
  });

  test("reports what only the gateway knows to be wrong", async () => {
    const { ended } = await invoke("gateway_block", { ...BLOCK, until: "2020-01-01T00:00:00Z" });
    expect(ended).toMatchObject([error("it answered 400 (")]);
    expect(ended[0]?.detail).toContain("must be in the future");
    const asTeam = await invoke("gateway_block", { ...BLOCK, token_ref: "env:TEAM_TOKEN" });
    expect(asTeam).toMatchObject({ told: [], ended: [error('only valid for the slice of owner "team-a"')] });
    expect(JSON.stringify(asTeam)).not.toContain(TEAM_TOKEN);
  });
});

describe("gateway_revoke_user", () => {
  const expiresAt = (): number => Math.floor(api.clock.now() / 1000) + 3600;
  const addSession = (of: string, id: string): Promise<unknown> => {
    const tags = [SESSIONS_TAG, userTag(of)];
    return api.store.put(`session:${id}`, { schema: 1, userId: of, createdAt: 1 }, { expiresAt: expiresAt(), tags });
  };
  const addGrant = (of: string, id: string): Promise<unknown> => {
    const of_ = { clientId: "c", clientName: "C", userId: of, audience: "https://mcp.example.com", scope: "mcp" };
    const grant = { ...of_, createdAt: 1, sessionExpiresAt: expiresAt() };
    return api.store.put(`grant:${id}`, grant, { expiresAt: expiresAt(), tags: ["grants", "client:c", userTag(of)] });
  };

  test("ends sessions and grants of this user, over several pages, and nothing of others", async () => {
    const ids = Array.from({ length: 53 }, (_, index) => `s${index}`);
    for (const id of ids) await addSession("alice", id);
    await addSession("bob", "other");
    await addGrant("alice", "g1");
    await addGrant("bob", "g2");
    const { told, ended } = await invoke("gateway_revoke_user", USER);
    expect(ended).toEqual([]);
    expect(told).toEqual(["Ended so far: 50 sessions", "Ended: 53 sessions", "Ended: 1 grants"]);
    const left = async (kind: string): Promise<unknown> => (await api.ask(`/${kind}`)).json().items.map(({ id }) => id);
    expect([await left("sessions"), await left("grants")]).toEqual([["other"], ["g2"]]);
    expect(api.actions.splice(0)).toHaveLength(54);
  });

  test("warns when there is nothing, which may be a wrong name", async () => {
    const { told, ended } = await invoke("gateway_revoke_user", { ...USER, user: "alice@example.com" });
    expect(told).toEqual(["Ended: 0 sessions", "Ended: 0 grants"]);
    expect(ended).toMatchObject([{ severity: 2, summary: "Nothing to revoke" }]);
  });

  test("ends nothing for a server that lists more than a user can have", async () => {
    const methods: unknown[] = [];
    const items = Array.from({ length: 1001 }, (_, index) => ({ id: `${index}` }));
    const endless = createServer((asked, response) => {
      methods.push(asked.method);
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ items }));
    });
    const answer = await withServer(endless, (url) => invoke("gateway_revoke_user", { ...USER, url }));
    expect(answer.ended).toMatchObject([error("there are more than 1000; run the action again")]);
    expect(methods).toEqual(["GET"]);
  });
});

describe("gateway_rollback", () => {
  const here = { owner: "team", token_ref: null };
  const publish = async (host: string): Promise<unknown> => {
    const routes = { a: { from: `https://${host}`, to: ["http://10.0.0.1"], policy: [] } };
    const text = JSON.stringify({ version: 1, owner: "team", routes });
    const admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
    const first = await admin.publish("team", text);
    const answer = first.status === 412 ? await admin.publish("team", text, "*") : first;
    expect(answer.status, answer.text).toBe(200);
    return answer.body["generation"];
  };
  const current = async (): Promise<string> =>
    (await createAdminClient(gateway.adminOrigin, gateway.adminToken).get("/config/slices/team")).text;

  test("restores the version before, or a generation", async () => {
    const first = await publish("a.example.com");
    await publish("b.example.com");
    const back = await invoke("gateway_rollback", { ...here, url: gateway.adminOrigin });
    expect(back.ended).toEqual([]);
    expect(back.told.at(-1)).toMatch(/^Restored: generation \d+, active in every process$/);
    expect(await current()).toContain("a.example.com");
    await publish("c.example.com");
    const to = await invoke("gateway_rollback", { ...here, url: gateway.adminOrigin, to: first as number });
    expect(to.ended).toEqual([]);
    expect(await current()).toContain("a.example.com");
  });

  test.each<[string, ValueMap, string]>([
    ["an owner that never published", { owner: "other" }, "it answered 409"],
    ["a generation that is not kept", { to: 99 }, "it answered 409"],
    [
      "the token of another owner",
      { owner: "other", token_ref: "env:TEAM_TOKEN" },
      'only valid for the slice of owner "team"',
    ],
    ["the token of the owner", { token_ref: "env:TEAM_TOKEN" }, 'only valid for the slice of owner "team"'],
    ["a wrong token", { token_ref: "env:PATH" }, "it answered 401 (wrong token)"],
    ["no token", { token_ref: "env:NOT_SET_AT_ALL" }, "the environment variable is not set"],
    ["no gateway", { url: "http://127.0.0.1:1" }, "Cannot reach the gateway"],
  ])("is refused with a reason: %s", async (_name, config, text) => {
    const before = await current();
    const { ended } = await invoke("gateway_rollback", { ...here, url: gateway.adminOrigin, ...config });
    expect(ended).toMatchObject([error(text)]);
    expect(JSON.stringify(ended)).not.toContain(TEAM_TOKEN);
    expect(await current()).toBe(before);
  });
});

describe("other servers", () => {
  test.each<[string, ValueMap]>([
    ["gateway_block", BLOCK],
    ["gateway_revoke_user", USER],
    ["gateway_rollback", { owner: "team" }],
  ])("that answer anything, or repeat the token: %s", async (typeName, config) => {
    for (const [status, body, text] of [
      [200, "{}", "is not that of a gateway"],
      [200, "<html>", "is not that of a gateway"],
      [400, JSON.stringify({ message: `sent: Bearer ${OPERATOR_TOKEN}` }), "it answered 400 ("],
      [302, "", "it answered 302"],
    ] as const) {
      const server = createServer((_, response) => void response.writeHead(status, { location: "/x" }).end(body));
      const { ended } = await withServer(server, (url) => invoke(typeName, { ...config, url }));
      expect(ended).toMatchObject([error(text)]);
      expect(JSON.stringify(ended)).not.toContain(OPERATOR_TOKEN);
    }
  });

  test("report a gateway that is not done, with the processes that lag", async () => {
    const laggards = [{ id: "p1", reason: "is restarting\u001b[2J" }, null];
    const body = JSON.stringify({ generation: 7, changed: true, laggards });
    const server = createServer((_, response) => void response.writeHead(202).end(body));
    const { ended } = await withServer(server, (url) => invoke("gateway_rollback", { owner: "team", url }));
    expect(ended).toMatchObject([error("it is stored as generation 7, but not active in every process:\n  p1 is")]);
    expect(ended[0]?.detail).not.toContain("\u001b");
  });
});

describe("the list of bundles", () => {
  const identityType: ValueType = ["object", { directory: "string", owner: "string", url: "string" }];
  const list = (config: ValueMap, more: Message = { limit: 100 }): Promise<readonly Message[]> =>
    plugin.stream("ListResource", {
      typeName: BUNDLE_TYPE,
      config: dynamic(blockType(bundleListSchema), config),
      ...more,
    });
  const identities = (events: readonly Message[]): unknown[] =>
    events.map(({ identity }) => valueOf(identityType, (identity as { data: unknown }).data));

  test("has what a gateway publishes, with its routes when asked", async () => {
    const url = gateway.adminOrigin;
    const events = await list({ url: `${url}/` });
    expect(identities(events)).toEqual([{ owner: "team", directory: null, url }]);
    expect(events[0]).toMatchObject({ name: "team", diagnostics: [] });
    expect(events[0]?.["state"]).toBeUndefined();
    const [whole] = await list({ url }, { limit: 1, withState: true });
    expect(valueOf(blockType(bundleSchema), whole?.["state"])).toMatchObject({
      owner: "team",
      http: { url },
      route: { a: { from: "https://a.example.com" } },
    });
  });

  test("has no secret in plain text", async () => {
    const directory = mkdtempSync(join(tmpdir(), "gw-list-"));
    const upstream_oauth2 = { client_id: "c", client_secret: "hush" };
    const mcp = { server: { upstream_oauth2 } };
    const routes = { a: { from: "https://a.example.com", to: ["http://10.0.0.1"], policy: [], mcp } };
    const settings = { idp_client_secret: "hush", idp_client_id: "gateway" };
    writeFileSync(join(directory, "a.json"), JSON.stringify({ version: 1, owner: "a", settings, routes }));
    const [listed] = await list({ directory }, { limit: 1, withState: true });
    expect(listed?.["diagnostics"]).toEqual([]);
    const state = valueOf(blockType(bundleSchema), listed?.["state"]);
    expect(state).toMatchObject({ idp_client_id: "gateway", route: { a: { from: "https://a.example.com" } } });
    expect(JSON.stringify(state)).not.toContain("hush");
    rmSync(directory, { recursive: true });
  });

  test("has the slices of a directory up to the limit, and hides none because of another", async () => {
    const directory = mkdtempSync(join(tmpdir(), "gw-list-"));
    for (const owner of ["c", "a"]) writeFileSync(join(directory, `${owner}.json`), `{"owner": "${owner}"}`);
    for (const name of ["b.json", "gateway.json", "Not an owner.json", "a.json.claim"])
      writeFileSync(join(directory, name), "{");
    mkdirSync(join(directory, "d.json"));
    const at = (owner: string): object => ({ owner, directory, url: null });
    expect(identities(await list({ directory }))).toEqual([at("a"), at("b"), at("c"), at("d")]);
    expect(identities(await list({ directory }, { limit: 2 }))).toEqual([at("a"), at("b")]);
    const whole = await list({ directory }, { limit: 100, withState: true });
    expect(
      whole.map(({ name, state, diagnostics }) => [name, state !== undefined, (diagnostics as object[]).length]),
    ).toEqual([
      ["a", true, 0],
      ["b", false, 1],
      ["c", true, 0],
      ["d", false, 1],
    ]);
    rmSync(directory, { recursive: true });
  });

  test.each<[string, ValueMap, string]>([
    ["no directory", { directory: "/nowhere/at/all" }, 'Cannot list the slices in "/nowhere/at/all"'],
    ["no gateway", { url: "http://127.0.0.1:1" }, "Cannot reach the gateway"],
  ])("fails with a reason: %s", async (_name, config, text) => {
    expect(diagnosticsOf((await list(config))[0]!)).toMatchObject([error(text)]);
  });

  test.each<[string, ValueMap, string]>([
    ["two places", { url: "http://127.0.0.1:1", directory: "/x" }, 'Set either "url" or "directory"'],
    ["no place", {}, 'Set either "url" or "directory"'],
    ["a password", { url: "http://me:hush@127.0.0.1:1" }, "must not hold a password"],
  ])("is refused: %s", async (_name, config, text) => {
    const asked = { typeName: BUNDLE_TYPE, config: dynamic(blockType(bundleListSchema), config) };
    const answer = diagnosticsOf(await plugin.call("ValidateListResourceConfig", asked));
    expect(answer).toMatchObject([error(text)]);
    expect(JSON.stringify(answer)).not.toContain("hush");
  });
});

async function withServer<T>(server: ReturnType<typeof createServer>, use: (url: string) => Promise<T>): Promise<T> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
