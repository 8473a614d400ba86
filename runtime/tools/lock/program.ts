/** The commands about tools: words and options. */
import type { Command } from "commander";

import { errorText, GatewayError } from "../../shared/errors.ts";
import type { ToolsOptions, ToolsOutcome } from "./lock.ts";

/** @param exit takes the exit code of the command that ran */
export function addTools(program: Command, exit: (code: number) => void): void {
  const tools = program.command("tools").description("the tools of MCP servers as they were reviewed, and as they are");
  withOptions(tools.command("lock"), "[file]", "written; other servers in it stay as they are")
    .description("write the tools that servers list, whole, into a file to review, to commit, and to hold them to")
    .action(async (file: string, options: ToolsOptions) =>
      exit(await run(({ lockTools }) => lockTools(file, options), 0)),
    );
  withOptions(tools.command("diff"), "[lock]", "what was reviewed")
    .description(
      "say what servers list otherwise than the lock has it; exit status 0: nothing, 1: something, 2: cannot tell",
    )
    .action(async (lock: string, options: ToolsOptions) =>
      exit(await run(({ diffTools }) => diffTools(lock, options), 1)),
    );
}

function withOptions(command: Command, name: string, what: string): Command {
  return command
    .argument(name, what, "tools.lock.json")
    .option("--url <url...>", "address of an MCP server as its users know it (default: all that the file has)")
    .requiredOption("--token-file <file...>", "External Tokens, one in a file; what their users see together counts")
    .option("--json", "for machines");
}

/** @param ifDiffers exit code @returns exit code; 2 when there is no answer */
async function run(
  work: (module: typeof import("./lock.ts")) => Promise<ToolsOutcome>,
  ifDiffers: 0 | 1,
): Promise<number> {
  try {
    const { text, differs } = await work(await import("./lock.ts"));
    console.log(text);
    return differs ? ifDiffers : 0;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    console.error(errorText(error));
    return 2;
  }
}
