/** The demo's story, unattended: a line per step, then "N passed, N failed". */
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { type Browser, createBrowser } from "../../test/support/browser.ts";
import { freePort } from "../../test/support/ports.ts";
import { type ConnectedClient, connectClient, type Browse } from "./mcp-client.ts";
import { visit } from "./person.ts";
import { copyProgram, startStage, type Stage } from "./stage.ts";
import { createSteps, type Steps } from "./steps.ts";
import { until } from "./until.ts";

const CLIENT = "http://127.0.0.1:33418/callback";

/** @returns exit code */
export async function runCheck(): Promise<number> {
  const steps = createSteps();
  const text = await readFile(new URL("gateway.ts", import.meta.url), "utf8");
  const program = await copyProgram("gateway.ts", text);
  let stage: Stage | undefined;
  try {
    await steps.step("the program is synthesized, published and served", async () => {
      const port = await freePort();
      stage = await startStage({ port, program, authorizeLog: "authorize.log" });
      return `${stage.publisher}, digest ${stage.gateway.current().digest.slice(0, 12)}`;
    });
    if (stage) await tell(steps, stage, program);
  } finally {
    await stage?.close();
    await rm(dirname(program), { recursive: true, force: true });
  }
  return steps.end();
}

async function tell(steps: Steps, stage: Stage, program: string): Promise<void> {
  const alice = createBrowser();
  const github = `${stage.origin}/github/mcp`;
  const browseAs =
    (browser: Browser, user: string): Browse =>
    async (url) =>
      new URL((await visit(browser, url.href, { user, stopAt: CLIENT })).url);

  await steps.step("a request without a token meets a challenge that names the metadata", async () => {
    const answer = await fetch(github, { method: "POST", body: "{}" });
    const challenge = answer.headers.get("www-authenticate") ?? "";
    steps.equal(answer.status, 401);
    steps.match(
      challenge,
      /^Bearer .*resource_metadata="http:\/\/localhost:\d+\/\.well-known\/oauth-protected-resource\/github/,
    );
    return challenge;
  });

  const client = await steps.step("the SDK v2 client registers, Alice signs in and consents, it connects", () =>
    connectClient("v2", github, browseAs(alice, "alice@example.com")),
  );
  if (!client) return;

  await steps.step("it lists the tools that Alice may use", async () => {
    const tools = await client.tools();
    steps.ok(tools.includes("list_repos") && !tools.includes("delete_repo"), tools.join(", "));
    return tools.join(", ");
  });
  await steps.step("an allowed call reaches the server", async () => {
    const answer = await client.call("list_repos");
    steps.match(answer, /gateway/);
    return answer;
  });
  await steps.step("a denied call does not, and the client is told why", async () => {
    const before = stage.mcpServer.calls.length;
    const message = await client.call("delete_repo", { repo: "gateway" }).then(
      () => "the call was answered",
      (error: unknown) => String(error),
    );
    steps.match(message, /denied/i);
    steps.equal(stage.mcpServer.calls.length, before);
    return message;
  });
  await steps.step("an argument decides: no issue in one repository, and issues in others", async () => {
    const message = await client.call("create_issue", { repo: "website", title: "hello" }).then(
      () => "the call was answered",
      (error: unknown) => String(error),
    );
    steps.match(message, /denied/i);
    return client.call("create_issue", { repo: "gateway", title: "hello" });
  });
  await steps.step("both decisions are on record, with route, tool, user and reason", async () => {
    await stage.gateway.flushRecords();
    const lines = (await readFile(join(stage.directory, "authorize.log"), "utf8")).trim().split("\n");
    const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const denied = records.find((record) => record["mcp-tool"] === "delete_repo");
    const allowed = records.find((record) => record["mcp-tool"] === "list_repos");
    steps.equal(denied?.["allow"], false);
    steps.ok(String(denied?.["allow-why-false"]).includes("mcp-tool-unauthorized"), JSON.stringify(denied));
    steps.equal(allowed?.["allow"], true);
    steps.equal(allowed?.["route"], "demo/github");
    steps.equal(allowed?.["email"], "alice@example.com");
    return JSON.stringify(denied);
  });
  await steps.step("the server got the signed identity and the route's headers, not the client's token", async () => {
    const seen = await client.call("whoami");
    steps.match(seen, /alice@example\.com/);
    steps.ok(!seen.includes(client.token()), "the External Token reached the upstream");
    return seen.slice(0, 160);
  });
  await steps.step("the SDK v1 client, another one to consent to, connects too", async () => {
    const older = await connectClient("v1", github, browseAs(alice, "alice@example.com"));
    const answer = await older.call("list_repos");
    await older.close();
    return answer;
  });
  await steps.step("the notes route, of the same server, shows its three tools alone", async () => {
    const notes = await connectClient("v2", `${stage.origin}/notes/mcp`, browseAs(alice, "alice@example.com"));
    const tools = await notes.tools();
    await notes.close();
    steps.equal(tools.join(", "), "add_note, list_notes, whoami");
    return tools.join(", ");
  });
  await steps.step("Bob, who is in no group of the notes route, is told that it is not for him", async () => {
    const attempt = connectClient("v2", `${stage.origin}/notes/mcp`, browseAs(createBrowser(), "bob@example.com"));
    const outcome = await attempt.then(async (bob) => {
      const tools = await bob.tools().then(() => "allowed", String);
      await bob.close();
      return tools;
    }, String);
    steps.ok(outcome !== "allowed", outcome);
    return outcome.slice(0, 120);
  });
  await steps.step("the web application knows the signed-in user, and its redirects are corrected", async () => {
    const page = await visit(alice, `${stage.origin}/app`, { user: "alice@example.com" });
    steps.equal(page.status, 200);
    steps.match(page.text, /alice@example\.com/);
    steps.ok(page.url.startsWith(stage.origin), page.url);
    return page.url;
  });
  await steps.step("the application on the client route lists the MCP servers with its own token", async () => {
    const page = await visit(alice, `${stage.origin}/assistant`, { user: "alice@example.com" });
    steps.match(page.text, /\/github\/mcp/);
    steps.match(page.text, /\/notes\/mcp/);
    return "github and notes are listed";
  });

  await steps.step("the console shows Alice, who is an administrator, both decisions", async () => {
    const console = `${stage.pagesOrigin}/.gateway/console/`;
    let denied = "";
    // Records are kept a moment after the answers.
    await until(async () => {
      denied = (await visit(alice, `${console}decisions?outcome=denied`, { user: "alice@example.com" })).text;
      return denied.includes("delete_repo");
    }, "the console shows what was denied");
    steps.match(denied, /Deny rule 1: the tool starts with &#34;delete_&#34;/);
    const allowed = await visit(alice, `${console}decisions?tool=list_repos`, { user: "alice@example.com" });
    steps.match(allowed.text, /Allow rule \d: [^<]*the email domain is/);
    const home = await visit(alice, `${stage.pagesOrigin}/.gateway/`, { user: "alice@example.com" });
    steps.match(home.text, /href="\/\.gateway\/console\/"/);
    const other = createBrowser();
    const bob = await visit(other, console, { user: "bob@example.com" });
    steps.equal(bob.status, 403);
    const bobsHome = await visit(other, `${stage.pagesOrigin}/.gateway/`, { user: "bob@example.com" });
    steps.ok(!bobsHome.text.includes("/.gateway/console/"), "Bob's page links to the console");
    return console;
  });

  await steps.step("an edit of the program is published and live", async () => {
    const started = Date.now();
    await writeFile(
      program,
      (await readFile(program, "utf8")).replace('startsWith("delete_")', 'startsWith("create_")'),
    );
    const live = new Promise<void>((resolve) => stage.gateway.onChange(resolve));
    const output = await stage.publish();
    await live;
    const denied = await client.call("create_issue", { repo: "gateway", title: "hello" }).then(
      () => "",
      (error: unknown) => String(error),
    );
    steps.match(denied, /denied/i);
    const change = /^\s*~ policy.*$/m.exec(output)?.[0].trim().slice(0, 80) ?? "";
    return `${((Date.now() - started) / 1000).toFixed(1)} s ${change}`;
  });
  await steps.step("20 changes under load: no failed request", () => reloadUnderLoad(steps, stage, client, alice));
  await client.close();
}

/** Alternates between two bundles while requests of both kinds go on. */
async function reloadUnderLoad(steps: Steps, stage: Stage, client: ConnectedClient, browser: Browser): Promise<string> {
  const file = join(stage.configDirectory, "demo.json");
  const bundle = await readFile(file, "utf8");
  const other = bundle.replace(/("X-Served-By":\s*)"gateway"/, '$1"gateway-2"');
  steps.ok(other !== bundle, "the bundle has no X-Served-By");
  const cookie = browser.cookieHeader("localhost");
  const over = new AbortController();
  let requests = 0;
  const failures: string[] = [];
  const loop = async (send: () => Promise<string | undefined>): Promise<void> => {
    while (!over.signal.aborted) {
      const failure = await send().catch(String);
      requests += 1;
      if (failure !== undefined) failures.push(failure);
    }
  };
  const web = async (): Promise<string | undefined> => {
    const answer = await fetch(`${stage.origin}/app`, { headers: { cookie }, redirect: "manual" });
    await answer.arrayBuffer();
    return answer.status < 400 ? undefined : `GET /app: ${answer.status}`;
  };
  const tool = async (): Promise<string | undefined> => {
    await client.call("list_repos");
    return undefined;
  };
  const loops = [loop(web), loop(web), loop(tool), loop(tool)];
  for (let reload = 0; reload < 20; reload += 1) {
    const live = new Promise<void>((resolve) => {
      const stop = stage.gateway.onChange(() => {
        stop();
        resolve();
      });
    });
    await writeFile(`${file}.tmp`, reload % 2 === 0 ? other : bundle);
    await rename(`${file}.tmp`, file);
    await live;
  }
  over.abort();
  await Promise.all(loops);
  steps.equal(failures.length, 0, failures.slice(0, 3).join("; "));
  return `${requests} requests`;
}

if (import.meta.main) process.exitCode = await runCheck();
