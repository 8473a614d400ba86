/** The commands about tools: names and options. */
import type { Command } from "commander";

import type { ToolsOptions, ToolsOutcome } from "./lock.ts";

/** Exit code, as that of `gateway diff`. */
const DIFFERENT = 3;

/** @param exit receives the exit code of the command @param print its text contains text of servers */
export function addTools(program: Command, exit: (code: number) => void, print: (text: string) => void): void {
  const tools = program.command("tools").description("the tools of MCP servers as they were reviewed, and as they are");
  withOptions(tools.command("lock"), "[file]", "written; other servers in it stay as they are")
    .description("write the tools that servers list, whole, into a file to review, to commit, and to hold them to")
    .action(async (file: string, options: ToolsOptions) =>
      exit(await run(({ lockTools }) => lockTools(file, options), 0, print)),
    );
  withOptions(tools.command("diff"), "[lock]", "what was reviewed")
    .description(
      "say what servers list otherwise than the lock has it; exit status 0: nothing, 3: something, 1: cannot tell",
    )
    .action(async (lock: string, options: ToolsOptions) =>
      exit(await run(({ diffTools }) => diffTools(lock, options), DIFFERENT, print)),
    );
}

function withOptions(command: Command, name: string, what: string): Command {
  return command
    .argument(name, what, "tools.lock.json")
    .requiredOption("--url <url...>", "address of an MCP server as its users know it; the tokens are sent there")
    .requiredOption("--token-file <file...>", "External Tokens, one in a file; what their users see together counts")
    .option("--json", "for machines");
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
