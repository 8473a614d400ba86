/**
 * `npm start`: the whole product on loopback, to play with. `npm start -- --check` plays it by itself.
 *
 *   --port N            port of the gateway (default 8080, or the next free one)
 *   --identity-port N   port of the identity provider (default any free one)
 *   --user EMAIL[=GROUP,GROUP]   a user of the demo; may be repeated and replaces the default ones
 *   --check             run the story unattended and end with "N passed, N failed"
 */
import { parseArgs } from "node:util";

import { runCheck } from "./check.ts";
import { DEMO_USERS, type DemoUser } from "./identity-provider.ts";
import { onSave } from "./on-save.ts";
import { findPort, startStage } from "./stage.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "8080" },
    "identity-port": { type: "string" },
    user: { type: "string", multiple: true },
    check: { type: "boolean", default: false },
  },
});
const program = new URL("gateway.ts", import.meta.url).pathname;

if (values.check) process.exitCode = await runCheck();
else await play();

async function play(): Promise<void> {
  const users = values.user ? values.user.map(userOf) : DEMO_USERS;
  console.log("Starting: synthesizing examples/demo/gateway.ts and publishing it…");
  const stage = await startStage({
    port: await findPort(Number(values.port)),
    ...(values["identity-port"] && { identityPort: Number(values["identity-port"]) }),
    users,
    program,
    authorizeLog: "stdout",
  });
  console.log(`
The gateway serves on ${stage.origin} (published by ${stage.publisher}).

  Web application     ${stage.origin}/app
  MCP client route    ${stage.origin}/assistant
  You, signed in      ${stage.pagesOrigin}/.gateway/
  Console             ${stage.pagesOrigin}/.gateway/console/    decisions as they come; for group admins
  MCP server          ${stage.origin}/github/mcp    tools except delete_*, for example.com
  MCP server          ${stage.origin}/notes/mcp     three tools, for group engineering
  Users               ${users.map(({ email, groups }) => `${email} (${groups.join(", ") || "no groups"})`).join("; ")}

Try it with an MCP client, for example
  npx @modelcontextprotocol/inspector    then connect to ${stage.origin}/github/mcp
  claude mcp add --transport http demo ${stage.origin}/github/mcp
and call list_repos, then delete_repo: each decision is a line below.

Edit examples/demo/gateway.ts and save: the change is live a moment later. Ctrl-C stops everything.
`);
  const watcher = onSave(program, async () => {
    const started = Date.now();
    try {
      const output = await stage.publish();
      console.log(`${summaryOf(output)} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
    } catch (error) {
      console.log(`The program was not published, the last good one goes on serving:\n${String(error)}`);
    }
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      void watcher
        .close()
        .then(() => stage.close())
        .then(() => process.exit(0));
    });
  }
}

/** "alice@example.com=engineering,admins" */
function userOf(text: string): DemoUser {
  const [email = "", groups = ""] = text.split("=");
  return { id: `u-${email}`, email, name: email.split("@")[0] ?? email, groups: groups.split(",").filter(Boolean) };
}

function summaryOf(output: string): string {
  return /^(Apply complete!.*|No changes\..*|copied .*)$/m.exec(output)?.[0] ?? "published";
}
