/**
 * Short-lived publish tokens: their holder, or a finder of one in a log, tries to get more owners, more time, or another
 * token.
 */
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createTokenGate } from "../../runtime/admin-listener/gate.ts";
import { hashSecret } from "../../runtime/shared/keys.ts";
import { type AdminAnswer, type AdminClient, createAdminClient } from "../support/admin-client.ts";
import { createTestClock } from "../support/clock.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";

const A = "publish-token-of-team-a";
const B = "publish-token-of-team-b";
const CLUSTER = "publish-token-of-the-controller";
const OWNERS = {
  "team-a": { publish_token: A, allowed_from: ["*.a.example"] },
  "team-b": { publish_token: B },
  "kubernetes.*": { publish_token: CLUSTER },
};
const TOKENS = "/publish-tokens";

const clock = createTestClock();
const minted: string[] = [];
let directory: string;
let storageUrl: string;
let gateway: TestGateway;
let [operator, teamA, teamB, cluster]: AdminClient[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-minted-tokens-"));
  storageUrl = `sqlite:${join(directory, "gateway.db")}`;
  gateway = await startGateway({ yaml: "routes: []\n", boot: { owners: OWNERS, storage_url: storageUrl } });
  [operator, teamA, teamB, cluster] = [gateway.adminToken, A, B, CLUSTER].map((token) => client(token));
});
afterAll(async () => {
  await gateway.close();
  await rm(directory, { recursive: true });
});

const client = (token: string, of = gateway): AdminClient => createAdminClient(of.adminOrigin, token);
const ask = (by: AdminClient | undefined, body: unknown): Promise<AdminAnswer> =>
  by!.ask("POST", TOKENS, {}, typeof body === "string" ? body : JSON.stringify(body));
interface Minted {
  readonly token: string;
  readonly id: string;
  readonly expires_at: number;
}
const mint = async (by: AdminClient | undefined, owner: string, lifetime?: string): Promise<Minted> => {
  const answer = await ask(by, { owner, lifetime });
  expect(answer.status).toBe(201);
  const made = answer.body as unknown as Minted;
  minted.push(made.token);
  return made;
};
const slice = (owner: string): string =>
  JSON.stringify({
    version: 1,
    owner,
    routes: { app: { from: `http://${owner}.a.example`, to: "http://upstream.example", policy: [] } },
  });
const isTaken = async (token: string, of = gateway): Promise<boolean> =>
  (await client(token, of).get("/config/slices")).status === 200;

