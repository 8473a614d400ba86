/**
 * Tokens of owners: a team, or a thief of its token, tries to reach another team's slice, the operator's pages, or others'
 * configuration.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { publishScope, scopedOutcome, scopedStatus } from "../../runtime/admin-listener/publish-scope.ts";
import { PRESENCE_TAG, presenceKey } from "../../runtime/bundle/presence.ts";
import type { Problem } from "../../runtime/config/load.ts";
import { createAdminPublisher, sliceTexts } from "../../runtime/kubernetes/controller/publisher.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { createHttpTarget } from "../../runtime/terraform/publish/publish-http.ts";
import { sealSecret } from "../../runtime/terraform/resource/seal.ts";
import { type AdminAnswer, type AdminClient, createAdminClient } from "../support/admin-client.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";

const A = "publish-token-of-team-a";
const A_NEXT = "next-publish-token-of-team-a";
const B = "publish-token-of-team-b";
const CLUSTER = "publish-token-of-the-controller";
const SECRETS = [A, A_NEXT, B, CLUSTER, "admin-token-of-the-tests"];
const OWNERS = {
  "team-a": { publish_token: [A, A_NEXT], allowed_from: ["*.a.example"] },
  "team-b": { publish_token_ref: "env:TEAM_B_PUBLISH_TOKEN" },
  "team-a.other": {},
  "kubernetes.*": { publish_token: CLUSTER },
  "kubernetes.payments": { allowed_from: ["pay.example"] },
};

let directory: string;
let storageUrl: string;
let gateway: TestGateway;
let operator: AdminClient;
let teamA: AdminClient;
let teamB: AdminClient;
let cluster: AdminClient;

beforeAll(async () => {
  process.env["TEAM_B_PUBLISH_TOKEN"] = B;
  directory = await mkdtemp(join(tmpdir(), "gateway-publish-tokens-"));
  storageUrl = `sqlite:${join(directory, "gateway.db")}`;
  gateway = await startGateway({ yaml: "routes: []\n", boot: { owners: OWNERS, storage_url: storageUrl } });
  const client = (token: string): AdminClient => createAdminClient(gateway.adminOrigin, token);
  [operator, teamA, teamB, cluster] = [client(gateway.adminToken), client(A), client(B), client(CLUSTER)];
});
afterAll(async () => {
  delete process.env["TEAM_B_PUBLISH_TOKEN"];
  await gateway.close();
  await rm(directory, { recursive: true });
});
beforeEach(async () => {
  const { slices } = (await operator.get("/config/slices")).body as { slices: readonly { owner: string }[] };
  for (const { owner } of slices) expect((await operator.remove(owner)).status).toBe(200);
});

const slice = (owner: string, from = `http://${owner}.a.example`): string =>
  JSON.stringify({ version: 1, owner, routes: { app: { from, to: "http://upstream.example", policy: [] } } });

const changes = (...all: readonly (readonly [owner: string, text: string | null])[]): string =>
  JSON.stringify({
    changes: all.map(([owner, text]) => ({
      owner,
      slice: text === null ? null : (JSON.parse(text) as object),
      expected: text === null ? "*" : null,
    })),
  });

function expectOutside(answer: AdminAnswer, entry: string): void {
  expect([answer.status, answer.body["error"]]).toEqual([403, "owner"]);
  expect(answer.body["message"]).toBe(`this token is only valid for the slice of owner "${entry}"`);
}

describe("an owner's token", () => {
  test("publishes, reads and removes its owner's slice; each of several, however it is spelled", async () => {
    for (const [token, owner] of [
      [A, "team-a"],
      [A_NEXT, "team-a"],
      [B, "team-b"],
    ] as const) {
      const client = createAdminClient(gateway.adminOrigin, token);
      expect((await client.publish(owner, slice(owner))).status).toBe(200);
      expect((await client.get(`/config/slices/${owner}`)).body["owner"]).toBe(owner);
      expect((await client.remove(owner)).status).toBe(200);
    }
  });

  test("neither reads, replaces nor removes another owner's slice, nor learns whether there is one", async () => {
    expect((await operator.publish("team-b", slice("team-b"))).status).toBe(200);
    for (const owner of [
      "team-b",
      "team-a.other",
      "nobody",
      "gateway",
      "team-a%2e",
      "team-a/../team-b",
      "TEAM-A",
      "",
    ]) {
      for (const [method, headers, body] of [
        ["GET", {}, undefined],
        ["HEAD", {}, undefined],
        ["PUT", { "if-match": "*" }, slice("team-b", "http://taken.a.example")],
        ["PUT", { "if-none-match": "*" }, slice("team-a")],
        ["DELETE", { "if-match": "*" }, undefined],
        ["PATCH", {}, undefined],
      ] as const) {
        const answer = await teamA.ask(method, `/config/slices/${owner}`, headers, body);
        if (method === "HEAD") expect(answer.status).toBe(403);
        else expectOutside(answer, "team-a");
      }
    }
    expect((await operator.get("/config/slices/team-b")).text).toContain("team-b.a.example");
    expect((await operator.get("/config/slices")).body["slices"]).toHaveLength(1);
  });

  test("publishes no other owner's slice under its own name", async () => {
    const answer = await teamA.publish("team-a", slice("team-b"));
    expect(answer.status).toBe(422);
    expect((await operator.get("/config/slices")).body["slices"]).toEqual([]);
  });

  test("changes nothing if one of several changes belongs to another owner", async () => {
    expect((await operator.publish("team-b", slice("team-b"))).status).toBe(200);
    for (const body of [
      changes(["team-a", slice("team-a")], ["team-b", null]),
      changes(["team-a", slice("team-a")], ["team-a.other", slice("team-a.other")]),
    ]) {
      expectOutside(await teamA.ask("POST", "/config/slices", {}, body), "team-a");
    }
    expect((await operator.get("/config/slices")).body["slices"]).toMatchObject([{ owner: "team-b" }]);
    expect((await teamA.ask("POST", "/config/slices", {}, changes(["team-a", slice("team-a")]))).status).toBe(200);
  });

  test("cannot roll back, and opens no operator page, known or not", async () => {
    for (const [method, path, body] of [
      ["POST", "/config/rollback", "{}"],
      ["POST", "/config/rollback", '{"owner":"team-b"}'],
      ["POST", "/config/rollback", '{"owner":"team-a"}'],
      ["GET", "/metrics", undefined],
      ["GET", "/", undefined],
      ["GET", "/unknown", undefined],
      ["GET", "/config/slices/", undefined],
      ["GET", "/config", undefined],
      ["GET", "//status", undefined],
    ] as const) {
      expectOutside(await teamA.ask(method, path, {}, body), "team-a");
    }
  });

  test("lists only its own slice and history", async () => {
    await operator.publish("team-b", slice("team-b"));
    await teamA.publish("team-a", slice("team-a"));
    const { body, text } = await teamA.get("/config/slices");
    expect(body).toMatchObject({ slices: [{ owner: "team-a" }], history: [{ owner: "team-a" }], laggards: [] });
    expect(text).not.toContain("team-b");
    expect((await teamB.get("/config/slices")).text).not.toContain("team-a");
  });

  test("sees in /status only what publishing needs, and nothing of others", async () => {
    await operator.publish("team-b", slice("team-b"));
    await teamA.publish("team-a", slice("team-a"));
    const { body, text } = await teamA.get("/status");
    expect(Object.keys(body).toSorted()).toEqual(["bundle", "seal_key", "store"]);
    expect(body).toMatchObject({ store: "ok", seal_key: { kty: "OKP" }, bundle: { slices: [{ owner: "team-a" }] } });
    const bundle = body["bundle"] as Record<string, unknown>;
    expect(Object.keys(bundle).toSorted()).toEqual(["degraded", "digest", "generation", "loadedAt", "slices"]);
    expect(text).not.toMatch(/team-b|gateway\.yaml|uptime|upstream/);
    expect((await operator.get("/status")).text).toContain("team-b");
  });

  test("sees that there is a problem elsewhere, without details", async () => {
    const store = await openRecords(storageUrl, { clock: systemClock, log: silentLog() });
    const refused = { generation: 1_000_000, problems: ["published:team-b: error: secret-host.b.example"] };
    const row = { id: "replica-2", digest: "", published: 0, seen: 0, refused };
    await store.put(presenceKey("replica-2"), row, { tags: [PRESENCE_TAG], expiresAt: 4_000_000_000 });
    const answer = await teamA.publish("team-a", slice("team-a"));
    expect(answer.body).toMatchObject({ laggards: [{ id: "replica-2", reason: "is at generation 0" }] });
    expect(answer.text + (await teamA.get("/config/slices")).text).not.toContain("secret-host");
    expect((await operator.get("/config/slices")).text).toContain("secret-host");
    await store.delete(presenceKey("replica-2"));
    await store.close();
  });

  test("learns of another owner's host only that it is taken", async () => {
    const text = slice("team-b", "http://shared.a.example").replace("upstream.example", "hidden.b.example");
    expect((await operator.publish("team-b", text)).status).toBe(200);
    const answer = await teamA.publish("team-a", slice("team-a", "http://shared.a.example"));
    expect([answer.status, answer.body["error"]]).toEqual([422, "invalid"]);
    expect(answer.body["problems"]).toMatchObject([{ path: "routes.app.from" }]);
    expect(answer.text).not.toContain("hidden.b.example");
    expect((await teamA.get("/status")).text).not.toContain("team-b");
    // Validation reveals no more.
    const text2 = slice("team-a", "http://shared.a.example");
    const tried = await teamA.ask("POST", "/config/slices/team-a/validate", {}, text2);
    expect([tried.status, tried.text]).toEqual([422, answer.text]);
    expect(tried.text).toContain("conflicts with another owner's configuration");
    expect(tried.text).not.toContain("team-b");
  });

  test("tries out no other owner's slice", async () => {
    for (const owner of ["team-b", "team-a.other", "team-a/../team-b", "nobody", ""]) {
      expectOutside(await teamA.ask("POST", `/config/slices/${owner}/validate`, {}, slice("team-b")), "team-a");
    }
    const answer = await teamA.ask("POST", "/config/slices/team-a/validate", {}, slice("team-b"));
    expect([answer.status, answer.body["error"]]).toEqual([422, "invalid"]);
  });

  test("is compared as a whole: no beginning, no other owner's name, no other scheme", async () => {
    for (const authorization of [
      `Bearer ${A.slice(0, -1)}`,
      `Bearer ${A}x`,
      `Bearer ${A},${B}`,
      `Basic ${A}`,
      A,
      "Bearer team-a",
      "Bearer env:TEAM_B_PUBLISH_TOKEN",
    ]) {
      expect((await teamA.ask("GET", "/config/slices/team-a", { authorization })).status).toBe(401);
    }
  });

  test("is refused by a name that is not listed as other tokens are", async () => {
    const named = { host: "evil.example" };
    expect((await teamA.ask("GET", "/status", named)).status).toBe(421);
    expect((await teamA.ask("GET", "/metrics", named)).status).toBe(421);
  });

  test("is reported by the provider and the controller in their own terms", async () => {
    const target = createHttpTarget({ url: gateway.adminOrigin, owner: "team-b", token: async () => A });
    await expect(target.write(slice("team-b"), null)).rejects.toThrow('Cannot publish the slice of "team-b"');
    await expect(target.read()).rejects.toThrow('this token is only valid for the slice of owner "team-a"');
    const own = createHttpTarget({ url: gateway.adminOrigin, owner: "team-a", token: async () => A });
    await own.write(slice("team-a"), null);
    expect((await own.read()).kind).toBe("slice");
    expect(await own.identity()).toContain("team-a");
  });
});

describe("problems elsewhere", () => {
  const scope = publishScope("team-a");
  const problem = (file: string, severity: "error" | "warning" = "error"): Problem => ({
    severity,
    file,
    path: ["routes", "app"],
    message: `is wrong with ${file}`,
  });

  test("is one anonymous problem for an owner's token, in addition to those of its own slice", () => {
    const problems = ["published:team-a", "published:team-b", "published:team-a.other", "/etc/gateway.yaml"];
    const refused = { ok: false, reason: "invalid", problems: problems.map((file) => problem(file)) } as const;
    const shown = scopedOutcome(refused, scope);
    expect(shown).toMatchObject({ problems: [{ file: "published:team-a" }, { file: "elsewhere", path: [] }] });
    expect(JSON.stringify(shown)).not.toMatch(/team-b|other|gateway\.yaml/);
  });

  test("and none where it is a warning", () => {
    const problems = [problem("published:team-a"), problem("published:team-b", "warning")];
    expect(scopedOutcome({ ok: false, reason: "invalid", problems }, scope)).toMatchObject({
      problems: [{ file: "published:team-a" }],
    });
  });

  test.each([true, undefined])(
    "is a line of /status only where it keeps this owner waiting (partial: %s)",
    (partial) => {
      const lastError = { at: 5, problems: ["published:team-b: error: hidden.b.example"], ...(partial && { partial }) };
      const shown = scopedStatus({ store: "ok", bundle: { digest: "d", slices: [], degraded: [], lastError } }, scope);
      expect(JSON.stringify(shown)).not.toContain("team-b");
      expect(JSON.stringify(shown).includes("the newest configuration is not active")).toBe(partial !== true);
    },
  );
});

describe("a token of several owners", () => {
  test("works for a controller of all its namespaces, including those with their own entry, and no others", async () => {
    const tokenFile = join(directory, "token");
    await writeFile(tokenFile, CLUSTER);
    const publisher = createAdminPublisher({ url: gateway.adminOrigin, owner: "kubernetes", tokenFile });
    const made = (namespace: string) => ({ version: 1 as const, owner: `kubernetes.${namespace}`, routes: {} });
    expect(await publisher.publish(sliceTexts([made("shop"), made("payments")]))).toEqual({ kind: "published" });
    expect(await publisher.publish(sliceTexts([made("shop")]))).toEqual({ kind: "published" });
    expect((await operator.get("/config/slices")).body["slices"]).toMatchObject([{ owner: "kubernetes.shop" }]);
    expect(await publisher.sealKey()).toContain("X25519");
    for (const owner of ["kubernetes", "kubernetesx", "team-a", "*"]) {
      expectOutside(await cluster.publish(owner, slice(owner)), "kubernetes.*");
    }
  });
});

describe("settings of tokens", () => {
  const start = (boot: object): Promise<TestGateway> => startGateway({ yaml: "routes: []\n", boot: { ...boot } });
  const SHORT = "short-token";

  test.each([
    ["too short", { a: { publish_token: SHORT } }, /owners\.a\.publish_token" must have at least 20 characters/],
    ["too short, one of several", { a: { publish_token: [A, SHORT] } }, /publish_token\[1\]" must have at least 20/],
    ["too short, by reference", { a: { publish_token_ref: "env:SHORT" } }, /"owners\.a\.publish_token": it must have/],
    ["not set, by reference", { a: { publish_token_ref: "env:NOT_SET_AT_ALL" } }, /NOT_SET_AT_ALL/],
    ["that no header carries", { a: { publish_token: `${A} with spaces` } }, /must be printable ASCII/],
    ["of two owners", { a: { publish_token: A }, b: { publish_token: [B, A] } }, /the same as another token/],
    [
      "of two owners, by reference",
      { a: { publish_token_ref: "env:TEAM_B_PUBLISH_TOKEN" }, b: { publish_token: B } },
      /the same as another token/,
    ],
    ["of the operator", { a: { publish_token: "admin-token-of-the-tests" } }, /the same as another token/],
    [
      "in two spellings",
      { a: { publish_token: A, publish_token_ref: "env:TEAM_B_PUBLISH_TOKEN" } },
      /cannot be combined with/,
    ],
  ])("a token %s is refused at start, and not repeated", async (_name, written, expected) => {
    process.env["SHORT"] = SHORT;
    const failure = await start({ owners: written }).then(
      (started) => started.close().then(() => "started"),
      (error: unknown) => String(error),
    );
    delete process.env["SHORT"];
    expect(failure).toMatch(expected);
    for (const secret of [...SECRETS, SHORT]) expect(failure).not.toContain(secret);
  });

  test("no slice may have an owner's token sent to its upstream", async () => {
    const text = JSON.stringify({
      version: 1,
      owner: "team-a",
      routes: {
        app: {
          from: "http://x.a.example",
          to: "http://upstream.example",
          policy: [],
          set_request_headers_secret: { "X-Stolen": { value_ref: "env:TEAM_B_PUBLISH_TOKEN" } },
          tls_client_key_ref: "env:TEAM_B_PUBLISH_TOKEN",
        },
      },
    });
    const answer = await teamA.publish("team-a", text);
    expect(answer.status).toBe(422);
    expect(answer.text).toContain("a secret of the main configuration file");
  });

  test("without an admin token, owners' tokens open their part, and the rest is closed", async () => {
    const alone = await start({ admin_token: undefined, owners: { a: { publish_token: A } } });
    const ask = (token: string, path: string): Promise<AdminAnswer> =>
      createAdminClient(alone.adminOrigin, token).get(path);
    expect((await ask(A, "/config/slices")).status).toBe(200);
    expectOutside(await ask(A, "/metrics"), "a");
    for (const path of ["/status", "/metrics", "/config/slices", "/config/slices/a"]) {
      expect((await ask("undefined", path)).status).toBe(401);
    }
    await alone.close();
  });

  test("a sealed token is opened, and valid for its owner only", async () => {
    const { seal_key: key } = (await operator.get("/status")).body;
    const publish_token_sealed = await sealSecret(JSON.stringify(key), A_NEXT);
    const sealing = await start({ owners: { a: { publish_token_sealed } } });
    const client = createAdminClient(sealing.adminOrigin, A_NEXT);
    expect((await client.publish("a", slice("a"))).status).toBe(200);
    expectOutside(await client.get("/config/slices/b"), "a");
    expect(sealing.log()).not.toContain(A_NEXT);
    await sealing.close();
  });

  test("no token gets into the log", () => {
    expect(SECRETS.filter((secret) => gateway.log().includes(secret))).toEqual([]);
  });
});
