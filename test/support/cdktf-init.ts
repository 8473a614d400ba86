/**
 * Projects from `cdktf init --template typescript` and `cdktn init`: the templates of the published command lines, with the
 * tools that they install. Only the archive of a command line is downloaded, not the half gigabyte of its dependencies.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { LONG_MS } from "./limits.ts";
import { madeOnce } from "./made-once.ts";

/** Their templates require TypeScript 5, or any; ts-node does not run with another. jest itself is omitted. */
const TOOLS = ["typescript@5.9", "ts-node@10", "@types/jest@30"];
const COMMAND_LINES = { cdktf: "cdktf-cli@0.21.0", cdktn: "cdktn-cli@0.24.0" } as const;
const TEMPLATE = "package/bundle/templates/typescript";

export type Framework = keyof typeof COMMAND_LINES;

export interface InitProject {
  readonly directory: string;
  /** Runs a tool that the template installs. @returns stdout @throws with the whole output when it fails */
  run(bin: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
}

/**
 * @param parent a directory whose node_modules has gateform, the frameworks and constructs
 * @returns why they cannot be had here, as a text
 * @throws Error instead with GATEWAY_REQUIRE_ALL
 */
export async function initProjects(parent: string): Promise<Readonly<Record<Framework, InitProject>> | string> {
  const home = join(parent, "init");
  try {
    const made = await madeOnce("cdktf-init", [...TOOLS, ...Object.values(COMMAND_LINES)], async (making) => {
      writeFileSync(join(making, "package.json"), JSON.stringify({ private: true }));
      const npm = (...args: string[]): Promise<unknown> =>
        promisify(execFile)("npm", [...args, "--prefer-offline", "--silent"], { cwd: making, timeout: LONG_MS });
      await npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", ...TOOLS);
      for (const name of Object.keys(COMMAND_LINES) as Framework[]) await fetchTemplate(name, making, npm);
    });
    // Their programs find gateform above them.
    cpSync(made, home, { recursive: true, verbatimSymlinks: true });
    return { cdktf: initProject("cdktf", home), cdktn: initProject("cdktn", home) };
  } catch (error) {
    const reason = `the templates of cdktf-cli and cdktn-cli cannot be fetched: ${String(error)}`;
    if (process.env["GATEWAY_REQUIRE_ALL"] === "1") throw new Error(reason, { cause: error });
    return reason;
  }
}

async function fetchTemplate(
  framework: Framework,
  home: string,
  npm: (...args: string[]) => Promise<unknown>,
): Promise<void> {
  const archive = join(home, `${framework}-cli`);
  mkdirSync(archive);
  await npm("pack", COMMAND_LINES[framework], "--pack-destination", archive);
  const [tarball = ""] = readdirSync(archive);
  await promisify(execFile)("tar", ["-xzf", tarball, TEMPLATE], { cwd: archive });
  renameSync(join(archive, TEMPLATE), join(home, framework));
  rmSync(archive, { recursive: true });
  // As the command line fills it in.
  for (const name of ["package.json", "main.ts"]) {
    const text = readFileSync(join(home, framework, name), "utf8");
    writeFileSync(join(home, framework, name), text.replaceAll("{{ $base }}", "my-project"));
  }
}

function initProject(framework: Framework, home: string): InitProject {
  const directory = join(home, framework);
  const run = promisify(execFile);
  return {
    directory,
    async run(bin, args, env = {}) {
      try {
        const options = { cwd: directory, env: { ...process.env, ...env }, timeout: LONG_MS };
        return (await run(join(home, "node_modules/.bin", bin), args, options)).stdout;
      } catch (error) {
        const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
        throw new Error(`Cannot run "${bin} ${args.join(" ")}":\n${stdout}\n${stderr}`, { cause: error });
      }
    },
  };
}
