#!/usr/bin/env node
import { existsSync } from "node:fs";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 12)) {
  console.error(`gateway needs Node 24.12 or newer, this is ${process.versions.node}; install a newer Node`);
  process.exit(1);
}
// The published package has JavaScript beside the sources; a checkout runs the sources as they are.
const built = new URL("../main.js", import.meta.url);
await import(existsSync(built) ? built.href : new URL("../main.ts", import.meta.url).href);
