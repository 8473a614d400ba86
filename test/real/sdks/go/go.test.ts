/** The official Go SDK: clients that sign in, servers behind the gateway, HTTP/2 with "Expect", and the guide's program. */
import { describe, expect, test } from "vitest";

import { describeAssertion } from "../assertion.ts";
import { createOAuthClient } from "../../../support/oauth-client.ts";
import { startProcess } from "../../common/process.ts";
import { describeSdk, type SdkVariant } from "../cases.ts";
import { type SdkClient, startClient } from "../client.ts";
import { describeExpect } from "../expect.ts";
import { describeExpiry } from "../expiry.ts";
import { REDIRECT, type SdkWorld, startSdkWorld } from "../world.ts";
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

/** A client that is signed in at a gateway in front of a server of its own, until the test has used it. */
async function withClient(
  route: string,
  register: (world: SdkWorld) => Promise<readonly string[]>,
  use: (client: SdkClient, world: SdkWorld) => Promise<void>,
): Promise<void> {
  const server = await startProcess(program("server"), [], /^listening on (\d+)$/m);
  const world = await startSdkWorld(`http://127.0.0.1:${server.ready[1]}/mcp`, "", route);
  const args = [world.resource, "legacy", "oauth", REDIRECT, ...(await register(world))];
  const client = await startClient({ command: program("client"), args }, world.user());
  try {
    await use(client, world);
  } finally {
    await client.close();
    await world.close();
    await server.close();
  }
}

test("with a client registered before, a call that needs another scope is made in its session", async () => {
  const register = async ({ resource }: SdkWorld): Promise<readonly string[]> => [
    (await createOAuthClient({ resource }).register({ redirect_uris: [REDIRECT] })).client_id,
  ];
  await withClient("", register, async (client) => {
    expect(await client.call("scoped")).toMatchObject({ event: "result", result: { content: [{ text: "scoped" }] } });
    expect(client.authorizations()).toHaveLength(2);
  });
});

test("the gateway ends the stream of GET again and again: the session continues", async () => {
  await withClient(
    "idle_timeout: 1s",
    () => Promise.resolve([]),
    async (client, world) => {
      // The SDK gives up at the sixth end of a stream that brings nothing.
      await expect.poll(() => world.streams(), { timeout: 120_000 }).toBeGreaterThan(8);
      expect(await client.call("add", { a: 1, b: 2 })).toMatchObject({ event: "result" });
    },
  );
});

describe("Expect: 100-continue over HTTP/2", () => {
  describeExpect((address, certificates) => ({ command: program("client"), args: ["expect", address, certificates] }));
});
describe("an upstream", () => describeAssertion(() => Promise.resolve({ command: program("app"), args: [] })));
