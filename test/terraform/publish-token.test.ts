/** The ephemeral publish token over the provider's gRPC service, with a whole gateway; test/terraform/secrets-nowhere.test.ts runs it in Terraform. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { PUBLISH_TOKEN_TYPE, publishTokenSchema } from "../../runtime/terraform/resource/publish-token.ts";
import { blockType } from "../../runtime/terraform/schema/schema-model.ts";
import type { ValueMap } from "../../runtime/terraform/protocol/value.ts";
import type { Message } from "../../runtime/terraform/protocol/wire.ts";
import { createAdminClient } from "../support/admin-client.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { connectPlugin, dynamic, type PluginClient, valueOf } from "../support/plugin-client.ts";
import { type InProcessProvider, serveInProcess } from "../support/terraform.ts";

const TEAM = "publish-token-of-the-team";
const type = blockType(publishTokenSchema);
const typeName = PUBLISH_TOKEN_TYPE;

let gateway: TestGateway;
let provider: InProcessProvider;
let plugin: PluginClient;
beforeAll(async () => {
  gateway = await startGateway({
    yaml: "routes: []\n",
    boot: { owners: { team: { publish_token: TEAM }, other: {} } },
  });
  process.env["TEAM_TOKEN"] = TEAM;
  provider = await serveInProcess();
  plugin = connectPlugin(provider.socketPath);
});
afterAll(async () => {
  delete process.env["TEAM_TOKEN"];
  plugin.close();
  provider.close();
  await gateway.close();
});

const config = (of: ValueMap = {}): Message =>
  dynamic(type, { url: `${gateway.adminOrigin}/`, owner: "team", token_ref: "env:TEAM_TOKEN", ...of });
const open = (of?: ValueMap): Promise<Message> =>
  plugin.call("OpenEphemeralResource", { typeName, config: config(of) });
interface Result {
  readonly token: string;
  readonly expires_at: string;
}
const resultOf = (opened: Message): Result => valueOf(type, opened["result"]) as unknown as Result;
const isTaken = async (token: string): Promise<boolean> =>
  (await createAdminClient(gateway.adminOrigin, token).get("/config/slices")).status === 200;
const diagnosticsOf = ({ diagnostics }: Message): readonly { severity: number; detail: string }[] =>
  (diagnostics ?? []) as { severity: number; detail: string }[];

describe("gateway_publish_token", () => {
  test("is announced", async () => {
    const { ephemerals } = await plugin.call("GetMetadata", {});
    expect(ephemerals).toEqual([{ name: PUBLISH_TOKEN_TYPE }]);
    expect(Object.keys((await plugin.call("GetProviderSchema", {}))["ephemerals"] as object)).toEqual([typeName]);
  });

  test("is minted when it is opened, good until it is closed, and renewed after a quarter of its time", async () => {
    const before = Date.now();
    const opened = await open({ lifetime: "2m" });
    const after = Date.now();
    const { token, expires_at, ...rest } = resultOf(opened);
    expect(rest).toMatchObject({ owner: "team", lifetime: "2m", token_ref: "env:TEAM_TOKEN" });
    expect(await isTaken(token)).toBe(true);
    expect(Date.parse(expires_at)).toBeGreaterThanOrEqual(before + 119_000);
    const renewAt = ({ seconds, nanos = 0 }: { seconds: number; nanos?: number }): number =>
      seconds * 1000 + nanos / 1e6;
    const at = renewAt(opened["renewAt"] as { seconds: number });
    expect(at).toBeGreaterThanOrEqual(before + 30_000);
    expect(at).toBeLessThanOrEqual(after + 30_000);

    const kept = opened["private"] as Buffer;
    for (const secret of [token, TEAM]) expect(kept.toString()).not.toContain(secret);
    const renewed = await plugin.call("RenewEphemeralResource", { typeName, private: kept });
    expect(renewed["private"]).toEqual(kept);
    expect(renewAt(renewed["renewAt"] as { seconds: number })).toBeGreaterThanOrEqual(at);
    expect(gateway.log()).toContain("publish token renewed");

    expect(diagnosticsOf(await plugin.call("CloseEphemeralResource", { typeName, private: kept }))).toEqual([]);
    expect(await isTaken(token)).toBe(false);
    const late = await plugin.call("RenewEphemeralResource", { typeName, private: kept });
    expect(diagnosticsOf(late)[0]?.detail).toContain("there is no such token, or it has ended");
    expect(late["renewAt"]).toBeUndefined();
  });

  test.each<[string, ValueMap, string]>([
    ["another owner", { owner: "other" }, 'this token is only valid for the slice of owner "team"'],
    ["a wrong token", { token_ref: "env:PATH" }, "it answered 401"],
    ["no token", { token_ref: "env:NOT_SET_AT_ALL" }, "the environment variable is not set"],
    ["nobody", { url: "http://127.0.0.1:1" }, "Cannot reach the gateway"],
  ])("is not opened, and says why: %s", async (_name, of, text) => {
    const answer = await open(of);
    expect(answer["result"]).toBeUndefined();
    expect(diagnosticsOf(answer)[0]).toMatchObject({ severity: 1, detail: expect.stringContaining(text) as string });
    expect(JSON.stringify(answer)).not.toContain(TEAM);
  });

  test("gets no other one with the token that it gave", async () => {
    const opened = await open();
    process.env["MINTED_TOKEN"] = resultOf(opened).token;
    const answer = await open({ token_ref: "env:MINTED_TOKEN" });
    delete process.env["MINTED_TOKEN"];
    expect(diagnosticsOf(answer)[0]?.detail).toContain("a short-lived token cannot issue tokens");
    await plugin.call("CloseEphemeralResource", { typeName, private: opened["private"] });
  });

  test("reports a server that echoes the request, without repeating the token", async () => {
    const echo = createServer((request, response) => {
      const message = `what is ${request.headers.authorization ?? ""}`;
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error: message, message }));
    });
    await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
    const handle = JSON.stringify({ url, owner: "team", token_ref: "env:TEAM_TOKEN", id: "x" });
    const answers = [
      await open({ url }),
      await plugin.call("RenewEphemeralResource", { typeName, private: Buffer.from(handle) }),
      await plugin.call("CloseEphemeralResource", { typeName, private: Buffer.from(handle) }),
    ];
    echo.close();
    for (const answer of answers) {
      expect(diagnosticsOf(answer)[0]?.detail).toMatch(/400/);
      expect(JSON.stringify(answer)).not.toContain(TEAM);
    }
  });

  test("that cannot be ended is a warning: it ends by itself", async () => {
    const forgotten = JSON.stringify({
      url: "http://127.0.0.1:1",
      owner: "team",
      token_ref: "env:TEAM_TOKEN",
      id: "x",
    });
    for (const kept of [forgotten, "{}", ""]) {
      const answer = await plugin.call("CloseEphemeralResource", { typeName, private: Buffer.from(kept) });
      expect(diagnosticsOf(answer)).toMatchObject([{ severity: 2, summary: "Publish token not ended" }]);
    }
  });

  test.each<[string, ValueMap, string, number]>([
    ["an owner that is none", { owner: "*" }, '"owner" must be', 1],
    ["a lifetime of days", { lifetime: "7d" }, '"lifetime" must be a duration from "1s" to "1h"', 1],
    ["an address with a password", { url: "https://me:hush@gateway.example.com" }, "must not hold a password", 1],
    ["a token in plain text", { token_ref: "hush-hush-hush" }, '"token_ref" must be "env:NAME"', 1],
    ["a network in between", { url: "http://gateway.example.com" }, "crosses the network in clear text", 2],
  ])("reports problems: %s", async (_name, of, text, severity) => {
    const answer = await plugin.call("ValidateEphemeralResourceConfig", { typeName, config: config(of) });
    expect(diagnosticsOf(answer)).toMatchObject([{ severity, detail: expect.stringContaining(text) as string }]);
    expect(JSON.stringify(answer)).not.toContain("hush");
  });
});
