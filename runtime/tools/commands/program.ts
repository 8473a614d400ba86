/** Names and options of the administrator's commands; their actions are in the other files of this folder. */
import type { Command } from "commander";

import type { AuditOptions } from "../audit/command.ts";
import type { ReplayOptions } from "../replay/command.ts";
import type { DiffOptions } from "../diff/command.ts";
import type { ListOptions } from "./objects.ts";
import { EXIT_STATUS, printError, printLine } from "./output.ts";

// Loaded on demand: other commands open no databases.
const access = () => import("./access.ts");
const machines = () => import("./machines.ts");
const devices = () => import("./devices.ts");
const blocks = () => import("./blocks.ts");
const objects = () => import("./objects.ts");
const records = () => import("./records.ts");
const users = () => import("./users.ts");
const directory = () => import("./directory.ts");
const upstreams = () => import("./upstreams.ts");
const keys = () => import("./keys.ts");

const JSON_OUT = ["--json", "Print JSON"] as const;
export const USER = ["--user <id>", "Only of this user: ID or email"] as const;
const CLIENT = ["--client <id>", "Only of this client"] as const;
const ALL = ["--all", "All users"] as const;
const ROUTE = ["--route <key>", "For a tool: only on this route (owner/name)"] as const;

/** A command on the records of a gateway, found by its configuration. */
export function onRecords(parent: Command, name: string, description = ""): Command {
  return parent
    .command(name)
    .description(description)
    .requiredOption("--config <path>", "Configuration file or directory of the gateway");
}

/** @returns the list command, for further options */
export function readCommands(group: Command, kind: string, exit: Exit): Command {
  showCommand(onRecords(group, "show").option(...JSON_OUT), kind, exit);
  return onRecords(group, "list", "List them")
    .option(...JSON_OUT)
    .action(async (options) => exit(await (await objects()).listObjects(kind, options as ListOptions)));
}

/** Options can also precede the subcommand. */
function showCommand(command: Command, kind: string, exit: Exit): void {
  command
    .description("Show one by its ID, which `list --json` prints")
    .argument("<id>")
    .action(async (id: string, _: object, own: Command) =>
      exit(await (await objects()).showObject(kind, id, own.optsWithGlobals())),
    );
}

/** Receives the exit code of the command. */
type Exit = (code: number) => void;

/** Commands about what a gateway stores. */
export function addAdministration(program: Command, exit: Exit): void {
  addBlocks(program, exit);
  addUsers(program, exit);
  addStore(program, exit);
  addAccess(program, exit);
  addMachines(program, exit);
}

function addBlocks(program: Command, exit: Exit): void {
  onRecords(program, "block", "Block a user, client, grant, run, route or tool")
    .argument("<what>", "Kind: user, client, grant, run, route or tool")
    .argument(
      "<name>",
      "user: ID or email; client, grant, run: ID (after -- if it starts with -); route: owner/name; tool: name",
    )
    .option("--until <time>", "End, such as 2h or 2026-11-20T18:00:00Z (default: until unblocked)")
    .option("--reason <text>", "Reason, shown in lists and records")
    .option(...ROUTE)
    .addHelpText(
      "after",
      "\nDenies matching requests in all processes within 2 seconds, open streams included. Revokes nothing.",
    )
    .action(async (what, name, options) => exit(await (await blocks()).block(what, name, options)));
  onRecords(program, "unblock", "Remove a block")
    .argument("<what>", "Kind, as in the block")
    .argument("<name>")
    .option(...ROUTE)
    .action(async (what, name, options) => exit(await (await blocks()).unblock(what, name, options)));
  const blocked = onRecords(program, "blocks", "List blocks")
    .option(...JSON_OUT)
    .action(async (options) => exit(await (await objects()).listObjects("block", options)));
  showCommand(blocked.command("show"), "block", exit);
}

