/** Names and options of the administrator's commands; their actions are in the other files of this folder. */
import type { Command } from "commander";

import type { AuditOptions } from "../audit/command.ts";
import type { ReplayOptions } from "../replay/command.ts";
import type { DiffOptions } from "../diff/command.ts";
import type { ListOptions } from "./objects.ts";
import { printError, printLine } from "./output.ts";

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

const JSON_OUT = ["--json", "for machines"] as const;
export const USER = ["--user <id>", "only of this user: id or email"] as const;
const CLIENT = ["--client <id>", "only of this client"] as const;
const ALL = ["--all", "everybody's"] as const;
const ROUTE = ["--route <key>", "of a tool: on this route alone, owner/name"] as const;

/** A command on the records of a gateway, found by its configuration. */
export function onRecords(parent: Command, name: string, description = ""): Command {
  return parent
    .command(name)
    .description(description)
    .requiredOption("--config <path>", "the gateway's configuration: file or directory");
}

/** @returns the list command, for further options */
export function readCommands(group: Command, kind: string, exit: Exit): Command {
  showCommand(onRecords(group, "show").option(...JSON_OUT), kind, exit);
  return onRecords(group, "list")
    .option(...JSON_OUT)
    .action(async (options) => exit(await (await objects()).listObjects(kind, options as ListOptions)));
}

/** Options can also precede the subcommand. */
function showCommand(command: Command, kind: string, exit: Exit): void {
  command
    .description("one of them, by the ID that --json shows")
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
  onRecords(
    program,
    "block",
    "refuse it on every process within 2 s, open streams included, until it is unblocked; nothing is ended",
  )
    .argument("<what>", "user, client, grant, route or tool")
    .argument(
      "<name>",
      "user: id or email; client, grant: id (after -- when it begins with -); route: owner/name; tool: name",
    )
    .option("--until <time>", "2h, or 2026-11-20T18:00:00Z; until it is lifted otherwise")
    .option("--reason <text>", "for those who see the list")
    .option(...ROUTE)
    .action(async (what, name, options) => exit(await (await blocks()).block(what, name, options)));
  onRecords(program, "unblock", "take a block away")
    .argument("<what>", "as it was blocked")
    .argument("<name>")
    .option(...ROUTE)
    .action(async (what, name, options) => exit(await (await blocks()).unblock(what, name, options)));
  const blocked = onRecords(program, "blocks", "what is blocked")
    .option(...JSON_OUT)
    .action(async (options) => exit(await (await objects()).listObjects("block", options)));
  showCommand(blocked.command("show"), "block", exit);
}

function addUsers(program: Command, exit: Exit): void {
  onRecords(program, "records", "the last records that record_store keeps, oldest first")
    .option("--user <user>", "of this user: id or email")
    .option("--route <key>", "of this route: owner/name")
    .option("--tool <name>", "of this tool")
    .option("--client <id>", "of this client")
    .option("--denied", "that were denied")
    .option("--since <time>", "from then on: 2h ago as 2h, or 2026-11-20T18:00:00Z")
    .option("--until <time>", "before then")
    .option("--limit <number>", "so many at most, the last ones (default: 100)")
    .option("--follow", "and those that come, until it is ended")
    .option("--json", "for machines: one JSON object a line")
    .action(async (options) => exit(await (await records()).printHere(options)));

  const user = program.command("users").description("users about whom the gateway stores data");
  onRecords(user, "forget", "end all that a user has, and delete what is kept about them")
    .argument("<user>", "id or email")
    .option("--records <file...>", "rotated files of records, plain or .gz: what is about the user is erased in them")
    .action(async (name, options) => exit(await (await users()).forgetUser(name, options)));

  const companies = program.command("directory").description("what company directories have told by SCIM");
  onRecords(companies, "status", "how many users and groups there are, and when something last changed")
    .argument("[directory...]", "names; all of the configuration when absent")
    .option(...JSON_OUT)
    .action(async (names, options) => exit(await (await directory()).printDirectoryStatus(names, options)));
  onRecords(companies, "users")
    .argument("<directory>", "its name")
    .option(...JSON_OUT)
    .action(async (name, options) => exit(await (await directory()).printDirectoryUsers(name, options)));
  onRecords(companies, "groups")
    .argument("<directory>", "its name")
    .option("--user <name>", "only those of this user: user name, external id or id there")
    .option(...JSON_OUT)
    .action(async (name, options) => exit(await (await directory()).printDirectoryGroups(name, options)));
  onRecords(companies, "forget", "delete what is kept of a directory that the configuration has no longer")
    .argument("<directory>", "its name")
    .action(async (name, options) => exit(await (await directory()).forgetDirectory(name, options)));
}

