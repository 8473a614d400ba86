/** The official Python SDK, 1.x and 2.x: clients that sign in, servers behind the gateway, and the guide's program. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, describe } from "vitest";

import { blockWith, readPage } from "../../../support/page-blocks.ts";
import { describeAssertion } from "../assertion.ts";
import { describeSdk, type SdkVariant } from "../cases.ts";
import { describeExpiry } from "../expiry.ts";
import { installPython } from "./install.ts";

const [v1 = "", v2 = ""] = await installPython();
const program = (name: string): string => new URL(name, import.meta.url).pathname;

const variant = (name: string, python: string, mode: SdkVariant["mode"]): SdkVariant => ({
  name,
  mode,
  signsIn: true,
  client: (...args) => ({ command: python, args: [program("client.py"), ...args] }),
  server: { command: python, args: [program("server.py")] },
});
const VARIANTS = [
  variant("1.x", v1, "legacy"),
  variant("2.x, initialize", v2, "legacy"),
  variant("2.x, server/discover", v2, "auto"),
];

describe.each(VARIANTS)("SDK $name", (each) => describeSdk(each));
describeExpiry(VARIANTS);

describe("an upstream", () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-python-"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  describeAssertion(() => {
    const file = join(directory, "app.py");
    writeFileSync(file, blockWith(readPage("runtime/guide/identity-header.md"), "python", "jwt.decode"));
    return Promise.resolve({ command: v2, args: [file] });
  });
});