function addUsers(program: Command, exit: Exit): void {
  onRecords(program, "records", "Print the last records of the record store, oldest first")
    .option("--user <user>", "Only of this user: ID or email")
    .option("--route <key>", "Only of this route: owner/name")
    .option("--tool <name>", "Only of this tool")
    .option("--client <id>", "Only of this client")
    .option("--denied", "Only denied requests, not those answered with a sign-in")
    .option("--since <time>", "Start, such as 2h (ago) or 2026-11-20T18:00:00Z")
    .option("--until <time>", "End, such as 1h (ago) or 2026-11-20T18:00:00Z")
    .option("--limit <number>", "Maximum number, newest kept (default: 100)")
    .option("--follow", "Follow new records")
    .option("--json", "Print JSON, one object per line")
    .action(async (options) => exit(await (await records()).printHere(options)));

  const user = program.command("users").description("Manage stored data of users");
  onRecords(user, "forget", "End all access of a user and delete their data")
    .argument("<user>", "User ID or email")
    .option("--records <file...>", "Rotated record files, plain or gzip, to erase the user from")
    .action(async (name, options) => exit(await (await users()).forgetUser(name, options)));

  const companies = program.command("directory").description("Inspect SCIM directories");
  onRecords(companies, "status", "Show the number of users and groups, and the last change")
    .argument("[directory...]", "Names of directories (default: all in the configuration)")
    .option(...JSON_OUT)
    .action(async (names, options) => exit(await (await directory()).printDirectoryStatus(names, options)));
  onRecords(companies, "users", "List users of a directory")
    .argument("<directory>", "Name of the directory")
    .option(...JSON_OUT)
    .action(async (name, options) => exit(await (await directory()).printDirectoryUsers(name, options)));
  onRecords(companies, "groups", "List groups of a directory")
    .argument("<directory>", "Name of the directory")
    .option("--user <name>", "Only of this user: user name, external ID or directory ID")
    .option(...JSON_OUT)
    .action(async (name, options) => exit(await (await directory()).printDirectoryGroups(name, options)));
  onRecords(companies, "forget", "Delete the data of a directory removed from the configuration")
    .argument("<directory>", "Name of the directory")
    .action(async (name, options) => exit(await (await directory()).forgetDirectory(name, options)));
}

function addStore(program: Command, exit: Exit): void {
  const secrets = program.command("keys").description("Manage shared secrets");
  onRecords(secrets, "list", "List shared secrets by ID: age, processes, and what needs them")
    .option(...JSON_OUT)
    .action(async (options) => exit(await (await keys()).printKeys(options)));
  onRecords(secrets, "rotate", "Print the next step of a rotation")
    .option("--new <file>", "Start a rotation: write a new secret to this file, which must not exist")
    .addHelpText("after", EXIT_STATUS.rotate)
    .action(async (options) => exit(await (await keys()).rotateKeys(options)));

  const store = program.command("store").description("Manage the gateway's database");
  onRecords(store, "backup", "Back up the SQLite store while gateways use it")
    .argument("<file>", "New file, which must not exist")
    .action(async (file, options) => exit(await (await import("./backup.ts")).backUpStore(file, options)));

  const upstream = program.command("upstreams").description("Manage what gateways learned about MCP upstreams");
  onRecords(upstream, "list", "List whether upstreams require a user token, how and since when known")
    .option(...JSON_OUT)
    .action(async (options) => exit(await (await upstreams()).printUpstreams(options)));
  onRecords(upstream, "forget", "Delete it; gateways learn it again")
    .argument("<route...>", "Route keys (owner/name)")
    .action(async (routes, options) => exit(await (await upstreams()).forgetUpstreams(routes, options)));
}

function addAccess(program: Command, exit: Exit): void {
  const sessions = program.command("sessions").description("Manage browser sessions");
  readCommands(sessions, "session", exit).option(...USER);
  onRecords(sessions, "revoke", "Sign out sessions in all processes within 2 seconds")
    .argument("[id...]")
    .option(...USER)
    .option(...ALL)
    .action(async (ids, options) => exit(await (await access()).revokeSessions(ids, options)));

  const grants = program.command("grants").description("Manage access that users granted to MCP clients");
  readCommands(grants, "grant", exit)
    .option(...USER)
    .option(...CLIENT);
  onRecords(grants, "revoke", "Revoke access and its consent in all processes within 2 seconds")
    .argument("[id...]")
    .option(...USER)
    .option(...CLIENT)
    .option(...ALL)
    .action(async (ids, options) => exit(await (await access()).revokeGrants(ids, options)));

  const runs = program.command("runs").description("Manage agent runs, in which workloads act for users");
  readCommands(runs, "run", exit).option(...USER);
  onRecords(runs, "end", "End runs with all of their tokens in all processes within 2 seconds")
    .argument("<id...>")
    .action(async (ids, options) => exit(await (await objects()).revokeObjects("run", ids, options)));

  const device = program.command("devices").description("Manage registered devices");
  readCommands(device, "device", exit).option(...USER);
  onRecords(device, "approve", "Approve devices for policies that require approval")
    .argument("<id...>")
    .option("--withdraw", "Withdraw the approval, in all processes within 2 seconds")
    .action(async (ids, options) => exit(await (await devices()).approveDevices(ids, options)));
  onRecords(device, "revoke", "Remove devices in all processes within 2 seconds; sessions stay valid")
    .argument("[id...]")
    .option(...USER)
    .action(async (ids, options) => exit(await (await devices()).revokeDevices(ids, options)));
}