function addStore(program: Command, exit: Exit): void {
  const secrets = program.command("keys").description("the shared secrets of all processes, and what is made of them");
  onRecords(secrets, "list", "which there are, since when, who has them, and what needs an old one; never the secrets")
    .option(...JSON_OUT)
    .action(async (options) => exit(await (await keys()).printKeys(options)));
  onRecords(
    secrets,
    "rotate",
    "say the next step of a rotation, and whether all processes have taken the one before; exit status 0: go on, 3: not yet, 1: cannot tell",
  )
    .option("--new <file>", "to begin: write a new secret into this file, which must not be there")
    .action(async (options) => exit(await (await keys()).rotateKeys(options)));

  const store = program.command("store").description("the database of the gateway");
  onRecords(store, "backup", "copy the SQLite store as it is at one moment, while gateways write to it")
    .argument("<file>", "which must not be there")
    .action(async (file, options) => exit(await (await import("./backup.ts")).backUpStore(file, options)));

  const upstream = program
    .command("upstreams")
    .description("what was learned about the upstreams of MCP server routes");
  onRecords(upstream, "list", "whether they want a token of their users, how that is known, and since when")
    .option(...JSON_OUT)
    .action(async (options) => exit(await (await upstreams()).printUpstreams(options)));
  onRecords(upstream, "forget", "delete it: gateways find it out again")
    .argument("<route...>", "keys of routes, owner/name")
    .action(async (routes, options) => exit(await (await upstreams()).forgetUpstreams(routes, options)));
}

function addAccess(program: Command, exit: Exit): void {
  const sessions = program.command("sessions").description("who is signed in with a browser");
  readCommands(sessions, "session", exit).option(...USER);
  onRecords(sessions, "revoke", "sign out, on every host and process within 2 s")
    .argument("[id...]")
    .option(...USER)
    .option(...ALL)
    .action(async (ids, options) => exit(await (await access()).revokeSessions(ids, options)));

  const grants = program.command("grants").description("what users let MCP clients do");
  readCommands(grants, "grant", exit)
    .option(...USER)
    .option(...CLIENT);
  onRecords(grants, "revoke", "end access and forget the approval behind it, on every process within 2 s")
    .argument("[id...]")
    .option(...USER)
    .option(...CLIENT)
    .option(...ALL)
    .action(async (ids, options) => exit(await (await access()).revokeGrants(ids, options)));

  const device = program
    .command("devices")
    .description("devices that people have registered, for policies that ask for one");
  readCommands(device, "device", exit).option(...USER);
  onRecords(device, "approve", "vouch for devices, for policies that ask for an approved one")
    .argument("<id...>")
    .option("--withdraw", "no longer; on every process within 2 s")
    .action(async (ids, options) => exit(await (await devices()).approveDevices(ids, options)));
  onRecords(device, "revoke", "end registrations, on every process within 2 s; sessions go on without them")
    .argument("[id...]")
    .option(...USER)
    .action(async (ids, options) => exit(await (await devices()).revokeDevices(ids, options)));
}

