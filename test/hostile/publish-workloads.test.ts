/** Jobs that publish with the token of their platform: only for the owners whose entry in the main configuration file matches. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createAdminClient } from "../support/admin-client.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { startPlatform, type Platform } from "../support/platform.ts";

const AUDIENCE = "https://gateway.example/publish";

let platform: Platform;
let gateway: TestGateway;
beforeAll(async () => {
  platform = await startPlatform();
  const job = (claims: object, more: object = {}) => ({ issuer: platform.issuer, audience: AUDIENCE, claims, ...more });
  gateway = await startGateway({
    yaml: "routes: []\n",
    boot: {
      owners: {
        team: {
          publish_token: "publish-token-of-the-team",
          publish_workloads: { main: job({ repository_id: ["42"], ref: ["refs/heads/main"] }) },
        },
        "preview.*": { publish_workloads: { any: job({ repository_id: ["42"] }) } },
        other: {
          publish_workloads: {
            theirs: job({ repository_id: ["43"] }),
            elsewhere: job({ repository_id: ["44"] }, { audience: "another-audience" }),
          },
        },
        closed: {},
      },
    },
  });
});
afterAll(async () => {
  await gateway.close();
  await platform.close();
});

interface Minted {
  readonly token: string;
  readonly id: string;
}

async function ask(token: string, method: string, path: string, body?: object) {
  const json = { "content-type": "application/json" };
  const client = createAdminClient(gateway.adminOrigin, token);
  return client.ask(method, path, { authorization: `Bearer ${token}`, ...json }, body && JSON.stringify(body));
}

const mint = (token: string, owner: string) => ask(token, "POST", "/publish-tokens", { owner, lifetime: "1m" });

describe("the token of a job", () => {
  test("issues, renews and revokes a publish token for its owner, which publishes", async () => {
    const job = await platform.token(AUDIENCE);
    const minted = await mint(job, "team");
    expect(minted.status).toBe(201);
    const { token, id } = minted.body as unknown as Minted;
    const team = createAdminClient(gateway.adminOrigin, token);
    expect((await team.get("/config/slices")).status).toBe(200);
    const published = await team.publish("team", JSON.stringify({ version: 1, owner: "team", routes: {} }));
    expect([published.status, published.text]).toEqual([200, expect.any(String)]);
    expect((await ask(await platform.token(AUDIENCE), "POST", `/publish-tokens/${id}`)).status).toBe(200);
    expect((await ask(job, "DELETE", `/publish-tokens/${id}`)).body).toEqual({ ended: true });
    expect((await team.get("/config/slices")).status).toBe(401);
    // The log names accepted callers, and nothing of the token.
    expect(gateway.log()).toContain("publish token issued");
    for (const part of platform.issued.flatMap((text) => text.split("."))) expect(gateway.log()).not.toContain(part);
  });

  test("covers all owners that it fits, and no others", async () => {
    const job = await platform.token(AUDIENCE);
    expect((await mint(job, "preview.x")).status).toBe(201);
    for (const owner of ["other", "closed", "preview", "default"])
      expect([owner, (await mint(job, owner)).status]).toEqual([owner, 403]);
    const branch = await platform.token(AUDIENCE, { ref: "refs/heads/x" });
    expect((await mint(branch, "team")).status).toBe(403);
    expect((await mint(branch, "preview.x")).status).toBe(201);
    // One owner's job ends no token of another's.
    const { id } = (await mint(job, "team")).body as unknown as Minted;
    expect((await ask(branch, "DELETE", `/publish-tokens/${id}`)).body).toEqual({ ended: false });
    expect((await ask(branch, "POST", `/publish-tokens/${id}`)).status).toBe(404);
  });

  test.each(["/status", "/metrics", "/config/slices", "/config/slices/team", "/nowhere"])(
    "has no other access: %s",
    async (path) => {
      const answer = await ask(await platform.token(AUDIENCE), "GET", path);
      expect(answer.status).toBe(403);
    },
  );

  test("cannot publish directly", async () => {
    const slice = { version: 1, owner: "team", routes: {} };
    expect((await ask(await platform.token(AUDIENCE), "PUT", "/config/slices/team", slice)).status).toBe(403);
  });

  test.each<[string, () => Promise<string>]>([
    ["of another project", () => platform.token(AUDIENCE, { repository_id: "45" })],
    ["for another audience", () => platform.token("https://gateway.example")],
    ["for an audience of another owner's job", () => platform.token("another-audience")],
    ["for two audiences", () => platform.token(AUDIENCE, { aud: [AUDIENCE, "x"] })],
    ["that ended", () => platform.token(AUDIENCE, { iat: 1_000_000_000, exp: 1_000_000_300 })],
    ["that is good for a day", () => platform.token(AUDIENCE, { exp: Math.floor(Date.now() / 1000) + 86_400 })],
    ["that is an ID token", () => platform.token(AUDIENCE, { nonce: "x" })],
    ["of another issuer", () => platform.token(AUDIENCE, { iss: "https://elsewhere.example" })],
    ["that was changed", async () => `${(await platform.token(AUDIENCE)).slice(0, -8)}AAAAAAAA`],
    ["that is none", () => Promise.resolve("a.b.c")],
  ])("is rejected: %s", async (_, make) => {
    const answer = await mint(await make(), "team");
    expect([answer.status, answer.body["error"]]).toEqual([401, "token"]);
  });

  test("is a right that its issued token loses when the job is removed from the main configuration file", async () => {
    const { token } = (await mint(await platform.token(AUDIENCE), "team")).body as unknown as Minted;
    const { createTokenGate } = await import("../../runtime/admin-listener/gate.ts");
    const minted = { find: async () => ({ owner: "team", by: "the digest of the job" }) };
    const rights = [{ entry: "team", name: "team/deploy", by: "the digest of the job" }];
    const nobody = async (): Promise<readonly []> => [];
    const before = createTokenGate("operator-token-of-the-test", [], minted, { rights, find: nobody });
    expect(await before(`Bearer ${token}`)).toMatchObject({ token: undefined, name: "job team/deploy" });
    const asJob = createTokenGate(undefined, [], undefined, { rights, find: async () => rights });
    expect(await asJob("Bearer a.b.c")).toMatchObject({ name: "job team/deploy" });
    for (const left of [
      [],
      [{ entry: "other", name: "", by: "the digest of the job" }],
      [{ entry: "team", name: "", by: "another" }],
    ]) {
      const gate = createTokenGate("operator-token-of-the-test", [], minted, { rights: left, find: nobody });
      expect(await gate(`Bearer ${token}`)).toBe("wrong");
    }
    const unavailable = createTokenGate(undefined, [], minted, { rights, find: async () => "unavailable" });
    expect(await unavailable("Bearer a.b.c")).toBe("unavailable");
  });
});