describe("a token for minutes", () => {
  test("publishes, reads and removes the slice of its owner, and reads its part of /status", async () => {
    for (const by of [teamA, operator]) {
      const { token } = await mint(by, "team-a");
      const own = client(token);
      expect((await own.publish("team-a", slice("team-a"))).status).toBe(200);
      expect((await own.get("/config/slices/team-a")).body["owner"]).toBe("team-a");
      expect(Object.keys((await own.get("/status")).body).toSorted()).toEqual(["bundle", "seal_key", "store"]);
      expect((await own.remove("team-a")).status).toBe(200);
    }
  });

  test("gives no access to other owners or operator pages, and cannot issue, renew or revoke tokens", async () => {
    const { token, id } = await mint(operator, "team-a");
    const other = await mint(teamB, "team-b");
    for (const [method, path, body] of [
      ["PUT", "/config/slices/team-b", slice("team-b")],
      ["GET", "/config/slices/team-b", undefined],
      ["DELETE", "/config/slices/team-b", undefined],
      ["POST", "/config/rollback", "{}"],
      ["GET", "/metrics", undefined],
      ["POST", TOKENS, '{"owner":"team-a"}'],
      ["POST", TOKENS, '{"owner":"team-b"}'],
      ["POST", `${TOKENS}/${id}`, undefined],
      ["DELETE", `${TOKENS}/${id}`, undefined],
      ["DELETE", `${TOKENS}/${other.id}`, undefined],
    ] as const) {
      expect((await client(token).ask(method, path, {}, body)).status).toBe(403);
    }
    expect(await isTaken(token)).toBe(true);
    expect(await isTaken(other.token)).toBe(true);
  });

  test("is issued by an owner for itself only, by a controller for its namespaces, by the operator for all", async () => {
    for (const [by, owner] of [
      [teamA, "team-b"],
      [teamA, "team-a.other"],
      [cluster, "kubernetes"],
      [cluster, "team-a"],
    ] as const) {
      const answer = await ask(by, { owner });
      expect([answer.status, answer.body["error"]]).toEqual([403, "owner"]);
    }
    const { token } = await mint(cluster, "kubernetes.shop");
    const empty = JSON.stringify({ version: 1, owner: "kubernetes.shop", routes: {} });
    expect((await client(token).publish("kubernetes.shop", empty)).status).toBe(200);
    expect((await client(token).get("/config/slices/kubernetes.other")).status).toBe(403);
    expect((await operator!.remove("kubernetes.shop")).status).toBe(200);
  });

  test.each<[string, unknown, string]>([
    ["no owner", {}, "must be JSON such as"],
    ["a pattern", { owner: "kubernetes.*" }, '"owner" must be'],
    ["everybody", { owner: "*" }, '"owner" must be'],
    ["the boot file", { owner: "gateway" }, '"owner" must be'],
    ["days", { owner: "team-a", lifetime: "1d" }, '"lifetime" must be a duration from "1s" to "1h"'],
    ["nothing", { owner: "team-a", lifetime: "0s" }, '"lifetime" must be a duration from "1s" to "1h"'],
    ["a number", { owner: "team-a", lifetime: 60 }, "must be JSON such as"],
    ["something more", { owner: "team-a", scope: "*" }, "must be JSON such as"],
    ["no JSON", "owner=team-a", "must be JSON such as"],
    ["a long body", `"${"x".repeat(5000)}"`, "must be JSON such as"],
  ])("is not issued for %s", async (_name, body, text) => {
    const answer = await ask(operator, body);
    expect(answer.status).toBe(400);
    expect(answer.body["message"]).toContain(text);
  });

  test("is revoked only by the run that requested it", async () => {
    const { token, id } = await mint(teamA, "team-a");
    const path = `${TOKENS}/${id}`;
    expect((await teamB!.ask("DELETE", path)).body).toEqual({ ended: false });
    expect((await teamB!.ask("POST", path)).status).toBe(404);
    expect(await isTaken(token)).toBe(true);
    expect((await teamA!.ask("POST", path)).body).toMatchObject({ id, owner: "team-a" });
    expect((await teamA!.ask("DELETE", path)).body).toEqual({ ended: true });
    expect(await isTaken(token)).toBe(false);
    expect((await teamA!.ask("DELETE", path)).body).toEqual({ ended: false });
    expect((await teamA!.ask("POST", path)).status).toBe(404);
    for (const wrong of ["", "x", token, `${id}x`, "..%2fslices"]) {
      expect((await operator!.ask("POST", `${TOKENS}/${wrong}`)).status).toBe(404);
    }
    expect((await operator!.ask("PUT", path)).status).toBe(405);
    expect((await operator!.ask("GET", TOKENS)).status).toBe(405);
  });

  test("that expires while a body arrives changes nothing", async () => {
    const { token, id } = await mint(teamA, "team-a");
    const held = httpRequest(`${gateway.adminOrigin}/config/slices/team-a`, {
      method: "PUT",
      headers: { authorization: `Bearer ${token}`, "if-none-match": "*", expect: "100-continue" },
    });
    const answered = once(held, "response");
    held.flushHeaders();
    await once(held, "continue");
    held.write(" ");
    expect((await teamA!.ask("DELETE", `${TOKENS}/${id}`)).body).toEqual({ ended: true });
    held.end(slice("team-a"));
    const [{ statusCode }] = (await answered) as [IncomingMessage];
    expect([statusCode, (await teamA!.get("/config/slices/team-a")).status]).toEqual([401, 404]);
  });

  test("is limited to a few hundred per token, however fast the requests, and others can still issue theirs", async () => {
    const others = { ...OWNERS, "team-c": { publish_token: "publish-token-of-team-c" } };
    const busy = await startGateway({ yaml: "routes: []\n", boot: { owners: others } });
    const by = client("publish-token-of-team-c", busy);
    const asked = Array.from({ length: 270 }, () => ask(by, { owner: "team-c" }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201).length).toBeLessThanOrEqual(250);
    expect(new Set(statuses)).toEqual(new Set([201, 429]));
    expect((await ask(client(B, busy), { owner: "team-b" })).status).toBe(201);
    await busy.close();
  });

  test("is compared as a whole", async () => {
    const { token, id } = await mint(teamA, "team-a");
    for (const wrong of [token.slice(0, -1), `${token}x`, id, token.replace("gateway-publish-", "")]) {
      expect(await isTaken(wrong)).toBe(false);
    }
  });

  test("is valid at every replica while its issuing token is in the main configuration file", async () => {
    const { token } = await mint(teamA, "team-a");
    const byOperator = await mint(operator, "team-a");
    const replica = await startGateway({ yaml: "routes: []\n", boot: { owners: OWNERS, storage_url: storageUrl } });
    expect(await isTaken(token, replica)).toBe(true);
    await replica.close();
    const rotated = { ...OWNERS, "team-a": { publish_token: `${A}-new`, allowed_from: ["*.a.example"] } };
    const later = await startGateway({ yaml: "routes: []\n", boot: { owners: rotated, storage_url: storageUrl } });
    expect(await isTaken(token, later)).toBe(false);
    expect(await isTaken(byOperator.token, later)).toBe(true);
    await later.close();
  });

  test("is neither in the store nor in the log", async () => {
    const files = (await readdir(directory)).map((name) => readFile(join(directory, name), "latin1"));
    const texts = [gateway.log(), ...(await Promise.all(files))];
    expect(minted.length).toBeGreaterThan(5);
    for (const token of minted) expect(texts.filter((text) => text.includes(token))).toEqual([]);
    expect(gateway.log()).toContain("publish token issued");
  });
});