function addMachines(program: Command, exit: Exit): void {
  const client = program.command("client").description("OAuth clients: those made here, and those that registered");
  onRecords(client, "create", "print the id and the secret of a new client, once")
    .requiredOption("--name <name>", "what people are asked about")
    .option("--issuer <origin>", "the MCP host it is for; needed where there are several")
    .option("--redirect-uri <uri...>", "an application that signs people in")
    .option("--machine", "may get tokens by itself, as the user service-account:<name>")
    .option("--email <address>", "of the machine, for policies")
    .option("--groups <names>", "of the machine, comma separated")
    .option("--id-jag", "comes with assertions of an issuer in identity_issuers, and needs no redirect URI")
    .option("--public", "an application that can keep no secret")
    .option("--jwks <file>", "public keys with which it signs, instead of a secret")
    .option("--jwks-uri <url>", "where it publishes them")
    .action(async (options) => exit(await (await machines()).makeClient(options)));
  readCommands(client, "client", exit);
  onRecords(client, "revoke", "end a client with its grants and approvals")
    .argument("<id...>", "client ids; a document's URL too")
    .action(async (ids, options) => exit(await (await machines()).revokeClients(ids, options)));

  const account = program.command("service-account").description("machines that call MCP servers with a token");
  onRecords(account, "create", "print the token of a new service account, once")
    .requiredOption("--name <name>", "the user will be service-account:<name>")
    .option("--email <address>", "for policies")
    .option("--groups <names>", "for policies, comma separated")
    .option("--expires <duration>", "life of the token", "90d")
    .option("--resource <url>", "the one MCP server, or the host, that it is good for; every route otherwise")
    .action(async (options) => exit(await (await machines()).makeServiceAccount(options)));
  readCommands(account, "service-account", exit);
  onRecords(account, "revoke")
    .argument("<name...>", "names or ids")
    .action(async (names, options) => exit(await (await machines()).revokeServiceAccounts(names, options)));
}

/** Commands about tamper-evident records. */
export function addAuditCommands(program: Command, exit: Exit): void {
  const audit = program.command("audit").description("whether the records of a gateway with `audit` are whole");
  const onFiles = (name: "verify" | "head", description: string): Command =>
    audit
      .command(name)
      .description(description)
      .argument("<file...>", 'files of records, plain or gzip, in any order; "-" is standard input')
      .option("--config <path>", "the gateway's configuration, whose shared secrets the keys are derived from")
      .option("--key <key...>", "keys as `gateway audit head` prints them, instead or besides");
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
  onFiles(
    "verify",
    "which records are missing, changed or moved; exit status 0: they are whole, 3: something is wrong, 4: nothing is wrong, but not all is signed or was given, 1: cannot tell",
  )
    .option("--head <file>", "what `gateway audit head` printed before: that history must be there, unchanged")
    .option(...JSON_OUT)
    .action((files: readonly string[], options: AuditOptions) => run("verify", files, options));
  onFiles(
    "head",
    "what to keep elsewhere, so that a rewritten or cut history is found out: keys and last checkpoints",
  ).action((files: readonly string[], options: AuditOptions) => run("head", files, options));
}

/** Commands that compare policies before they are enforced. */
export function addPolicyCommands(program: Command, exit: Exit): void {
  program
    .command("diff")
    .description(
      "who gains or loses what when the new configuration takes the place of the old one; exit status 0: nobody, 3: somebody, 1: they cannot be compared",
    )
    .argument("<old>", "file or directory, or one slice")
    .argument("<new>", "the same")
    .option("--records <file>", "authorization records: their users are looked at, too")
    .option("--users <file>", "YAML or JSON, users with id, email, groups and claims: they are looked at, too")
    .option("--json", "for machines")
    .action(async (old: string, next: string, options: DiffOptions) => {
      const { diffConfigurations, DIFF_EXIT } = await import("../diff/command.ts");
      const { text, answer } = await diffConfigurations(old, next, options);
      if (answer === "problem") printError(text);
      else printLine(text);
      exit(DIFF_EXIT[answer]);
    });
  program
    .command("replay")
    .description(
      "decide recorded requests again under another configuration; exit status 0: nothing changes, 3: something would, 4: nothing that can be told, but not all can, 1: cannot tell",
    )
    .requiredOption("--records <file...>", 'files of authorization records, plain or gzip; "-" is standard input')
    .requiredOption("--config <path>", "the new configuration: file or directory")
    .option(
      "--key <reference>",
      "env:NAME or file:/path of the records' authorize_log_key (default: the configuration's)",
    )
    .option("--json", "for machines")
    .action(async (options: ReplayOptions) => {
      const { replayWithProgress } = await import("../replay/command.ts");
      const { text, exitCode } = await replayWithProgress(options, process.env, process.stderr);
      printLine(text);
      exit(exitCode);
    });
}
