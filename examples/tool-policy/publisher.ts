/** How the slice gets to the gateway: by the real Terraform, or as a file where there is none. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { writeDevMirror } from "../../runtime/terraform/dev-mirror.ts";
import type { RunningGateway } from "../../test/support/run-gateway.ts";
import { createWorkspace, terraformMissing } from "../../test/support/terraform.ts";

export interface Publisher {
  /** @returns what Terraform said */
  apply(slice: string): Promise<string>;
  plan(slice: string): Promise<string>;
  close(): Promise<void>;
}

export async function createPublisher(gateway: RunningGateway): Promise<Publisher> {
  const missing = terraformMissing();
  if (missing !== undefined) return createFilePublisher(gateway, missing);
  const mirror = await mkdtemp(join(tmpdir(), "gateway-mirror-"));
  const { cliConfigFile } = await writeDevMirror(mirror);
  const terraform = createWorkspace({ TF_CLI_CONFIG_FILE: cliConfigFile, TF_VAR_directory: gateway.directory });
  terraform.write("main.tf", await readFile(new URL("desk.tf", import.meta.url), "utf8"));
  await terraform.succeed("init");
  return {
    apply(slice) {
      terraform.write("desk.yaml", slice);
      return terraform.succeed("apply", "-auto-approve");
    },
    plan(slice) {
      terraform.write("desk.yaml", slice);
      return terraform.succeed("plan");
    },
    async close() {
      terraform.close();
      await rm(mirror, { recursive: true, force: true });
    },
  };
}

function createFilePublisher(gateway: RunningGateway, missing: string): Publisher {
  return {
    async apply(slice) {
      gateway.write("desk.yaml", slice);
      return "";
    },
    plan: async () => `skipped: ${missing}`,
    close: async () => {},
  };
}
