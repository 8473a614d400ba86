/** The commands about tools: names and options. */
import type { Command } from "commander";

import type { ToolsOptions, ToolsOutcome } from "./lock.ts";

/** Exit code, as that of `gateway diff`. */
const DIFFERENT = 3;

/** @param exit receives the exit code of the command @param print its text contains text of servers */
export function addTools(program: Command, exit: (code: number) => void, print: (text: string) => void): void {
  const tools = program.command("tools").description("Lock the tools of MCP servers, and compare");
  withOptions(tools.command("lock"), "[file]", "Lock file to write; other servers in it are unchanged")
    .description("Write the tools that servers list to a lock file, for review")
    .action(async (file: string, options: ToolsOptions) =>
      exit(await run(({ lockTools }) => lockTools(file, options), 0, print)),
    );
  withOptions(tools.command("diff"), "[lock]", "Lock file to compare with")
    .description("Compare the tools that servers list with the lock file")
    .addHelpText("after", "\nExit status:\n  0  no difference\n  3  differences\n  1  cannot be determined")
    .action(async (lock: string, options: ToolsOptions) =>
      exit(await run(({ diffTools }) => diffTools(lock, options), DIFFERENT, print)),
    );
}

function withOptions(command: Command, name: string, what: string): Command {
  return command
    .argument(name, what, "tools.lock.json")
    .requiredOption("--url <url...>", "URL of an MCP server, as users know it; the tokens are sent there")
    .requiredOption("--token-file <file...>", "Files of one External Token each; the tools of all their users count")
    .option("--json", "Print JSON");
}

/** @param ifDiffers exit code @returns exit code; an error has the code of all commands */
async function run(
  work: (module: typeof import("./lock.ts")) => Promise<ToolsOutcome>,
  ifDiffers: 0 | typeof DIFFERENT,
  print: (text: string) => void,
): Promise<number> {
  const { text, differs } = await work(await import("./lock.ts"));
  print(text);
  return differs ? ifDiffers : 0;
}
