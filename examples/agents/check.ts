/** An agent works for a user who approves its run, within limits, until the user ends it: a line per step, then the count. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { createBrowser, findForm } from "../../test/support/browser.ts";
import { freePort } from "../../test/support/ports.ts";
import { runGateway } from "../../test/support/run-gateway.ts";
import { type DemoUser, startIdentityProvider } from "../demo/identity-provider.ts";
import { startMcpServer } from "../demo/mcp-server.ts";
import { createOwned } from "../demo/owned.ts";
import { visit } from "../demo/person.ts";
import { createSteps } from "../demo/steps.ts";
import { until } from "../demo/until.ts";
import { startCiPlatform } from "../enterprise/ci-platform.ts";
import { type Agent, createAgent } from "./agent.ts";

const SUE: DemoUser = { id: "u-sue", email: "sue@example.com", name: "Sue of Support", groups: ["support"] };
const EVE: DemoUser = { id: "u-eve", email: "eve@example.com", name: "Eve Elsewhere", groups: ["sales"] };
const RECORDS = "authorize.log";
const TOOL = { description: "A tool of the desk.", parameters: [] };

const steps = createSteps();
const { own, close } = createOwned();

try {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const pages = `http://127.0.0.1:${port}`;
  const secret = randomUUID();
  const redirect = [`${pages}/.gateway/callback`];
  const clients = [{ client_id: "gateway", client_secret: secret, redirect_uris: redirect }];
  const provider = own(await startIdentityProvider({ clients, users: [SUE, EVE] }));
  const platform = own(await startCiPlatform());
  const desk = own(
    await startMcpServer({
      invented: {
        "/mcp": [
          { ...TOOL, name: "read_ticket" },
          { ...TOOL, name: "post_outside" },
          { ...TOOL, name: "close_account" },
          { ...TOOL, name: "refund", parameters: ["amount#"] },
        ],
      },
    }),
  );
  const yaml = readFileSync(new URL("gateway.yaml", import.meta.url), "utf8")
    .replaceAll("https://auth.example.com", pages)
    .replaceAll("https://mcp.example.com", origin)
    .replaceAll("https://login.example.com", provider.issuer)
    .replaceAll("https://ci.example.com", platform.issuer)
    .replaceAll("http://desk.internal:3000", desk.origin);
  const gateway = own(
    await runGateway({
      workers: 2,
      boot: { address: `127.0.0.1:${port}`, authorize_log: RECORDS },
      yaml,
      env: { IDP_CLIENT_SECRET: secret },
    }),
  );
  const server = `${origin}/desk/mcp`;
  const agentOf = (run: string, repository = "acme/support-agent"): Agent =>
    own(
      createAgent(server, (audience) =>
        platform.tokenFor({ repository, ref: "refs/heads/main", run_id: run }, audience),
      ),
    );
  const agent = agentOf("run-1");
  const sue = createBrowser();
  const asked = { purpose: "Answer ticket 4711 and refund up to 100", approver: SUE.email, seconds: 3600 };
  /** @returns the message of the denial */
  const denied = async (tool: string, input?: Record<string, unknown>): Promise<string> => {
    const before = desk.calls.length;
    const message = await agent.call(tool, input).then(
      () => "",
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    steps.ok(message !== "", `${tool} was not denied`);
    steps.equal(desk.calls.length, before, "the call reached the desk");
    return message;
  };

  let page = "";
  await steps.step("the agent asks for a run, with no secret of its own; nothing is open yet", async () => {
    const run = await agent.request(asked);
    steps.equal(run.status, 201);
    page = run.approval_url ?? "";
    const refused = await agent.connect().then(
      () => "",
      (error: unknown) => (error as Error).message,
    );
    steps.equal(refused, "invalid_grant");
  });
  await steps.step("a job of another repository cannot ask", async () => {
    steps.equal((await agentOf("run-1", "acme/other").request(asked)).status, 401);
  });
  await steps.step("Eve, who has the address of the page, sees nothing", async () => {
    const shown = await visit(createBrowser(), page, { user: EVE.email });
    steps.equal(shown.status, 404);
  });
  await steps.step("Sue reads who asks, for what and until when, and approves", async () => {
    const shown = await visit(sue, page, { user: SUE.email });
    for (const text of ["workload:ci/repo:acme/support-agent", "run-1", asked.purpose, server])
      steps.ok(shown.text.includes(text), `the page does not show ${text}`);
    const form = findForm(shown, "/.gateway/run");
    if (!form) throw new Error(shown.text);
    steps.match((await sue.submit(shown, form, { decision: "approve" })).text, /can act for you now/);
  });
  await steps.step("the agent exchanges its platform's token, and works as Sue", async () => {
    await agent.connect();
    await agent.call("post_outside");
    await agent.call("read_ticket");
    let found: Readonly<Record<string, string>> = {};
    await until(async () => {
      const lines = readFileSync(join(gateway.directory, RECORDS), "utf8").split("\n");
      const line = lines.find((each) => each.includes('"mcp-tool":"read_ticket"'));
      if (line !== undefined) found = JSON.parse(line) as Readonly<Record<string, string>>;
      return line !== undefined;
    }, "the call is recorded");
    const { user, actor } = found;
    steps.equal(user, SUE.id);
    return `${user}, by ${actor}`;
  });
  await steps.step("another run of the same job cannot use it", async () => {
    const other = agentOf("run-2");
    steps.equal((await other.state()).status, 404);
    const refused = await other.connect().then(
      () => "",
      (error: unknown) => (error as Error).message,
    );
    steps.equal(refused, "invalid_grant");
  });
  await steps.step("what Sue may do alone, no agent may do for her", async () => {
    const tools = await agent.tools();
    steps.ok(!tools.includes("close_account"), tools.join(", "));
    return denied("close_account");
  });
  await steps.step("after reading a ticket, nothing leaves the company in this run", () => denied("post_outside"));
  await steps.step("refunds stop at 100 in all", async () => {
    await agent.call("refund", { amount: 60 });
    await agent.call("refund", { amount: 30 });
    return denied("refund", { amount: 20 });
  });
  await steps.step("a renewed token is one of the same run: its limits stay", async () => {
    await agent.connect();
    await denied("post_outside");
    await agent.call("refund", { amount: 10 });
  });
  await steps.step("Sue ends the run on her page, in the middle of its work", async () => {
    const portal = await sue.open(`${pages}/.gateway/`);
    const forms = [...portal.text.matchAll(/<form\b.*?<\/form>/gs)].map(([text]) => findForm({ ...portal, text }));
    const form = forms.find((each) => each?.fields["kind"] === "run");
    if (!form) throw new Error(portal.text);
    await sue.submit(portal, form, {});
    const isRefused = (): Promise<boolean> =>
      agent.call("read_ticket").then(
        () => false,
        () => true,
      );
    await until(isRefused, "the agent is refused", 2_000);
    steps.equal((await agent.state()).status, 404);
    const refused = await agent.connect().then(
      () => "",
      (error: unknown) => (error as Error).message,
    );
    steps.equal(refused, "invalid_grant");
  });
} finally {
  await close();
}
process.exitCode = steps.end();
