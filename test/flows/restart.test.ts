/** The proxy is killed without warning and restarted, on a real database: no user has to sign in, register or consent again. */
import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";

import { startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { createSend, findForm, type Page } from "../support/browser.ts";
import { TEST_SHARED_SECRET } from "../support/config.ts";
import { startGatewayProcess } from "../support/run-gateway.ts";
import { clientProof, createPkce, REDIRECT_URI, signInClient } from "../support/oauth-client.ts";
import { freePort } from "../support/ports.ts";
import { findPostgres, startPostgres } from "../support/postgres.ts";
import { LONG_MS } from "../support/limits.ts";

function killed(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.removeAllListeners("exit").once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

/** Answers every message but calls of `delete_two`, which it takes and holds. */
async function startHoldingUpstream() {
  const called: string[] = [];
  const holding = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const { id, params } = (body === "" ? {} : JSON.parse(body)) as { id?: number; params?: { name?: string } };
      if (params?.name !== undefined) called.push(params.name);
      if (params?.name === "delete_two") return holding.resolve();
      response.writeHead(body === "" ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    called,
    holding: holding.promise,
    async close(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

const calls = (...tools: readonly string[]) => ({ or: [{ mcp_tool: { in: tools } }] });
/** About the call in flight at the kill: it was permitted, and its outcome is unknown. */
const HISTORY_RULES = [
  { name: "order", calls: calls("publish"), after: { calls: calls("delete_two"), within: "1h" } },
  { name: "leak", calls: calls("send"), not_after: { calls: calls("delete_two"), within: "1h" } },
  { name: "once", calls: calls("delete_two", "count"), at_most: { count: 1, within: "1h" } },
  { name: "sum", calls: calls("delete_two", "pay"), total: { argument: "/id", limit: "3", within: "1h" } },
];

async function survives(storageUrl: string, directory: string): Promise<void> {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const pages = `http://127.0.0.1:${port}`;
  const upstream = await startHoldingUpstream();
  onTestFinished(() => upstream.close());
  const provider = await startIdentityProvider({
    clients: [{ client_id: "gateway", client_secret: "secret", redirect_uris: [`${pages}/.gateway/callback`] }],
  });
  onTestFinished(() => provider.close());
  const config = join(directory, "gateway.yaml");
  const settings = {
    address: `127.0.0.1:${port}`,
    admin_address: "127.0.0.1:0",
    admin_token: "admin-token-of-the-tests",
    insecure_server: true,
    development: true,
    shared_secret: TEST_SHARED_SECRET,
    storage_url: storageUrl,
    authorize_log: join(directory, "authorize.log"),
    runtime_flags: { mcp: true },
    authenticate_service_url: pages,
    idp_provider_url: provider.issuer,
    idp_client_id: "gateway",
    idp_client_secret: "secret",
    routes: [
      {
        name: "tools",
        from: origin,
        prefix: "/tools",
        to: upstream.origin,
        mcp: { server: { history_rules: HISTORY_RULES } },
        policy: [
          { allow: { and: [{ authenticated_user: true }] } },
          { approve: { and: [{ mcp_tool: { starts_with: "delete_" } }] } },
        ],
      },
    ],
  };
  await writeFile(config, stringify(settings));

  const first = await startGatewayProcess(config, onTestFinished);
  const resource = `${origin}/tools`;
  const client = await signInClient({ resource, user: "alice@example.com" });
  const secret = await signInClient({
    resource,
    browser: client.oauth.browser,
    metadata: { token_endpoint_auth_method: "client_secret_basic" },
  });
  const send = createSend();
  const post = (method: string, params: object) =>
    send({
      method: "POST",
      url: resource,
      headers: {
        authorization: `Bearer ${client.tokens.access_token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  const askedPage = async (params: object): Promise<Page> => {
    const { error } = (await post("tools/call", params)).json() as { error: { data: { approval_url: string } } };
    return client.oauth.browser.open(error.data.approval_url);
  };
  const approve = async (params: object): Promise<void> => {
    const asked = await askedPage(params);
    const form = findForm(asked, "/.gateway/approval");
    const done = form && (await client.oauth.browser.submit(asked, form, { decision: "approve" }));
    expect(["approval", done?.status]).toEqual(["approval", 200]);
  };
  const later = { name: "delete_one", arguments: { id: 1 } };
  const cutOff = { name: "delete_two", arguments: { id: 2 } };
  await approve(later);
  await approve(cutOff);
  const failed = post("tools/call", cutOff).then(
    () => "answered",
    () => "cut off",
  );
  await upstream.holding;
  await killed(first);
  expect(["call under way", await failed]).toEqual(["call under way", "cut off"]);
  await startGatewayProcess(config, onTestFinished);

  const reasonOf = async (name: string, id: number): Promise<unknown> => {
    const { error } = (await post("tools/call", { name, arguments: { id } })).json() as {
      error?: { data: { reason: unknown } };
    };
    return error?.data.reason;
  };
  expect(await reasonOf("publish", 1)).toBe("history-after");
  expect(await reasonOf("send", 1)).toBe("history-not-after");
  expect(await reasonOf("count", 1)).toBe("history-at-most");
  expect([await reasonOf("pay", 2), await reasonOf("pay", 1)]).toEqual(["history-total", undefined]);
  const call = await post("tools/list", {});
  expect(["grant", call.status]).toEqual(["grant", 200]);
  expect((await post("tools/call", later)).json()["result"]).toBeDefined();
  // The outcome of the call is unknown: it is not repeated, but needs a new approval.
  expect((await askedPage(cutOff)).text).toContain("The same call was approved before.");
  expect(upstream.called).toEqual(["delete_two", "pay", "delete_one"]);
  const page = await client.oauth.browser.open(`${pages}/.gateway/user`);
  expect(["session", page.status]).toEqual(["session", 200]);
  for (const each of [client, secret]) {
    const answer = await each.oauth.sendToken({
      grant_type: "refresh_token",
      refresh_token: each.tokens.refresh_token ?? "",
      ...clientProof(each.registration),
    });
    expect(["client", answer.status]).toEqual(["client", 200]);
  }
  const again = await client.oauth.authorize({
    clientId: client.registration.client_id,
    redirectUri: REDIRECT_URI,
    challenge: createPkce().challenge,
    decision: "look",
  });
  expect(["consent", again.at]).toEqual(["consent", "client"]);
}

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-restart-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test(
  "killing and restarting the proxy on SQLite loses no session, client, grant, consent, approval or state of history rules, and makes no call twice",
  async () => {
    const directory = await temporaryDirectory();
    await survives(`sqlite:${join(directory, "gateway.db")}`, directory);
  },
  LONG_MS,
);

const postgres = findPostgres();
test.skipIf("missing" in postgres)(
  "killing and restarting the proxy on PostgreSQL loses no session, client, grant, consent, approval or state of history rules, and makes no call twice",
  async () => {
    if ("missing" in postgres) return;
    const server = await startPostgres(postgres.bin);
    onTestFinished(() => server.close());
    await survives(server.url, await temporaryDirectory());
  },
  120_000,
);
