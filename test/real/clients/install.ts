/** MCP reference servers and clients from npm, in the versions that the catalog was tried with. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const CATALOG_PACKAGES = [
  "@modelcontextprotocol/server-everything@2026.8.31",
  "@modelcontextprotocol/server-filesystem@2026.8.31",
  "@modelcontextprotocol/server-memory@2026.8.31",
  "@anthropic-ai/claude-code@2.1.197",
  "@openai/codex@0.171.0",
  "@google/gemini-cli@0.61.0",
  // With the runtime of Copilot CLI and Copilot in editors.
  "@github/copilot-sdk@1.0.14",
] as const;

/** @throws Error with the reason where they cannot be had */
export async function installCatalog(): Promise<Readonly<Record<string, string>>> {
  const versions = CATALOG_PACKAGES.map((each) => each.slice(each.lastIndexOf("@") + 1)).join("-");
  const directory = await cached(`catalog-${versions}`, async (fresh) => {
    await writeFile(join(fresh, "package.json"), '{ "private": true }');
    await run("npm", ["install", "--no-audit", "--no-fund", ...CATALOG_PACKAGES], fresh);
  });
  return { CATALOG_SERVERS: directory };
}
