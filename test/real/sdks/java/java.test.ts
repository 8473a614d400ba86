/** The official Java SDK: a client with tokens of its application, a server behind the gateway, HTTP/2 with "Expect", and the guide's program. */
import { describe } from "vitest";

import { describeAssertion } from "../assertion.ts";
import { describeSdk, type SdkVariant } from "../cases.ts";
import type { Command } from "../client.ts";
import { describeExpect } from "../expect.ts";
import { describeExpiry } from "../expiry.ts";
import { installJava } from "./install.ts";

const classPath = await installJava();
const program = (name: string, ...args: readonly string[]): Command => ({
  command: "java",
  args: ["-XX:TieredStopAtLevel=1", "-cp", classPath, name, ...args],
});

const VARIANT: SdkVariant = {
  name: "initialize",
  mode: "legacy",
  signsIn: false,
  client: (...given) => program("Client", ...given),
  server: program("Server"),
};

describe("SDK, initialize", () => describeSdk(VARIANT));
describeExpiry([VARIANT]);
describe("Expect: 100-continue over HTTP/2", () => {
  describeExpect((address, certificates) => program("Client", "expect", address, certificates), false);
});
describe("an upstream", () => describeAssertion(() => Promise.resolve(program("App"))));
