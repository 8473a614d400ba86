/** Plans and applies bundles of many routes with the real binary and our provider. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { writeDevMirror } from "../../runtime/terraform/dev-mirror.ts";

export interface TerraformFigure {
  readonly routes: number;
  /** First plan, nothing published yet. */
  readonly planSeconds: number;
  readonly applySeconds: number;
  /** Plan after the apply: everything refreshed, nothing to do. */
  readonly emptyPlanSeconds: number;
}

export async function benchTerraform(sizes: readonly number[]): Promise<TerraformFigure[]> {
  if ((await run("terraform", ["version"], tmpdir(), {}).catch(() => undefined)) === undefined) {
    console.log("\nTerraform: not on the PATH, left out");
    return [];
  }
  const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  try {
    const { cliConfigFile } = await writeDevMirror(join(directory, "mirror"));
    const env = { TF_CLI_CONFIG_FILE: cliConfigFile, CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1" };
    const figures: TerraformFigure[] = [];
    for (const routes of sizes) {
      const work = join(directory, String(routes));
      await mkdir(work);
      await writeFile(join(work, "main.tf.json"), JSON.stringify(program(routes, join(work, "slices"))));
      await run("terraform", ["init", "-input=false"], work, env);
      figures.push({
        routes,
        planSeconds: await timed(["plan", "-input=false", "-out=plan"], work, env),
        applySeconds: await timed(["apply", "-input=false", "plan"], work, env),
        emptyPlanSeconds: await timed(["plan", "-input=false", "-detailed-exitcode"], work, env),
      });
    }
    return figures;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function program(routes: number, slices: string): unknown {
  const policy = JSON.stringify([
    { allow: { and: [{ domain: { is: "example.com" } }] } },
    { deny: { or: [{ mcp_tool: { starts_with: "delete_" } }] } },
  ]);
  const route = Object.fromEntries(
    Array.from({ length: routes }, (_, index) => [
      `route-${index}`,
      {
        from: `https://mcp-${index}.example.com`,
        to: [`http://10.0.${Math.floor(index / 250)}.${index % 250}:8080`],
        policy,
        set_request_headers: { "X-Team": `team-${index % 20}` },
        mcp: { server: { max_request_bytes: 65536 } },
      },
    ]),
  );
  return {
    terraform: { required_providers: { gateway: { source: "gateform/gateway" } } },
    resource: {
      gateway_bundle: { bench: { owner: "bench", runtime_flags: { mcp: true }, file: { directory: slices }, route } },
    },
  };
}

async function timed(args: readonly string[], cwd: string, env: Record<string, string>): Promise<number> {
  const started = process.hrtime.bigint();
  await run("terraform", args, cwd, env);
  return Number(process.hrtime.bigint() - started) / 1e9;
}

function run(command: string, args: readonly string[], cwd: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 120_000,
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => void (output += chunk.toString("utf8")));
    child.stderr.on("data", (chunk: Buffer) => void (output += chunk.toString("utf8")));
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0
        ? resolve(output)
        : reject(new Error(`Cannot run "${command} ${args.join(" ")}": exit ${code}\n${output}`)),
    );
  });
}
