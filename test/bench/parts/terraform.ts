/**
 * Plans and applies bundles of many routes with the real binary: with our provider, and with one that does nothing
 * (terraform-null.ts), which shows what Terraform itself takes for them.
 *
 * Processor time is the steady figure on a shared machine; the clock shows what others do beside.
 */
import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { writeDevMirror } from "../../../runtime/terraform/dev-mirror.ts";
import { PROVIDER_SOURCE, ROUTE_BLOCK, ROUTES_ATTRIBUTE } from "../../../runtime/terraform/schema/schema.ts";
import { type ProcessCost, watchProcess } from "../common/process-watch.ts";

export interface StepFigure extends ProcessCost {
  readonly seconds: number;
}

/** How the routes are written: as `route` blocks or in the `routes` attribute. */
type Form = "blocks" | "attribute";

export interface TerraformFigure {
  readonly routes: number;
  readonly form: Form;
  readonly provider: "gateway" | "nothing";
  /** First plan, nothing published yet. */
  readonly plan: StepFigure;
  readonly apply: StepFigure;
  /** Plan after the apply: everything refreshed, nothing to do. */
  readonly secondPlan: StepFigure;
}

export async function benchTerraform(sizes: readonly number[]): Promise<TerraformFigure[]> {
  if ((await run("terraform", ["version"], tmpdir(), {}).catch(() => undefined)) === undefined) {
    console.log("\nTerraform: not on the PATH, left out");
    return [];
  }
  const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  try {
    const { cliConfigFile } = await writeDevMirror(join(directory, "mirror"));
    const nullConfigFile = await writeNullProvider(join(directory, "null"));
    const figures: TerraformFigure[] = [];
    const runs = sizes.flatMap((routes) =>
      (["blocks", "attribute"] as const).flatMap((form) =>
        (["gateway", "nothing"] as const).map((provider) => ({ routes, form, provider })),
      ),
    );
    for (const { routes, form, provider } of runs) {
      const work = join(directory, `${provider}-${form}-${routes}`);
      await mkdir(work);
      // Indented, as constructs write it: Terraform prints whole lines beside its diagnostics.
      const text = JSON.stringify(program(routes, form, join(work, "slices")), null, 2);
      await writeFile(join(work, "main.tf.json"), text);
      const env = {
        TF_CLI_CONFIG_FILE: provider === "gateway" ? cliConfigFile : nullConfigFile,
        CHECKPOINT_DISABLE: "1",
        TF_IN_AUTOMATION: "1",
      };
      if (provider === "gateway") await run("terraform", ["init", "-input=false"], work, env);
      figures.push({
        routes,
        form,
        provider,
        plan: await run("terraform", ["plan", "-input=false", "-out=plan"], work, env),
        apply: await run("terraform", ["apply", "-input=false", "plan"], work, env),
        secondPlan: await run("terraform", ["plan", "-input=false", "-detailed-exitcode"], work, env),
      });
    }
    return figures;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** One row for each step of each run; the ratios are ours over those of the provider that does nothing. */
export function terraformRows(figures: readonly TerraformFigure[]): { header: string[]; rows: string[][] } {
  const header = [
    "routes",
    "provider",
    "step",
    "time",
    "ratio",
    "CPU Terraform",
    "CPU provider",
    "CPU ratio",
    "RSS provider",
  ];
  const rows = figures.flatMap((figure) =>
    (["plan", "apply", "secondPlan"] as const).map((step) => {
      const { routes, form, provider } = figure;
      const own = figure[step];
      const beside = figures.find(
        (each) => each.routes === routes && each.form === form && each.provider === "nothing",
      )?.[step];
      const ratio = (of: (step: StepFigure) => number): string =>
        beside && provider === "gateway" ? (of(own) / of(beside)).toFixed(2) : "";
      return [
        `${routes} by ${form}`,
        provider,
        step === "secondPlan" ? "second plan" : step,
        `${own.seconds.toFixed(2)} s`,
        ratio(({ seconds }) => seconds),
        `${own.ownCpuSeconds.toFixed(2)} s`,
        `${own.childrenCpuSeconds.toFixed(2)} s`,
        ratio(({ ownCpuSeconds, childrenCpuSeconds }) => ownCpuSeconds + childrenCpuSeconds),
        `${own.childPeakMebibytes} MiB`,
      ];
    }),
  );
  return { header, rows };
}

function program(routes: number, form: Form, slices: string): unknown {
  const policy = JSON.stringify([
    { allow: { and: [{ domain: { is: "example.com" } }] } },
    { deny: { or: [{ mcp_tool: { starts_with: "delete_" } }] } },
  ]);
  const route = Object.fromEntries(
    Array.from({ length: routes }, (_, index) => [
      `route-${index}`,
      {
        from: `https://mcp-${index}.example.com`,
        to: [`http://mcp-${index}.internal.example.com:8080`],
        policy,
        set_request_headers: { "X-Team": `team-${index % 20}` },
        mcp: { server: { max_request_bytes: 65536 } },
      },
    ]),
  );
  const bundle = {
    owner: "bench",
    runtime_flags: { mcp: true },
    mcp_allowed_as_metadata_domains: ["*.example.com"],
    file: { directory: slices },
    [form === "blocks" ? ROUTE_BLOCK : ROUTES_ATTRIBUTE]: route,
  };
  return {
    terraform: { required_providers: { gateway: { source: PROVIDER_SOURCE } } },
    resource: { gateway_bundle: { bench: bundle } },
  };
}

/** @returns the CLI configuration file that puts it in place of ours */
async function writeNullProvider(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const bundle = join(directory, "provider.mjs");
  const esbuild = await import("esbuild");
  await esbuild.build({
    entryPoints: [fileURLToPath(new URL("./terraform-null.ts", import.meta.url))],
    outfile: bundle,
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    target: "node24",
    logLevel: "error",
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
  const launcher = join(directory, "terraform-provider-gateway");
  const cache = join(directory, "cache");
  await writeFile(
    launcher,
    `#!/bin/sh\nexport NODE_COMPILE_CACHE='${cache}'\nexec '${process.execPath}' '${bundle}' "$@"\n`,
  );
  await chmod(launcher, 0o755);
  const cliConfigFile = join(directory, "terraform.rc");
  const overrides = `dev_overrides {\n    ${JSON.stringify(PROVIDER_SOURCE)} = ${JSON.stringify(directory)}\n  }`;
  await writeFile(cliConfigFile, `provider_installation {\n  ${overrides}\n  direct {}\n}\n`);
  return cliConfigFile;
}

function run(command: string, args: readonly string[], cwd: string, env: Record<string, string>): Promise<StepFigure> {
  return new Promise((resolve, reject) => {
    const started = process.hrtime.bigint();
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 300_000,
    });
    const watch = watchProcess(child.pid ?? 0);
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => void (output += chunk.toString("utf8")));
    child.stderr.on("data", (chunk: Buffer) => void (output += chunk.toString("utf8")));
    child.once("error", (error) => {
      watch.stop();
      reject(error);
    });
    child.once("close", (code) => {
      const cost = watch.stop();
      const seconds = Number(process.hrtime.bigint() - started) / 1e9;
      if (code === 0) resolve({ seconds, ...cost });
      else reject(new Error(`Cannot run "${command} ${args.join(" ")}": exit ${code}\n${output}`));
    });
  });
}