test("a token for minutes lasts as long as requested, and longer if renewed in time", async () => {
  const timed = await startGateway({ yaml: "routes: []\n", boot: { owners: OWNERS }, clock });
  const by = client(A, timed);
  const start = Math.floor(clock.now() / 1000);
  const { token, id, expires_at } = await mint(by, "team-a", "90s");
  expect(expires_at).toBe(start + 90);
  clock.advance(80_000);
  expect((await by.ask("POST", `${TOKENS}/${id}`)).body["expires_at"]).toBe(start + 170);
  clock.advance(80_000);
  expect(await isTaken(token, timed)).toBe(true);
  clock.advance(10_000);
  expect(await isTaken(token, timed)).toBe(false);
  expect((await by.ask("POST", `${TOKENS}/${id}`)).status).toBe(404);
  await timed.close();
});

test("createTokenGate() accepts no token while the store is unavailable", async () => {
  const gate = createTokenGate(A, [], { find: () => Promise.reject(new Error("down")) });
  expect(await gate("Bearer gateway-publish-whatever")).toBe("unavailable");
  expect(await gate(`Bearer ${A}`)).toMatchObject({ scope: undefined });
});

test("createTokenGate() names the token, and the token that a short-lived one was issued with", async () => {
  const minted = {
    find: async (by: string) => ({ owner: "team", by: hashSecret(by === "gateway-publish-1" ? A : "t".repeat(32)) }),
  };
  const gate = createTokenGate(A, [{ entry: "team", token: "t".repeat(32) }], minted);
  const nameOf = async (token: string): Promise<unknown> => ((await gate(`Bearer ${token}`)) as { name?: string }).name;
  expect(await nameOf(A)).toBe("admin_token");
  expect(await nameOf("t".repeat(32))).toBe("publish_token of team");
  expect(await nameOf("gateway-publish-1")).toBe("short-lived publish token of team, issued with admin_token");
  expect(await nameOf("gateway-publish-2")).toBe(
    "short-lived publish token of team, issued with publish_token of team",
  );
});
