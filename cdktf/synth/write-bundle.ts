/** Writes `gateway.bundle.json` next to `cdk.tf.json`, for pipelines that deploy it without Terraform. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Slice } from "../../runtime/config/slice.ts";
import { bundleText } from "./bundle-config.ts";
import { Annotations, type Construct, CUSTOM_SYNTHESIS, type ISynthesisSession, TerraformStack } from "../framework.ts";
import { hasUnresolved } from "./terraform-text.ts";

interface SliceConstruct extends Construct {
  readonly owner: string;
  readonly slice: Slice;
  readonly hasMoreRoutes: boolean;
  readonly warnings: readonly string[];
}

const writersOfStack = new WeakMap<TerraformStack, number>();

/** Writes the file at each synthesis, after all validations passed. */
export function writeBundleFile(gateway: SliceConstruct): void {
  const stack = TerraformStack.of(gateway);
  writersOfStack.set(stack, (writersOfStack.get(stack) ?? 0) + 1);
  const onSynthesize = ({ outdir, manifest }: ISynthesisSession): void => {
    // With several gateways in one stack each file name contains its owner.
    const name = writersOfStack.get(stack) === 1 ? "gateway.bundle.json" : `gateway.${gateway.owner}.bundle.json`;
    for (const warning of gateway.warnings) annotate(gateway, "warning", warning);
    const file = join(outdir, manifest.forStack(stack).workingDirectory, name);
    if (!gateway.hasMoreRoutes && !hasUnresolved(gateway.slice)) return writeFileSync(file, bundleText(gateway.slice));
    // A file from an earlier synthesis could be deployed by mistake.
    rmSync(file, { force: true });
    const why = "the bundle has values that only Terraform knows, publish it by terraform apply";
    annotate(gateway, "info", `${name} is not written: ${why}`);
    return undefined;
  };
  Object.defineProperty(gateway, CUSTOM_SYNTHESIS, { value: { onSynthesize } });
}

/** Set by the command line, which shows annotations itself. A program that runs on its own shows none. */
const SHOWN_BY_COMMAND_LINE = "CDKTF_CONTINUE_SYNTH_ON_ERROR_ANNOTATIONS";

function annotate(construct: Construct, level: "info" | "warning", text: string): void {
  if (level === "info") Annotations.of(construct).addInfo(text);
  else Annotations.of(construct).addWarning(text);
  if (process.env[SHOWN_BY_COMMAND_LINE] === undefined) {
    process.stderr.write(`[${construct.node.path}] ${level}: ${text}\n`);
  }
}
