/** The command line: parses arguments and prints results, with no logic of its own. Every command has an exit code. */
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";

import { Command, CommanderError, InvalidArgumentError } from "commander";

import type { ReadyOptions } from "./tools/commands/ready.ts";
import { addAdministration, addAuditCommands, addPolicyCommands } from "./tools/commands/program.ts";
import { DEFAULT_OWNER } from "./features/process/owners.ts";
import { attempting, GatewayError } from "./shared/errors.ts";
import { VERSION } from "./shared/version.ts";
import type { ExplainOptions } from "./tools/explain.ts";
import { addCatalog } from "./tools/catalog/program.ts";
import { addInit } from "./tools/init/program.ts";
import { addTools } from "./tools/lock/program.ts";
import { IMPORT_FORMATS } from "./tools/import-formats.ts";
import type { CertificateFacts } from "./policy/facts.ts";
import { addIngress } from "./tools/commands/ingress.ts";
import { EXIT_STATUS, printError, printLine } from "./tools/commands/output.ts";

type ExplainCommand = ExplainOptions & {
  config: string;
  certificate?: string;
  invalidCertificate?: true;
  history?: string[];
  key?: string;
};

/** Sets the exit code of the command that ran. */
type Exit = (code: number) => void;

/** @returns 0 success, 1 a problem with the input, 2 wrong usage */
export async function runCli(args: readonly string[]): Promise<number> {
  let exitCode = 0;
  const exit: Exit = (code) => (exitCode = code);
  const program = new Command("gateway")
    .description("Identity-aware gateway for MCP servers and web applications")
    .version(VERSION)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text) });
  addInit(program, exit, { print: printLine, version: VERSION });
  addRunning(program, exit);
  addQuestions(program, exit);
  addIngress(program, exit);
  addAdministration(program, exit);
  addPolicyCommands(program, exit);
  addAuditCommands(program, exit);
  addTools(program, exit, printLine);
  addCatalog(program, exit, printLine);
  addImport(program, exit);
  const [name] = args;
  // Loaded on demand: kinds of stored objects import most of the gateway.
  if (name !== "--version" && name !== "-V" && !program.commands.some((command) => command.name() === name))
    (await import("./tools/commands/object-groups.ts")).addObjectGroups(program, exit);

  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    // Commander has printed its own message. Help and version also end here, with code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof GatewayError)) throw error;
    await printFailure(error, args.includes("--json"));
    return 1;
  }
}

/** One line for people, one object for programs. */
async function printFailure({ code, message }: GatewayError, isJson: boolean): Promise<void> {
  const { docsOfCommandError, DOCUMENTATION } = await import("./config/surfaces/documentation-pages.ts");
  const docs = docsOfCommandError(code);
  if (isJson) return printError(JSON.stringify({ error: code, message, docs }));
  printError(message);
  // Problems of settings name those settings.
  if (docs !== undefined && !message.includes(DOCUMENTATION)) printError(`${DOCUMENTATION}${docs}`);
}

/** @returns exit code */
function say({ ok, text }: { readonly ok: boolean; readonly text: string }): number {
  printLine(text);
  return ok ? 0 : 1;
}

