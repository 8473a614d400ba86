/** The official Go SDK: clients that sign in, servers behind the gateway, HTTP/2 with "Expect", and the guide's program. */
import { describe, expect, test } from "vitest";

import { describeAssertion } from "../assertion.ts";
import { createOAuthClient } from "../../../support/oauth-client.ts";
import { startProcess } from "../../common/process.ts";
import { describeSdk, type SdkVariant } from "../cases.ts";
import { startClient } from "../client.ts";
import { describeExpect } from "../expect.ts";
import { describeExpiry } from "../expiry.ts";
import { REDIRECT, startSdkWorld } from "../world.ts";
import { installGo } from "./install.ts";

const program = await installGo();

const variant = (name: string, mode: SdkVariant["mode"], ...args: readonly string[]): SdkVariant => ({
  name,
  mode,
  signsIn: true,
  client: (...given) => ({ command: program("client"), args: given }),
  server: { command: program("server"), args },
});
// The SDK's server knows revision 2026-07-28 only without sessions.
const VARIANTS = [
  { ...variant("initialize", "legacy"), registersAgain: true },
  variant("server/discover", "auto", "stateless"),
];

describe.each(VARIANTS)("SDK, $name", (each) => describeSdk(each));
describeExpiry(VARIANTS);
test("with a client registered before, a call that needs another scope is made in its session", async () => {
  const server = await startProcess(program("server"), [], /^listening on (\d+)$/m);
  const world = await startSdkWorld(`http://127.0.0.1:${server.ready[1]}/mcp`);
  const { client_id } = await createOAuthClient({ resource: world.resource }).register({ redirect_uris: [REDIRECT] });
  const args = [world.resource, "legacy", "oauth", REDIRECT, client_id];
  const client = await startClient({ command: program("client"), args }, world.user());
  expect(await client.call("scoped")).toMatchObject({ event: "result", result: { content: [{ text: "scoped" }] } });
  expect(client.authorizations()).toHaveLength(2);
  await client.close();
  await world.close();
  await server.close();
});
describe("Expect: 100-continue over HTTP/2", () => {
  describeExpect((address, certificates) => ({ command: program("client"), args: ["expect", address, certificates] }));
});
describe("an upstream", () => describeAssertion(() => Promise.resolve({ command: program("app"), args: [] })));
