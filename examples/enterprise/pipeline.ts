/** A job of the pipeline, as its platform runs it: the real Terraform in a directory of its own, and the job's token. */
import { readFile } from "node:fs/promises";

import { createWorkspace, serveInProcess } from "../../test/support/terraform.ts";

export interface Publishing {
  readonly adminUrl: string;
  readonly origin: string;
  readonly build: string;
  /** What the platform gave the job. */
  readonly jobToken: string;
}

/** `terraform apply` of pipeline.tf. @returns what Terraform and its state say @throws what Terraform says */
export async function publishBuild({ adminUrl, origin, build, jobToken }: Publishing): Promise<string> {
  const provider = await serveInProcess();
  const terraform = createWorkspace({
    ...provider.env,
    TF_VAR_admin_url: adminUrl,
    TF_VAR_origin: origin,
    TF_VAR_build: build,
  });
  // The provider, in this process, reads it.
  process.env["CI_JOB_TOKEN"] = jobToken;
  try {
    terraform.write("main.tf", await readFile(new URL("pipeline.tf", import.meta.url), "utf8"));
    return (await terraform.succeed("apply", "-auto-approve")) + terraform.read("terraform.tfstate");
  } finally {
    delete process.env["CI_JOB_TOKEN"];
    terraform.close();
    provider.close();
  }
}
