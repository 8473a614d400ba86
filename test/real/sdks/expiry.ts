/** Clients whose access token expires, on the clocks of both sides, with the shortest configurable lifetime. */
import { afterAll, beforeAll, describe, type ExpectStatic, test } from "vitest";

import { signInClient } from "../../support/oauth-client.ts";
import { type RealProcess, startProcess } from "../common/process.ts";
import type { SdkVariant } from "./cases.ts";
import { startClient } from "./client.ts";
import { REDIRECT, type SdkWorld, startSdkWorld } from "./world.ts";

const LIFETIME_MS = 60_000;
/** A token expires within its lifetime; the rest is for a slow host. */
const PATIENCE = { timeout: 3 * LIFETIME_MS, interval: 250 };

/** All variants wait for the end of their tokens together. */
export function describeExpiry(variants: readonly SdkVariant[]): void {
  describe("an access token that ends while a call runs", () => {
    const worlds = new Map<SdkVariant, SdkWorld>();
    const servers: RealProcess[] = [];
    beforeAll(async () => {
      for (const variant of variants) {
        const { command, args } = variant.server;
        const server = await startProcess(command, args, /^listening on (\d+)$/m);
        servers.push(server);
        const address = `http://127.0.0.1:${server.ready[1]}/mcp`;
        worlds.set(variant, await startSdkWorld(address, `access_token_lifetime: ${LIFETIME_MS}ms`));
      }
    });
    afterAll(async () => {
      for (const world of worlds.values()) await world.close();
      for (const server of servers) await server.close();
    });
    test.concurrent.for(variants)(
      "SDK $name: the call is made once and its result arrives; the next one needs no user where the SDK signs in",
      (variant, { expect }) => spansExpiry(variant, worlds.get(variant) as SdkWorld, expect),
    );
  });
}

/** @param expect of the test, since several run at the same time */
async function spansExpiry(variant: SdkVariant, world: SdkWorld, expect: ExpectStatic): Promise<void> {
  const { mode, signsIn } = variant;
  const given = signsIn ? undefined : await signInClient({ resource: world.resource, user: "alice@example.com" });
  const entry = given ? ["token", given.tokens.access_token] : ["oauth", REDIRECT];
  const client = await startClient(variant.client(world.resource, mode, ...entry), world.user());
  try {
    const token = given?.tokens.access_token ?? client.token();
    const call = client.call("pay", { url: world.bank.url("first") });
    await world.bank.asked("first");
    await expect.poll(() => statusWith(world.resource, token), PATIENCE).toBe(401);
    await world.bank.respond("first");
    expect(await call).toMatchObject({ event: "result", result: { content: [{ text: "paid first" }] } });
    expect(world.bank.paid("first")).toBe(1);

    const next = client.call("pay", { url: world.bank.url("next") });
    if (given) {
      expect(await next).toMatchObject({ event: "error" });
      expect(world.bank.paid("next")).toBe(0);
      // Its application gets a new token for it.
      await client.run({ do: "token", token: (await given.refresh()).access_token });
      const after = client.call("pay", { url: world.bank.url("next") });
      await world.bank.respond("next");
      expect(await after).toMatchObject({ event: "result" });
      return;
    }
    await world.bank.respond("next");
    expect(await next).toMatchObject({ event: "result" });
    expect(world.bank.paid("next")).toBe(1);
    // Without its user.
    expect(client.authorizations()).toHaveLength(1);
    expect(client.tokens()).toBeGreaterThan(1);
    // The stream of GET ended with the first token.
    if (mode === "legacy") await expect.poll(() => world.streams(), PATIENCE).toBeGreaterThan(1);
  } finally {
    await client.close();
  }
}

/** Status of a request that is not a message. */
async function statusWith(resource: string, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(resource, { method: "POST", headers, body: "{}" });
  await response.body?.cancel();
  return response.status;
}
