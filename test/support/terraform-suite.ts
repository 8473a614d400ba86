/** Tests with the real Terraform whose provider is in this process: one provider for all, a new workspace for each. */
import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest";

import {
  createWorkspace,
  type InProcessProvider,
  serveInProcess,
  terraformMissing,
  type Workspace,
} from "./terraform.ts";

import { LONG_MS } from "./limits.ts";

export interface TerraformSuite {
  /** Workspace of the running test. */
  readonly workspace: Workspace;
  readonly provider: InProcessProvider;
  /** Ends the workspace of the running test and continues with another one. */
  readonly renew: (env: Readonly<Record<string, string>>) => void;
  /** The published slice in the workspace's directory `slices`. */
  readonly slice: (owner?: string) => Slice;
  readonly apply: () => Promise<string>;
  /** Plans the import of `gateway_bundle.taken`, whose configuration Terraform writes to `taken.tf`. @returns the plan */
  readonly generate: (head: string, id: string) => Promise<string>;
  /** 0 nothing to do, 2 changes. */
  readonly planCode: () => Promise<number | null>;
}

interface Slice extends Readonly<Record<string, unknown>> {
  readonly routes: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Describes the tests; they are skipped without Terraform. */
export function describeTerraform(name: string, body: (terraform: TerraformSuite) => void): void {
  const missing = terraformMissing();
  if (missing !== undefined) console.log(`skipped: ${name}, ${missing}`);
  describe.skipIf(missing !== undefined)(name, { timeout: LONG_MS }, () => {
    let provider: InProcessProvider | undefined;
    let workspace: Workspace | undefined;
    beforeAll(async () => {
      provider = await serveInProcess();
    });
    afterAll(() => {
      provider?.close();
    });
    beforeEach(() => {
      workspace = createWorkspace(running(provider).env);
    });
    afterEach(() => {
      workspace?.close();
    });
    body({
      get workspace() {
        return running(workspace);
      },
      get provider() {
        return running(provider);
      },
      renew(env) {
        workspace?.close();
        workspace = createWorkspace(env);
      },
      slice: (owner = "team") => JSON.parse(running(workspace).read(`slices/${owner}.json`)) as Slice,
      apply: () => running(workspace).succeed("apply", "-auto-approve"),
      async generate(head, id) {
        const here = running(workspace);
        const block = (more: string): string =>
          `${head}\nimport {\n  to = gateway_bundle.taken\n  id = "${id}"\n${more}}\n`;
        // Terraform 1.16 needs it as long as there is no resource, and all refuse it afterwards.
        here.write("main.tf", block("  provider = gateway\n"));
        const planned = await here.succeed("plan", "-generate-config-out=taken.tf");
        here.write("main.tf", block(""));
        return planned;
      },
      planCode: async () => (await running(workspace).run("plan", "-detailed-exitcode")).code,
    });
  });
}

function running<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("Cannot use Terraform outside of a test");
  return value;
}
