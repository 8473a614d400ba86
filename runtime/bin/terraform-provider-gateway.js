#!/usr/bin/env node
import { existsSync } from "node:fs";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 12)) {
  console.error(
    `terraform-provider-gateway needs Node 24.12 or newer, this is ${process.versions.node}; install a newer Node`,
  );
  process.exit(1);
}
const source = new URL("../terraform/main.ts", import.meta.url);
const base = existsSync(source) ? source : new URL("../../dist/runtime/terraform/main.js", import.meta.url);
// Terraform installs providers from a mirror; this makes one from the package.
if (process.argv[2] === "mirror") await import(new URL(base.href.replace(/main(\.\w+)$/, "mirror$1")).href);
else await import(base.href);
