/** A job of the pipeline, as its platform runs it: the real Terraform in a directory of its own, and the job's token. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { writeDevMirror } from "../../runtime/terraform/dev-mirror.ts";
import { createWorkspace } from "../../test/support/terraform.ts";

export interface Publishing {
  readonly adminUrl: string;
  readonly origin: string;
  readonly build: string;
  /** What the platform gave the job. */
  readonly jobToken: string;
}

/** `terraform apply` of pipeline.tf. @returns what Terraform and its state say @throws what Terraform says */
export async function publishBuild({ adminUrl, origin, build, jobToken }: Publishing): Promise<string> {
  const mirror = await mkdtemp(join(tmpdir(), "gateway-mirror-"));
  const { cliConfigFile } = await writeDevMirror(mirror);
  const terraform = createWorkspace({
    TF_CLI_CONFIG_FILE: cliConfigFile,
    TF_VAR_admin_url: adminUrl,
    TF_VAR_origin: origin,
    TF_VAR_build: build,
    CI_JOB_TOKEN: jobToken,
  });
  try {
    terraform.write("main.tf", await readFile(new URL("pipeline.tf", import.meta.url), "utf8"));
    await terraform.succeed("init");
    return (await terraform.succeed("apply", "-auto-approve")) + terraform.read("terraform.tfstate");
  } finally {
    terraform.close();
    await rm(mirror, { recursive: true, force: true });
  }
}
