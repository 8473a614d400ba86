/** The examples that run Terraform, with another program where they find Terraform: each ends well and skips no step. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";

import { expect, test } from "vitest";

const root = new URL("../../..", import.meta.url).pathname;

test("the program on the PATH is the one that was built", () => {
  const [version] = execFileSync("terraform", ["version"], { encoding: "utf8" }).split("\n");
  expect(version).toBe(process.env["EXPECTED_TERRAFORM"]);
});

test.each(["terraform", "gitops", "cdktf", "tool-policy"])("examples/%s", async (name) => {
  const child = spawn(process.execPath, ["test/support/run-example.ts", name], { cwd: root });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  expect(code, text).toBe(0);
  expect(text).not.toMatch(/skipped: all steps/);
});
