/** The command line: text in and out, no logic of its own. Every command answers with an exit code. */
import { readFile } from "node:fs/promises";

import { Command, CommanderError } from "commander";

import { checkFiles } from "./config/check.ts";
import { configJsonSchema } from "./config/json-schema.ts";
import { configReference } from "./config/reference.ts";
import { readSources } from "./bundle/sources.ts";
import { errorText, GatewayError } from "./errors.ts";
import { explainRequest } from "./explain.ts";

/** @returns 0 done, 1 a problem with what was given, 2 wrong usage */
export async function runCli(args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const program = new Command("gateway")
    .description("Identity-aware gateway for MCP servers and web applications")
    .version(await packageVersion())
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text) });

  program
    .command("run")
    .description(
      "serve a configuration: a file, or a directory of one gateway.yaml and slices; changes go live by themselves",
    )
    .requiredOption("--config <path>", "file or directory")
    .action(async ({ config }: { config: string }) => {
      // Loaded here alone: the other commands need neither sockets nor databases.
      const { runUntilSignal } = await import("./run.ts");
      exitCode = await runUntilSignal(config);
    });

  program
    .command("check")
    .description("say every problem of configuration files at once")
    .argument("<path...>", "files, or directories of slices; the first is the boot file")
    .action(async (paths: string[]) => {
      const result = checkFiles(await readSources(paths));
      console.log(result.text);
      exitCode = result.ok ? 0 : 1;
    });

  program
    .command("explain")
    .description("may this user send that request, and why")
    .requiredOption("--config <path>", "file or directory")
    .requiredOption("--route <name>", "route key (owner/name) or name")
    .option("--user <id>", "user id", "user")
    .option("--email <address>", "the user's email", "")
    .option("--groups <names>", "comma separated", "")
    .option("--anonymous", "nobody is signed in")
    .option("--tool <name>", "a tools/call of this tool")
    .option("--mcp-method <method>", "another JSON-RPC method")
    .option("--method <method>", "HTTP method", "GET")
    .option("--path <path>", "path", "/")
    .option("--json", "for machines")
    .action(async (options: Parameters<typeof explainRequest>[1] & { config: string }) => {
      const result = explainRequest(await readSources([options.config]), options);
      console.log(result.text);
      exitCode = result.ok ? 0 : 1;
    });

  program
    .command("schema")
    .description("print the JSON Schema of configuration files, for editors")
    .action(() => console.log(JSON.stringify(configJsonSchema(), null, 2)));

  program
    .command("reference")
    .description("print the reference of all settings as Markdown")
    .action(() => console.log(configReference()));

  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has printed its own message; help and version arrive here too, with code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof GatewayError)) throw error;
    console.error(errorText(error));
    return 1;
  }
}

async function packageVersion(): Promise<string> {
  const text = await readFile(new URL("../package.json", import.meta.url), "utf8").catch(() =>
    // Built files lie one folder deeper.
    readFile(new URL("../../package.json", import.meta.url), "utf8"),
  );
  return (JSON.parse(text) as { version: string }).version;
}
