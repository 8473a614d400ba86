/** The authorization server from outside: HTTP only, on a real socket. Named by the rules of the MCP and OAuth documents. */
import { afterEach, describe, expect, test } from "vitest";

import { createPkce, REDIRECT_URI } from "../support/oauth-client.ts";
import { ORIGIN, RESOURCE, startIssuer, type TestIssuer, type TestIssuerOptions } from "../support/issuer.ts";

let running: TestIssuer[] = [];

async function start(options?: TestIssuerOptions): Promise<TestIssuer> {
  const issuer = await startIssuer(options);
  running.push(issuer);
  return issuer;
}

afterEach(async () => {
  await Promise.all(running.map((issuer) => issuer.close()));
  running = [];
});

describe("the whole way", () => {
  test("register, sign in, consent, tokens, refresh", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    expect(client.tokens).toMatchObject({ token_type: "Bearer", expires_in: 900, scope: "mcp" });
    const first = client.tokens;
    const second = await client.refresh();
    expect(second.access_token).not.toBe(first.access_token);
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(gateway.externalTokens.open(second.access_token)).toMatchObject({
      ok: true,
      claims: { kind: "grant", userId: "alice", audience: RESOURCE },
    });
  });
});
