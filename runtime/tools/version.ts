/** `gateway version`: what this program is, for support requests and for inventories. */
import { REVISIONS } from "../mcp/operations/operation.ts";
import { readBuild, VERSION } from "../shared/version.ts";
import { PROVIDER_PROTOCOL } from "../terraform/version.ts";

/** @param build default: of this program */
export function versionText(isJson: boolean, build = readBuild()): string {
  const facts = {
    version: VERSION,
    commit: build?.commit ?? null,
    date: build?.date.toISOString() ?? null,
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    mcp: [...REVISIONS],
    terraform_protocol: PROVIDER_PROTOCOL,
  };
  if (isJson) return JSON.stringify(facts, null, 2);
  return Object.entries(facts)
    .map(([name, value]) => `${name.replace("_", " ")}: ${show(value)}`)
    .join("\n");
}

function show(value: string | null | readonly string[]): string {
  if (value === null) return "unknown (not a release)";
  return typeof value === "string" ? value : value.join(", ");
}
