/** Options of `gateway catalog`. */
import type { Command } from "commander";

import { MANAGED_CLIENT_NAMES, MANAGED_CLIENTS } from "./clients.ts";

export function addCatalog(program: Command, exit: (code: number) => void, print: (text: string) => void): void {
  const catalog = program.command("catalog").description("Export allow-lists of MCP servers for clients");
  const files = MANAGED_CLIENT_NAMES.map((name) => `  ${name.padEnd(11)}  ${MANAGED_CLIENTS[name].file}`);
  catalog
    .command("export")
    .description("Print a client's managed settings that allow the configuration's MCP servers only")
    .requiredOption("--config <path>", "Configuration file, or directory of gateway.yaml and slices")
    .requiredOption("--for <client>", `Client: ${MANAGED_CLIENT_NAMES.join(", ")}`)
    .addHelpText("after", `\nFiles:\n${files.join("\n")}`)
    .action(async ({ config, for: client }: { config: string; for: string }) => {
      // Loaded on demand: it reads configurations.
      const { exportCatalog } = await import("./export.ts");
      print((await exportCatalog(config, client)).trimEnd());
      exit(0);
    });
}