function addMachines(program: Command, exit: Exit): void {
  const client = program.command("client").description("Manage OAuth clients");
  onRecords(client, "create", "Create a client, and print its ID and secret once")
    .requiredOption("--name <name>", "Name that users see")
    .option("--issuer <origin>", "MCP host of the client; required if there are several")
    .option("--redirect-uri <uri...>", "Redirect URI of an application that signs users in")
    .option("--machine", "Allow client credentials, as the user service-account:<name>")
    .option("--email <address>", "Email address of the service account, for policies")
    .option("--groups <names>", "Groups of the service account, comma-separated")
    .option("--owner <name>", "Person or team responsible for the service account, shown to administrators")
    .option("--id-jag", "Allow assertions of an issuer in identity_issuers, without a redirect URI")
    .option("--public", "Public client, without a secret")
    .option("--jwks <file>", "File of its public signing keys, instead of a secret")
    .option("--jwks-uri <url>", "URL of its public signing keys")
    .action(async (options) => exit(await (await machines()).makeClient(options)));
  readCommands(client, "client", exit);
  onRecords(client, "revoke", "Delete clients with their grants and consents")
    .argument("<id...>", "Client IDs or document URLs")
    .action(async (ids, options) => exit(await (await machines()).revokeClients(ids, options)));

  const account = program
    .command("service-account")
    .description("Manage service accounts, which call MCP servers with a token");
  onRecords(account, "create", "Create a service account, and print its token once")
    .requiredOption("--name <name>", "Name; the user ID is service-account:<name>")
    .option("--email <address>", "Email address, for policies")
    .option("--groups <names>", "Groups for policies, comma-separated")
    .option("--owner <name>", "Person or team responsible, shown to administrators")
    .option("--expires <duration>", "Lifetime of the token", "90d")
    .option("--resource <url>", "MCP server or host that the token is valid for (default: all routes)")
    .action(async (options) => exit(await (await machines()).makeServiceAccount(options)));
  readCommands(account, "service-account", exit);
  onRecords(account, "revoke", "Delete service accounts")
    .argument("<name...>", "Names or IDs")
    .action(async (names, options) => exit(await (await machines()).revokeServiceAccounts(names, options)));
}

/** Commands about tamper-evident records. */
export function addAuditCommands(program: Command, exit: Exit): void {
  const audit = program.command("audit").description("Verify the signed records that the setting `audit` adds");
  const onFiles = (name: "verify" | "head", description: string): Command =>
    audit
      .command(name)
      .description(description)
      .argument("<file...>", 'Record files, plain or gzip, in any order; "-" is standard input')
      .option("--config <path>", "Configuration whose shared secrets the keys are derived from")
      .option("--key <key...>", "Keys printed by `gateway audit head`");
  const run = async (name: "verify" | "head", files: readonly string[], options: AuditOptions): Promise<void> => {
    const { verifyCommand, headCommand } = await import("../audit/command.ts");
    const { text, isProblem, exitCode } = await (name === "verify" ? verifyCommand : headCommand)(
      files,
      options,
      process.stderr,
    );
    if (isProblem) printError(text);
    else printLine(text);
    exit(exitCode);
  };
  onFiles("verify", "Find missing, changed and moved records")
    .option("--head <file>", "Earlier output of `gateway audit head`, whose history must be unchanged")
    .option(...JSON_OUT)
    .addHelpText("after", EXIT_STATUS.verify)
    .action((files: readonly string[], options: AuditOptions) => run("verify", files, options));
  onFiles("head", "Print keys and last checkpoints, to store outside and compare later").action(
    (files: readonly string[], options: AuditOptions) => run("head", files, options),
  );
}

/** Commands that compare policies before they are enforced. */
export function addPolicyCommands(program: Command, exit: Exit): void {
  program
    .command("diff")
    .description("Compare access between two configurations")
    .argument("<old>", "Old configuration: file, directory or slice")
    .argument("<new>", "New configuration: file, directory or slice")
    .option("--records <file>", "Authorization records, whose users are also compared")
    .option("--users <file>", "YAML or JSON of more users, with id, email, groups and claims")
    .option("--json", "Print JSON")
    .addHelpText("after", EXIT_STATUS.diff)
    .action(async (old: string, next: string, options: DiffOptions) => {
      const { diffConfigurations, DIFF_EXIT } = await import("../diff/command.ts");
      const { text, answer } = await diffConfigurations(old, next, options);
      if (answer === "problem") printError(text);
      else printLine(text);
      exit(DIFF_EXIT[answer]);
    });
  program
    .command("replay")
    .description("Decide recorded requests again under another configuration")
    .requiredOption("--records <file...>", 'Authorization record files, plain or gzip; "-" is standard input')
    .requiredOption("--config <path>", "New configuration file or directory")
    .option("--key <reference>", "env:NAME or file:/path of the records' authorize_log_key (default: as configured)")
    .option("--json", "Print JSON")
    .addHelpText("after", EXIT_STATUS.replay)
    .action(async (options: ReplayOptions) => {
      const { replayWithProgress } = await import("../replay/command.ts");
      const { text, exitCode } = await replayWithProgress(options, process.env, process.stderr);
      printLine(text);
      exit(exitCode);
    });
}
