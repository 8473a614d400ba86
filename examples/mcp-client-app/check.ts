/** The application's story, unattended: a line per step, then "N passed, N failed". */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePort } from "../../test/support/ports.ts";
import { createBrowser, findLink } from "../../test/support/browser.ts";
import { startMcpServer } from "../demo/mcp-server.ts";
import { visit } from "../demo/person.ts";
import { createSteps } from "../demo/steps.ts";
import { startSmallStage } from "../upstream-oauth/stage.ts";
import { startTracker } from "../upstream-oauth/tracker.ts";
import { startApp } from "./app.ts";
import { buildClientApp } from "./gateway.ts";
import { startLlmApi } from "./llm-api.ts";

const steps = createSteps();
const port = await freePort();
const origin = `http://localhost:${port}`;
const notes = await startMcpServer();
const tracker = await startTracker();
const llm = await startLlmApi();
const app = await startApp({ gateway: origin, prefix: "/assistant", llm: llm.origin });
const directory = await mkdtemp(join(tmpdir(), "gateway-example-"));
const { stack } = buildClientApp({
  origin,
  app: app.origin,
  notes: notes.origin,
  tracker: tracker.origin,
  outdir: directory,
});
const stage = await startSmallStage(port, stack, "assistant");
const alice = createBrowser();
const open = (path: string) => visit(alice, `${origin}/assistant${path}`, { user: "alice@example.com" });

try {
  await steps.step("Alice opens the application: her servers are listed, the tracker is to be connected", async () => {
    const page = await open("/");
    steps.equal(page.status, 200);
    steps.match(page.text, /Assistant of alice@example\.com/);
    steps.match(page.text, /notes: connected/);
    steps.ok(findLink(page, "Connect tracker") !== undefined, page.text);
  });
  await steps.step("the application got an External Token, and nothing of the gateway's session", async () => {
    steps.match(app.tokens.at(-1) ?? "", /^gwt_/);
  });
  await steps.step(
    "the LLM calls a server of the gateway as Alice, with the token that the application handed over",
    async () => {
      const page = await open("/ask?question=please+list_repos");
      steps.match(page.text, /gateway/);
      steps.equal(llm.tokens.at(-1), app.tokens.at(-1));
      return page.text.replaceAll(/<[^>]+>/g, "").slice(0, 120);
    },
  );
  await steps.step("what policy forbids Alice it forbids the LLM too", async () => {
    const before = notes.calls.length;
    const page = await open("/ask?question=please+delete_repo");
    // It is not even offered.
    steps.match(page.text, /I know no tool for that/);
    steps.equal(notes.calls.length, before);
  });
  await steps.step(
    "Alice connects the tracker and is back at the application, which lists it as connected",
    async () => {
      const page = await open("/");
      const back = await visit(alice, findLink(page, "Connect tracker") ?? "", { user: "alice@example.com" });
      steps.equal(back.url, `${origin}/assistant/`);
      steps.match(back.text, /tracker: connected/);
      return back.url;
    },
  );
  await steps.step(
    "the LLM reaches Alice's account at the tracker; the Internal Token stays with the gateway",
    async () => {
      const page = await open("/ask?question=show+my_issues");
      steps.match(page.text, /issues of alice@tracker/);
      const internal = tracker.tokens.at(-1) ?? "";
      steps.ok(
        internal !== "" && !app.tokens.includes(internal) && !llm.tokens.includes(internal),
        "the Internal Token got out",
      );
      steps.ok(!tracker.tokens.some((token) => token.startsWith("gwt_")), "the External Token reached the tracker");
    },
  );
  await steps.step("Bob, who is in no group of the notes route, is listed only what he may use", async () => {
    const bob = createBrowser();
    const page = await visit(bob, `${origin}/assistant/`, { user: "bob@example.com" });
    steps.ok(!page.text.includes("notes"), page.text);
    steps.match(page.text, /Connect tracker/);
  });
  await steps.step("the token opens nothing but MCP servers and the list", async () => {
    const headers = { authorization: `Bearer ${app.tokens.at(-1) ?? ""}` };
    const answer = await fetch(`${origin}/assistant/`, { headers, redirect: "manual" });
    steps.equal(answer.status, 401);
    return String(answer.status);
  });
} finally {
  await stage.close();
  await rm(directory, { recursive: true, force: true });
  await app.close();
  await llm.close();
  await tracker.close();
  await notes.close();
}
process.exitCode = steps.end();
