/** How the slice gets to the gateway: by the real Terraform, or as a file where there is none. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { parse, stringify } from "yaml";

import type { RunningGateway } from "../../test/support/run-gateway.ts";
import { createWorkspace, serveInProcess, terraformMissing } from "../../test/support/terraform.ts";

export interface Publisher {
  /** Where the lock of the reviewed tools is committed. */
  readonly lockFile: string;
  /** @returns what Terraform said */
  apply(slice: string): Promise<string>;
  plan(slice: string): Promise<string>;
  close(): Promise<void>;
}

export async function createPublisher(gateway: RunningGateway): Promise<Publisher> {
  const missing = terraformMissing();
  if (missing !== undefined) return createFilePublisher(gateway, missing);
  const provider = await serveInProcess();
  const terraform = createWorkspace({ ...provider.env, TF_VAR_directory: gateway.directory });
  terraform.write("main.tf", await readFile(new URL("desk.tf", import.meta.url), "utf8"));
  return {
    lockFile: terraform.path("tools.lock.json"),
    apply(slice) {
      terraform.write("desk.yaml", slice);
      return terraform.succeed("apply", "-auto-approve");
    },
    plan(slice) {
      terraform.write("desk.yaml", slice);
      return terraform.succeed("plan");
    },
    close: async () => {
      terraform.close();
      provider.close();
    },
  };
}

function createFilePublisher(gateway: RunningGateway, missing: string): Publisher {
  const lockFile = join(gateway.directory, "lock", "tools.lock.json");
  mkdirSync(join(gateway.directory, "lock"));
  return {
    lockFile,
    async apply(slice) {
      gateway.write("desk.yaml", existsSync(lockFile) ? withLock(slice, readFileSync(lockFile, "utf8")) : slice);
      return "";
    },
    plan: async () => `skipped: ${missing}`,
    close: async () => {},
  };
}

interface Lock {
  readonly servers: Readonly<
    Record<
      string,
      { readonly tools: readonly { readonly digest: string; readonly definition: { readonly name: string } }[] }
    >
  >;
}

/** As desk.tf does it. */
function withLock(slice: string, lock: string): string {
  const next = parse(slice) as { readonly routes: { readonly desk: { readonly mcp: { readonly server: object } } } };
  Object.assign(next.routes.desk.mcp.server, { tool_lock: { tools: lockedDigests(lock) } });
  return stringify(next);
}

/** Of a lock file: for `tool_lock.tools`. */
export function lockedDigests(lock: string): Readonly<Record<string, readonly string[]>> {
  const reviewed = Object.values((JSON.parse(lock) as Lock).servers).flatMap(({ tools }) => tools);
  const byName = Map.groupBy(reviewed, ({ definition }) => definition.name);
  return Object.fromEntries([...byName].map(([name, all]) => [name, all.map(({ digest }) => digest)]));
}
