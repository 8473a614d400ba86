/** The unit as systemd reads it, and its boot file as the gateway does. A line per step, then "N passed, N failed". */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { parse } from "yaml";

import { checkFiles } from "../../runtime/tools/check.ts";
import { createSteps } from "../demo/steps.ts";

/** Of 100 tenths: above it the unit fails. Unhardened services have 96. */
const MAX_EXPOSURE = 20;

const here = new URL("./", import.meta.url).pathname;
const steps = createSteps();
const directory = await mkdtemp(join(tmpdir(), "gateway-systemd-"));
const unit = await readFile(`${here}gateway.service`, "utf8");
const bootText = await readFile(`${here}gateway.yaml`, "utf8");

async function analyze(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)("systemd-analyze", args);
  return (stdout + stderr).trim();
}

try {
  const hasSystemd = await analyze("--version").then(
    () => true,
    () => false,
  );
  if (!hasSystemd && process.env["GATEWAY_REQUIRE_ALL"] !== "1") {
    console.log("skipped: systemd-analyze is not on the path, the unit is not verified");
  } else {
    // It looks for the program, which lies elsewhere here.
    const file = join(directory, "gateway.service");
    await writeFile(file, unit.replace("/usr/bin/node", process.execPath));
    await steps.step("systemd-analyze verify has nothing to say against the unit", async () => {
      steps.equal(await analyze("verify", "--man=no", file), "");
    });
    await steps.step("systemd-analyze security rates it as well confined", async () => {
      const report = await analyze("security", "--offline=true", `--threshold=${MAX_EXPOSURE}`, "--no-pager", file);
      return /Overall exposure level.*?: [\d.]+/.exec(report)?.[0];
    });
  }
  await steps.step("the gateway accepts gateway.yaml", async () => {
    const { ok, text } = checkFiles([{ file: "gateway.yaml", text: bootText, boot: true }]);
    steps.ok(ok, text);
    return text;
  });
  await steps.step(
    "systemd waits longer than the drain, and passes every secret that the boot file names",
    async () => {
      const boot = parse(bootText) as Record<string, string>;
      const drain = Number.parseInt(boot["drain_delay"] ?? "", 10) + Number.parseInt(boot["drain_timeout"] ?? "", 10);
      const patience = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
      steps.ok(patience > drain, "TimeoutStopSec is shorter than the drain");
      const named = [...bootText.matchAll(/\/run\/credentials\/gateway\.service\/(\S+)/g)].map(([, name = ""]) => name);
      for (const name of named) steps.ok(unit.includes(`LoadCredential=${name}:`), `${name} is not passed`);
      return `${patience} s for ${drain} s; ${named.join(", ")}`;
    },
  );
} finally {
  await rm(directory, { recursive: true, force: true });
}
process.exitCode = steps.end();
