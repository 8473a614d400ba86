/** The program of examples/cdktf under the real command line of CDKTF: synth, diff, deploy, output, destroy. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { expect, test, type TestContext } from "vitest";

import { installCdktfCli } from "../support/cdktf-cli.ts";
import { terraformMissing } from "../support/terraform.ts";
import { LONG_MS } from "../support/limits.ts";

const root = new URL("../../", import.meta.url).pathname;

test.skipIf(terraformMissing() !== undefined)(
  "cdktf: cdktf-cli plays synth, diff, deploy, output and destroy",
  { timeout: LONG_MS },
  async (context: TestContext) => {
    const cli = await installCdktfCli();
    if (typeof cli === "string") {
      console.log(`skipped: ${cli}`);
      context.skip(cli);
    }
    const env = { ...process.env, CDKTF: cli.command };
    const options = { cwd: root, env, timeout: LONG_MS };
    const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", "cdktf"], options);
    const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
    expect(stdout.split("\n").filter((line) => line.startsWith("FAIL"))).toEqual([]);
    expect(stdout).toContain("pass  the plan shows a reviewer every route (cdktf-cli)");
    expect(stdout).toContain("pass  the outputs tell the digest that is in force");
    expect(stdout).toContain("pass  destroy removes the routes");
    expect(stdout).toMatch(/^\d+ passed, 0 failed\n$/m);
  },
);
