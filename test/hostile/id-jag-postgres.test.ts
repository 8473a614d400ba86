/** One ID-JAG at two gateways that share a PostgreSQL server, at the same time: it is accepted once, by either of them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createSend, type Answer } from "../support/browser.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { IDP, idJagClaims, JWT_BEARER, signIdJag } from "../support/id-jag.ts";
import { createOAuthClient, type Registration } from "../support/oauth-client.ts";
import { findPostgres, type Postgres, startPostgres } from "../support/postgres.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

const found = findPostgres();

describe.skipIf("missing" in found)("an ID-JAG at two gateways on PostgreSQL", () => {
  let postgres: Postgres;
  let upstream: EchoUpstream;
  let world: SignInGateway;
  let gateways: readonly TestGateway[] = [];
  let key: SigningKey;
  let client: Registration;
  let origin = "";

  beforeAll(async () => {
    if ("missing" in found) return;
    [postgres, upstream, key] = await Promise.all([
      startPostgres(found.bin),
      startEchoUpstream(),
      makeSigningKey("ES256", "one"),
    ]);
    const boot = { storage_url: postgres.url };
    const jwks = JSON.stringify({ keys: [key.jwk] });
    const yaml = `identity_issuers: { idp: { issuer: "${IDP}", uses: [id_jag], jwks: '${jwks}' } }
routes:
  - { name: live, from: "{origin}", prefix: /live, to: "${upstream.origin}", mcp: { server: {} }, policy: { allow: { and: [authenticated_user: true] } } }
`;
    world = await startSignInGateway({ boot, yaml });
    ({ origin } = world.gateway);
    const twin = await startGateway({ boot, yaml: world.withProvider(yaml).replaceAll("{origin}", origin) });
    gateways = [world.gateway, twin];
    client = await createOAuthClient({ resource: `${origin}/live` }).register({
      token_endpoint_auth_method: "client_secret_post",
    });
  });
  afterAll(async () => {
    await gateways[1]?.close();
    await world?.close();
    await upstream?.close();
    await postgres?.close();
  });

  const sign = (): Promise<string> =>
    signIdJag(idJagClaims(client.client_id, Date.now(), { aud: origin, resource: `${origin}/live` }), key);

  const present = (gateway: TestGateway, assertion: string): Promise<Answer> =>
    createSend({ via: gateway.port })({
      method: "POST",
      url: `${origin}/.gateway/mcp/token`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: JWT_BEARER,
        assertion,
        client_id: client.client_id,
        client_secret: client.client_secret ?? "",
      }).toString(),
    });

  test("is exchanged once at either, and its token is valid at both", async () => {
    for (let round = 0; round < 10; round += 1) {
      const assertion = await sign();
      const asked = gateways.flatMap((gateway) => [1, 2, 3].map(() => present(gateway, assertion)));
      const answers = await Promise.all(asked);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 400)).toHaveLength(5);
      for (const answer of answers.filter(({ status }) => status === 400))
        expect(answer.json()).toEqual({ error: "invalid_grant", error_description: "Invalid assertion" });
      const token = String(answers.find(({ status }) => status === 200)?.json()["access_token"]);
      for (const gateway of gateways) expect(await statusAt(gateway, token)).toBe(200);
    }
  });

  test("is not consumed, and yields nothing, while the server is unavailable", async () => {
    const assertion = await sign();
    await postgres.stop();
    try {
      for (const gateway of gateways) {
        const answer = await present(gateway, assertion);
        expect(answer.status).toBe(503);
        expect(answer.text).not.toContain("access_token");
      }
    } finally {
      await postgres.start();
    }
    // Both are available before the assertion is presented again: an earlier attempt could have used it up.
    for (const gateway of gateways)
      await expect.poll(async () => (await present(gateway, await sign())).status).toBe(200);
    const statuses: number[] = [];
    for (const gateway of gateways) statuses.push((await present(gateway, assertion)).status);
    expect(statuses).toEqual([200, 400]);
  });

  async function statusAt(gateway: TestGateway, token: string): Promise<number> {
    const answer = await createSend({ via: gateway.port })({
      method: "POST",
      url: `${origin}/live`,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    return answer.status;
  }
});
