/** `npm start`: the whole product on loopback, to play with. `npm start -- --help` has the options. */
import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { diffConfigurations } from "../../runtime/tools/diff/command.ts";
import { runCheck } from "./check.ts";
import { DEMO_USERS, type DemoUser } from "./identity-provider.ts";
import { onSave } from "./on-save.ts";
import { CLIENT, IDENTITY_PORT, MCP_PORT, startServices } from "./services.ts";
import { findPort, startStage, type Stage } from "./stage.ts";

const HELP = `npm start -- [options]: the whole product on loopback, to play with

  --port N            port of the gateway (default: 8080, or the next free one)
  --identity-port N   port of the identity provider (default: any free one; ${IDENTITY_PORT} with --services)
  --user EMAIL[=GROUP,GROUP]   a user of the demo; repeat it for more. Replaces the default users
  --demo-traffic      fill the console with six hours of traffic of invented users, and say so on its pages
  --check             run the story unattended; ends with "N passed, N failed"
  --services ORIGIN   start only an identity provider and an MCP server, for a gateway of your own at ORIGIN
  --mcp-port N        with --services: port of the MCP server (default: ${MCP_PORT})
  --help              show this text`;

const program = new URL("gateway.ts", import.meta.url).pathname;

const given = readArguments();
if (given === undefined) process.exitCode = 2;
else if (given.help) console.log(HELP);
else if (given.check) process.exitCode = await runCheck();
else if (given.services !== undefined) await serve(given.services, given);
else await play(given);

type Given = NonNullable<ReturnType<typeof readArguments>>;

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: "string", default: "8080" },
        "identity-port": { type: "string" },
        "mcp-port": { type: "string", default: String(MCP_PORT) },
        user: { type: "string", multiple: true },
        check: { type: "boolean", default: false },
        "demo-traffic": { type: "boolean", default: false },
        services: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
    if (values.services !== undefined && !URL.canParse(values.services))
      throw new Error(`--services is "${values.services}", must be an address such as https://localhost:8443`);
    return values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return undefined;
  }
}

function usersOf({ user }: Given): readonly DemoUser[] {
  return user ? user.map(userOf) : DEMO_USERS;
}

function namesOf(users: readonly DemoUser[]): string {
  return users.map(({ email, groups }) => `${email} (${groups.join(", ") || "no groups"})`).join("; ");
}

function onSignal(close: () => Promise<void>): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void close().then(() => process.exit(0)));
  }
}

async function serve(gateway: string, values: Given): Promise<void> {
  const users = usersOf(values);
  const identityPort = Number(values["identity-port"] ?? IDENTITY_PORT);
  const services = await startServices({ gateway, identityPort, mcpPort: Number(values["mcp-port"]), users });
  onSignal(() => services.close());
  console.log(`
Identity provider   ${services.issuer}    client ${CLIENT.client_id}, secret ${CLIENT.client_secret}
MCP server          ${services.mcpServer}    its endpoint is /mcp
Users               ${namesOf(users)}

They are for a gateway at ${new URL(gateway).origin}. Ctrl-C stops both.
`);
}

async function play(values: Given): Promise<void> {
  const users = usersOf(values);
  console.log("Starting: synthesizing examples/demo/gateway.ts and publishing it…");
  const stage = await startStage({
    port: await findPort(Number(values.port)),
    ...(values["identity-port"] && { identityPort: Number(values["identity-port"]) }),
    users,
    program,
    authorizeLog: "stdout",
    withTraffic: values["demo-traffic"],
  });
  console.log(`
The gateway is running, with the routes of examples/demo/gateway.ts (published by ${stage.publisher}).

  You, signed in      ${stage.pagesOrigin}/.gateway/
  Console             ${stage.pagesOrigin}/.gateway/console/    live decisions; for group admins
  Web application     ${stage.origin}/app
  MCP client route    ${stage.origin}/assistant
  MCP server          ${stage.origin}/github/mcp    tools except delete_*, for example.com
  MCP server          ${stage.origin}/notes/mcp     three tools, for group engineering
  Users               ${namesOf(users)}

Try it with an MCP client, for example
  npx @modelcontextprotocol/inspector    then connect to ${stage.origin}/github/mcp
  claude mcp add --transport http demo ${stage.origin}/github/mcp
1. Call list_repos: it is allowed.
2. Call create_issue with repo "website": it is denied, because of this argument. Any other repo is allowed.
3. Look for delete_repo: no list has it, because policy denies every call of it.
Each decision is a line below.

Edit examples/demo/gateway.ts and save: the change is active a moment later, and the terminal lists who gains or loses access.
Ctrl-C stops everything.
`);
  const watcher = onSave(program, async () => {
    const started = Date.now();
    try {
      const told = await publishTelling(stage);
      console.log(`${told} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
    } catch (error) {
      console.log(`The program was not published, the previous version stays active:\n${String(error)}`);
    }
  });
  onSignal(() => watcher.close().then(() => stage.close()));
}

/** @returns who gains or loses what by it */
async function publishTelling(stage: Stage): Promise<string> {
  const published = join(stage.configDirectory, "demo.json");
  const before = join(stage.directory, "before.json");
  await copyFile(published, before);
  const output = await stage.publish();
  const { text, answer } = await diffConfigurations(before, published, {});
  const hasChanged = (await readFile(before, "utf8")) !== (await readFile(published, "utf8"));
  const summary = /^(Apply complete!.*|No changes\..*|copied .*)$/m.exec(output)?.[0] ?? "Published.";
  if (!hasChanged) return summary;
  return `${answer === "same" ? "Access is the same for all users; other settings changed." : text.trimEnd()}\n${summary}`;
}

/** "alice@example.com=engineering,admins" */
function userOf(text: string): DemoUser {
  const [email = "", groups = ""] = text.split("=");
  return { id: `u-${email}`, email, name: email.split("@")[0] ?? email, groups: groups.split(",").filter(Boolean) };
}