/** Commands that run a gateway or check its configuration. */
function addRunning(program: Command, exit: Exit): void {
  program
    .command("run")
    .description("Run the gateway, and apply configuration changes without a restart")
    .requiredOption("--config <path>", "Configuration file, or directory of gateway.yaml and slices")
    .option("--workers <n>", "Worker processes that share the port; requires a shared store", workerCount, 1)
    .action(async (options: { config: string; workers: number }) => {
      // Loaded here only: the other commands need neither sockets nor databases.
      const { runUntilSignal } = await import("./run.ts");
      exit(await runUntilSignal(options));
    });

  program
    .command("rollback")
    .description("Restore earlier published slices")
    .requiredOption("--config <path>", "Configuration file or directory, for its store")
    .option("--owner <name>", "Only this owner's slice (default: all owners)")
    .option("--to <generation>", "Generation to restore (default: before the last change)", generationNumber)
    .option("--list", "List the generations, change nothing")
    .action(async ({ config, list, ...request }: { config: string; list?: true; owner?: string; to?: number }) => {
      const { listGenerations, rollbackSlices } = await import("./tools/commands/rollback.ts");
      exit(say(await (list ? listGenerations(config) : rollbackSlices(config, request))));
    });

  program
    .command("check")
    .description("Validate a configuration and list all problems")
    .argument("<path...>", "Files, or directories of slices; the first is the main configuration file")
    .option("--elsewhere", "For another host: skip checks of secrets, certificates and directories")
    .addHelpText("after", "\nOnly `gateway run` checks ports, the connection to PostgreSQL, and --workers.")
    .action(async (paths: string[], { elsewhere = false }: { elsewhere?: boolean }) => {
      const { checkConfiguration } = await import("./tools/commands/check.ts");
      exit(say(await checkConfiguration(paths, { env: process.env, elsewhere })));
    });

  program
    .command("ready")
    .description("Check whether a running gateway is ready")
    .argument("[address]", 'Its admin_address, with "https://" if it has TLS', "127.0.0.1:9901")
    .option("--ca <file>", "PEM file of the CAs of its certificate")
    .option("--server-name <name>", "Host name in its certificate, if the address is an IP address")
    .addHelpText("after", EXIT_STATUS.ready)
    .action(async (address: string, options: ReadyOptions) => {
      const { askReadiness } = await import("./tools/commands/ready.ts");
      exit(say(await askReadiness(address, options)));
    });
}

/** Commands that only answer questions. */
function addQuestions(program: Command, exit: Exit): void {
  program
    .command("version")
    .description("Show version, commit, build date and protocol versions")
    .option("--json", "Print JSON")
    .action(async ({ json = false }: { json?: boolean }) => {
      const { versionText } = await import("./tools/version.ts");
      printLine(versionText(json));
    });

  program
    .command("explain")
    .description("Explain whether a request would be allowed")
    .requiredOption("--config <path>", "Configuration file or directory")
    .requiredOption("--route <name>", "Route key (owner/name) or name")
    .option("--user <id>", "User ID", "user")
    .option("--email <address>", "Email address of the user", "")
    .option("--groups <names>", "Groups of the user, comma-separated", "")
    .option("--claim <name=value...>", "User claim; repeat for several values")
    .option("--actor <id>", "User ID of the workload that acts for the user")
    .option("--actor-claim <name=value...>", "Claim of that workload; repeat for several values")
    .option("--anonymous", "Simulate an anonymous request")
    .option("--device <id>", "ID of the session's verified device")
    .option("--device-approved", "The verified device is approved")
    .option("--device-type <type>", "Type of the verified device: any, enclave_only")
    .option("--tool <name>", "Call this tool (tools/call)")
    .option("--arguments <json>", "Arguments of the call (default: unknown)")
    .option("--prompt <name>", "Get this prompt (prompts/get)")
    .option("--resource <uri>", "Read this resource (resources/read)")
    .option("--mcp-method <method>", "Send a message of this JSON-RPC method")
    .option("--method <method>", "HTTP method", "GET")
    .option("--path <path>", "Request path", "/")
    .option("--preflight", "Send a CORS preflight request")
    .option("--ip <address>", "IP address of the client")
    .option("--certificate <file>", "PEM file of the client's certificate, treated as valid")
    .option("--invalid-certificate", "Treat the certificate as not signed by a trusted CA")
    .option("--history <file...>", "Decide after the calls in these files of records, for history rules")
    .option("--key <ref>", "With --history: key of the digests (env:NAME, file:/path)")
    .option("--json", "Print JSON")
    .addHelpText("after", EXIT_STATUS.explain)
    .action(async (options: ExplainCommand) => {
      const { certificate: file, invalidCertificate = false } = options;
      const certificate = file === undefined ? undefined : await readCertificate(file, !invalidCertificate);
      const { EXPLAIN_EXIT, explainRequest } = await import("./tools/explain.ts");
      const { readSources } = await import("./bundle/sources.ts");
      const sources = await readSources([options.config]);
      const { history, ...asked } = options;
      const { text, answer } =
        history === undefined
          ? explainRequest(sources, asked, certificate)
          : await (
              await import("./tools/replay/explain-history.ts")
            ).explainWithHistory(sources, { ...asked, history }, { env: process.env }, certificate);
      printLine(text);
      exit(EXPLAIN_EXIT[answer]);
    });

  program
    .command("doctor")
    .description("Test whether common MCP clients can connect to a server")
    .argument("<url>", "URL of the MCP server, as users enter it in their clients")
    .option("--ca <file>", "PEM file of additional CAs to trust, such as a self-signed certificate")
    .option("--token-file <file>", "File of a user's External Token: also check the members of a federated route")
    .option("--json", "Print JSON")
    .action(async (url: string, { json, ca, tokenFile }: { json?: boolean; ca?: string; tokenFile?: string }) => {
      const { examine } = await import("./tools/doctor/doctor.ts");
      if (ca !== undefined) await (await import("./tools/doctor/trust.ts")).trustAlso(ca);
      const { formatDoctorReport } = await import("./tools/doctor/text.ts");
      const { readToken } = await import("./tools/doctor/members.ts");
      const token = tokenFile === undefined ? undefined : await readToken(tokenFile);
      const report = await examine(url, token);
      exit(say({ ok: report.ok, text: json ? JSON.stringify(report, null, 2) : formatDoctorReport(report) }));
    });

  program
    .command("schema")
    .description("Print the JSON Schema of configuration files, for editors")
    .action(async () => {
      const { configJsonSchema } = await import("./config/surfaces/json-schema.ts");
      printLine(JSON.stringify(configJsonSchema(), null, 2));
    });

  program
    .command("reference")
    .description("Print the reference of all settings and criteria as Markdown")
    .action(async () => {
      const { configReference } = await import("./config/surfaces/reference.ts");
      const { policyReference } = await import("./config/surfaces/policy-reference.ts");
      printLine(`${configReference()}\n\n${policyReference()}`);
    });
}

