/**
 * The command line of CDKTF from npm, with a Node that it supports: one of its native modules is compiled for Node 18 to 22.
 * The programs it starts run under the first Node on the PATH.
 */
import { execFile } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { LONG_MS } from "./limits.ts";
import { madeOnce } from "./made-once.ts";

export interface CdktfCli {
  /** Path of the command, for `CDKTF` of examples/cdktf/check.ts. */
  readonly command: string;
}

const CLI = "cdktf-cli@0.21.0";
const NODE_VERSION = "22.23.3";

/**
 * Installs it once for all runs, into a directory of its own: no other test needs its half gigabyte.
 *
 * @returns its command, or why it cannot be had here, as a text
 * @throws Error instead with GATEWAY_REQUIRE_ALL
 */
export async function installCdktfCli(): Promise<CdktfCli | string> {
  const node = nodePackage();
  try {
    const directory = await madeOnce("cdktf-cli", [CLI, node, NODE_VERSION], async (making) => {
      writeFileSync(join(making, "package.json"), JSON.stringify({ private: true }));
      // No install scripts: what they would fetch or build is in the packages.
      const options = ["--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--no-package-lock"];
      await promisify(execFile)("npm", ["install", ...options, CLI, `${node}@${NODE_VERSION}`], {
        cwd: making,
        timeout: LONG_MS,
      });
      const command = join(making, "cdktf");
      const words = [`node_modules/${node}/bin/node`, "node_modules/cdktf-cli/bundle/bin/cdktf"];
      writeFileSync(command, `#!/bin/sh\nexec ${words.map((word) => `"\${0%/*}/${word}"`).join(" ")} "$@"\n`);
      chmodSync(command, 0o755);
      await promisify(execFile)(command, ["--version"], { env: { ...process.env, CHECKPOINT_DISABLE: "1" } });
    });
    return { command: join(directory, "cdktf") };
  } catch (error) {
    const reason = `${CLI} cannot be installed: ${String(error)}`;
    if (process.env["GATEWAY_REQUIRE_ALL"] === "1") throw new Error(reason, { cause: error });
    return reason;
  }
}

/** Location of npm's Node binary for this platform. */
function nodePackage(): string {
  const { platform, arch } = process;
  return `${platform === "darwin" && arch === "arm64" ? "node-bin" : "node"}-${platform}-${arch}`;
}
