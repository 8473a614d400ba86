/** The official Rust SDK: clients that sign in, servers behind the gateway, and the guide's program. */
import { describe } from "vitest";

import { describeAssertion } from "../assertion.ts";
import { describeSdk, type SdkVariant } from "../cases.ts";
import { describeExpiry } from "../expiry.ts";
import { installRust } from "./install.ts";

const program = await installRust();

const variant = (name: string, mode: SdkVariant["mode"]): SdkVariant => ({
  name,
  mode,
  signsIn: true,
  client: (...given) => ({ command: program("client"), args: given }),
  server: { command: program("server"), args: [] },
});
const VARIANTS = [variant("initialize", "legacy"), variant("server/discover", "auto")];

describe.each(VARIANTS)("SDK, $name", (each) => describeSdk(each));
describeExpiry(VARIANTS);
describe("an upstream", () => describeAssertion(() => Promise.resolve({ command: program("app"), args: [] })));
