#!/usr/bin/env node
import { existsSync } from "node:fs";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 12)) {
  console.error(`gateway needs Node 24.12 or newer, this is ${process.versions.node}; install a newer Node`);
  process.exit(1);
}
// A checkout runs its sources as they are, whatever an earlier build left; the published package has JavaScript only.
const source = new URL("../main.ts", import.meta.url);
await import(existsSync(source) ? source.href : new URL("../../dist/runtime/main.js", import.meta.url).href);
