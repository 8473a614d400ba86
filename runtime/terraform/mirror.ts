/** `terraform-provider-gateway mirror DIRECTORY`: an installation source for Terraform and OpenTofu, made from this package. */
import { writeDevMirror } from "./dev-mirror.ts";

const [directory] = process.argv.slice(3);
if (directory === undefined) {
  console.error("Usage: terraform-provider-gateway mirror DIRECTORY");
  process.exitCode = 2;
} else {
  const { cliConfigFile } = await writeDevMirror(directory);
  console.log(
    `Terraform and OpenTofu install the provider from there with\n  export TF_CLI_CONFIG_FILE=${cliConfigFile}`,
  );
}
