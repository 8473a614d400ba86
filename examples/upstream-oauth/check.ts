/** The three ways to an upstream's tokens, unattended: a line per step, then "N passed, N failed". */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePort } from "../../test/support/ports.ts";
import { createBrowser, createSend, findForm } from "../../test/support/browser.ts";
import { connectClient, type Browse } from "../demo/mcp-client.ts";
import { visit } from "../demo/person.ts";
import { createSteps } from "../demo/steps.ts";
import { buildUpstreamOauth } from "./gateway.ts";
import { startSmallStage } from "./stage.ts";
import { startTracker } from "./tracker.ts";

const SECRET = "secret-that-the-tracker-gave-us";
const CLIENT = "http://127.0.0.1:33418/callback";

process.env["TRACKER_CLIENT_SECRET"] = SECRET;
const steps = createSteps();
const port = await freePort();
const origin = `http://localhost:${port}`;
const tracker = await startTracker({
  client: { id: "gateway-at-tracker", secret: SECRET, redirectUris: [`${origin}/.gateway/mcp/client/oauth/callback`] },
});
const directory = await mkdtemp(join(tmpdir(), "gateway-example-"));
const { stack } = buildUpstreamOauth({ origin, tracker: tracker.origin, outdir: directory });
const stage = await startSmallStage(port, stack, "tools", ["TRACKER_CLIENT_SECRET"]);
const alice = createBrowser();
const asAlice: Browse = async (url) =>
  new URL((await visit(alice, url.href, { user: "alice@example.com", stopAt: CLIENT })).url);

async function list(): Promise<Readonly<Record<string, boolean>>> {
  const headers = { cookie: alice.cookieHeader("localhost"), accept: "application/json" };
  const answer = await createSend()({ method: "GET", url: `${origin}/.gateway/mcp/routes`, headers });
  const { servers } = answer.json() as { servers: readonly { name: string; connected: boolean }[] };
  return Object.fromEntries(servers.map(({ name, connected }) => [name, connected]));
}

try {
  await steps.step("a request without a token meets our own challenge, not the tracker's", async () => {
    const answer = await fetch(`${origin}/by-discovery/mcp`, { method: "POST", body: "{}" });
    const challenge = answer.headers.get("www-authenticate") ?? "";
    steps.equal(answer.status, 401);
    steps.ok(challenge.includes(origin) && !challenge.includes(tracker.origin), challenge);
    return challenge;
  });
  await steps.step("Alice signs in; none of the three servers is connected yet", async () => {
    await visit(alice, `${origin}/.gateway/`, { user: "alice@example.com" });
    const before = await list();
    steps.equal(
      JSON.stringify(before),
      JSON.stringify({ "by-credentials": false, "by-discovery": false, "by-hand": false }),
    );
    return JSON.stringify(before);
  });

  for (const route of ["by-hand", "by-credentials", "by-discovery"]) {
    await steps.step(
      `${route}: an MCP client's login connects the tracker too, and its tool answers for Alice's account there`,
      async () => {
        const client = await connectClient("v2", `${origin}/${route}/mcp`, asAlice);
        const answer = await client.call("my_issues");
        steps.equal(answer, "issues of alice@tracker");
        steps.ok(!tracker.tokens.includes(client.token()), "the External Token reached the tracker");
        await client.close();
        return answer;
      },
    );
  }
  await steps.step("endpoints were found twice, and the gateway registered itself once", async () => {
    steps.ok((tracker.seen.get("GET /.well-known/oauth-protected-resource/mcp") ?? 0) >= 2, "no metadata was read");
    steps.equal(tracker.seen.get("POST /reg"), 1);
    return `POST /reg ×${tracker.seen.get("POST /reg")}`;
  });
  await steps.step("all three are connected", async () => {
    const after = await list();
    steps.ok(Object.values(after).every(Boolean), JSON.stringify(after));
    return JSON.stringify(after);
  });
  await steps.step("access tokens end: the gateway refreshes, the client notices nothing", async () => {
    const client = await connectClient("v2", `${origin}/by-hand/mcp`, asAlice);
    const before = tracker.seen.get("POST /token") ?? 0;
    tracker.endAccessTokens();
    // Its tokens name their second, so one has to pass.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    steps.equal(await client.call("my_issues"), "issues of alice@tracker");
    await client.close();
    steps.equal((tracker.seen.get("POST /token") ?? 0) - before, 1);
    return "one refresh";
  });
  await steps.step(
    "Alice disconnects on her page: the token is revoked at the tracker, and the server is not connected",
    async () => {
      const page = await alice.open(`${origin}/.gateway/`);
      const form = findForm(page, "/.gateway/mcp/disconnect");
      if (!form) throw new Error("there is no button to disconnect");
      await alice.submit(page, form, {});
      const after = await list();
      steps.equal(Object.values(after).filter((connected) => !connected).length, 1);
      steps.ok((tracker.seen.get("POST /token/revocation") ?? 0) > 0, "nothing was revoked");
      return JSON.stringify(after);
    },
  );
  await steps.step("an application sends her to connect again, and gets her back", async () => {
    const back = `${origin}/application/welcome`;
    const url = `${origin}/.gateway/mcp/connect?redirect_url=${encodeURIComponent(back)}`;
    const page = await visit(alice, url, { user: "alice@example.com", stopAt: back });
    steps.equal(page.url, back);
    steps.ok(Object.values(await list()).every(Boolean), JSON.stringify(await list()));
    return page.url;
  });
  await steps.step("nobody is sent to an address that belongs to no application of the gateway", async () => {
    const answer = await fetch(`${origin}/.gateway/mcp/connect?redirect_url=https://evil.example/`, {
      redirect: "manual",
    });
    steps.equal(answer.status, 400);
    return String(answer.status);
  });
  await steps.step("the client secret and the tracker's tokens are in no line of the log", async () => {
    for (const secret of [SECRET, ...tracker.tokens.filter((token) => token !== "")]) {
      steps.ok(!stage.log().includes(secret), "a secret is in the log");
    }
    return `${new Set(tracker.tokens).size} tokens looked for`;
  });
} finally {
  await stage.close();
  await rm(directory, { recursive: true, force: true });
  await tracker.close();
}
process.exitCode = steps.end();