function addImport(program: Command, exit: Exit): void {
  program
    .command("import")
    .description("Convert a Pomerium configuration or a published slice")
    .argument("<file>", "Pomerium's config.yaml, or a slice such as /etc/gateway/slices/main.json")
    .option("--to <format>", `Format: ${IMPORT_FORMATS.join(", ")} (default: typescript; for a slice: hcl)`)
    .option("--owner <name>", `Owner of the new slice (default: ${DEFAULT_OWNER})`)
    .option("--boot <file>", "Also write the main configuration file, with the global settings")
    .addHelpText("after", "\nStandard error lists what was not converted or has another meaning.")
    .action(async (path: string, { boot: bootFile, ...options }: { to?: string; owner?: string; boot?: string }) => {
      const file = resolve(path);
      const { importConfig } = await import("./tools/import/import.ts");
      const { readSources } = await import("./bundle/sources.ts");
      const [source] = await readSources([file]);
      const { text, boot, report, ok } = importConfig(file, source?.text ?? "", {
        ...options,
        boot: bootFile !== undefined,
      });
      // Before printing: an existing file must not be overwritten.
      if (bootFile !== undefined && boot !== undefined) await writeNewFile(bootFile, boot);
      process.stdout.write(text);
      printError(report);
      exit(ok ? 0 : 1);
    });
}

const MAX_WORKERS = 256;

function workerCount(text: string): number {
  const workers = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (workers < 1 || workers > MAX_WORKERS) throw new InvalidArgumentError(`must be 1 to ${MAX_WORKERS}.`);
  return workers;
}

function generationNumber(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new InvalidArgumentError("must be a number.");
  return Number(text);
}

async function readCertificate(file: string, isValid: boolean): Promise<CertificateFacts> {
  const [{ X509Certificate }, { certificateFacts }] = await Promise.all([
    import("node:crypto"),
    import("./http/listener/client-certificate.ts"),
  ]);
  return attempting("explain.certificate", `Cannot read the certificate "${file}"`, async () =>
    certificateFacts(new X509Certificate(await readFile(file)), isValid),
  );
}

/** @throws GatewayError `import.write` if the file exists or cannot be written */
function writeNewFile(path: string, text: string): Promise<void> {
  return attempting("import.write", `Cannot write "${path}"`, () => writeFile(path, text, { flag: "wx" }));
}
