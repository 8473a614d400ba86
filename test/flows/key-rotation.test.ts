/** The shared secret is rotated on two real replicas while they serve: nobody notices, and the audit stays provable. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { stringify } from "yaml";

import { startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { rotateKeys, printKeys } from "../../runtime/tools/commands/keys.ts";
import type { KeyState } from "../../runtime/tools/keys/state.ts";
import { createBrowser, createSend, type Send } from "../support/browser.ts";
import { TEST_SHARED_SECRET } from "../support/config.ts";
import { signInClient } from "../support/oauth-client.ts";
import { runCommand } from "../support/run-command.ts";
import { ADMIN_TOKEN, runGateway, type RunningGateway } from "../support/run-gateway.ts";
import { startUpstreamService } from "../support/upstream-service.ts";

/** What users call it; nothing listens there, as behind a load balancer. */
const PUBLIC = "http://localhost:8080";
const PAGES = "http://127.0.0.1:8080";

afterEach(() => void vi.restoreAllMocks());

/** What a command says, and its exit code. */
async function said(command: () => Promise<number>): Promise<{ readonly code: number; readonly text: string }> {
  const lines: string[] = [];
  const spy = vi.spyOn(console, "log").mockImplementation((text: unknown) => void lines.push(String(text)));
  try {
    return { code: await command(), text: lines.join("\n") };
  } finally {
    spy.mockRestore();
  }
}

test("sessions, refresh tokens, upstream tokens and the audit go on through a rotation on two replicas", async () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-rotation-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const oldFile = join(directory, "old");
  const newFile = join(directory, "new");
  writeFileSync(oldFile, TEST_SHARED_SECRET);
  const service = await startUpstreamService();
  onTestFinished(() => service.close());
  const callback = `${PUBLIC}/.gateway/mcp/client/oauth/callback`;
  service.clients.set("static-client", { secret: "static-secret", redirectUris: [callback] });
  const provider = await startIdentityProvider({
    clients: [{ client_id: "gateway", client_secret: "secret", redirect_uris: [`${PAGES}/.gateway/callback`] }],
  });
  onTestFinished(() => provider.close());

  const log = join(directory, "authorize.log");
  const settings = {
    address: "127.0.0.1:0",
    admin_address: "127.0.0.1:0",
    admin_token: ADMIN_TOKEN,
    insecure_server: true,
    development: true,
    storage_url: `sqlite:${join(directory, "gateway.db")}`,
    audit: true,
    authorize_log: log,
    drain_timeout: "2s",
    runtime_flags: { mcp: true },
    mcp_allowed_as_metadata_domains: ["127.0.0.1"],
    authenticate_service_url: PAGES,
    idp_provider_url: provider.issuer,
    idp_client_id: "gateway",
    idp_client_secret: "secret",
    routes: [
      {
        name: "static",
        from: PUBLIC,
        prefix: "/static",
        to: service.origin,
        mcp: {
          server: {
            path: "/mcp",
            upstream_oauth2: {
              client_id: "static-client",
              client_secret: "static-secret",
              endpoint: { auth_url: `${service.origin}/authorize`, token_url: `${service.origin}/token` },
              scopes: ["read", "write"],
            },
          },
        },
        policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }],
      },
    ],
  };
  const configured = (current: string, ...previous: readonly string[]): string =>
    stringify({
      ...settings,
      shared_secret_ref: `file:${current}`,
      ...(previous.length > 0 && { previous_shared_secret_ref: previous.map((file) => `file:${file}`) }),
    });

  const first = await runGateway({
    boot: { shared_secret: undefined, shared_secret_ref: `file:${oldFile}`, ...settings, routes: undefined },
    yaml: stringify({ routes: settings.routes }),
  });
  const replicas: RunningGateway[] = [first, await runGateway({ replicaOf: first })];
  onTestFinished(async () => {
    await Promise.all(replicas.filter((each) => each !== first).map((each) => each.close()));
    await first.close();
  });
  const config = first.directory;
  const restart = async (index: 0 | 1): Promise<void> => {
    const before = replicas[index] as RunningGateway;
    before.process.kill("SIGTERM");
    expect(await before.ended).toBe(0);
    replicas[index] = await runGateway({ replicaOf: first });
  };
  /** To one replica after the other, as a load balancer without affinity. */
  let sent = 0;
  const send: Send = (request) => {
    if (![PUBLIC, PAGES].includes(new URL(request.url).origin)) return createSend()(request);
    sent += 1;
    return createSend({ via: Number(new URL(replicas[sent % 2]?.origin ?? "").port) })(request);
  };
  const rotate = (more: { readonly new?: string } = {}) => said(() => rotateKeys({ config, ...more }));
  const listed = async (): Promise<KeyState> =>
    JSON.parse((await said(() => printKeys({ config, json: true }))).text) as KeyState;

  const resource = `${PUBLIC}/static/mcp`;
  const browser = createBrowser(send);
  const client = await signInClient({ resource, send, browser, user: "alice@example.com", press: "Connect" });
  const idle = await signInClient({ resource, send, browser });
  const goesOn = async (): Promise<void> => {
    for (const each of [0, 1]) {
      const call = await send({
        method: "POST",
        url: resource,
        headers: {
          authorization: `Bearer ${client.tokens.access_token}`,
          "content-type": "application/json",
          accept: "application/json",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: each, method: "tools/list" }),
      });
      expect(["call", call.status, call.text]).toEqual(["call", 200, expect.stringContaining('"authorized":true')]);
      const page = await browser.open(`${PAGES}/.gateway/user`);
      expect(["session", page.text]).toEqual(["session", expect.stringContaining("alice@example.com")]);
      // Each at the other replica than the one before.
      await client.refresh();
      if (each % 2 === 0) sent += 1;
    }
    const person = await signInClient({ resource, send, user: "bob@example.com", press: "Connect" });
    await person.refresh();
  };
  await goesOn();

  const before = await listed();
  const [old] = before.secrets;
  expect(before).toMatchObject({ secrets: [{ role: "current", had: before.processes }], silent: [] });
  expect([before.processes.length, before.secrets.length]).toEqual([2, 1]);
  const begun = await rotate({ new: newFile });
  expect(begun).toEqual({ code: 0, text: expect.stringContaining("Step 1 of 3") });
  await expect(rotateKeys({ config, new: newFile })).rejects.toThrow("Cannot write");

  first.write("gateway.yaml", configured(oldFile, newFile));
  expect(await rotate()).toEqual({ code: 3, text: expect.stringContaining("2 of 2 processes do not know") });
  await restart(0);
  await goesOn();
  expect(await rotate()).toEqual({ code: 3, text: expect.stringContaining("1 of 2 processes do not know") });
  await restart(1);
  expect(await rotate()).toEqual({ code: 0, text: expect.stringContaining("Step 2 of 3") });

  first.write("gateway.yaml", configured(newFile, oldFile));
  await restart(1);
  await goesOn();
  expect(await rotate()).toEqual({ code: 3, text: expect.stringContaining("1 of 2 processes do not use") });
  await restart(0);
  await goesOn();
  const after = await listed();
  expect(after.secrets.map(({ id, role }) => [id === old?.id, role])).toEqual([
    [false, "current"],
    [true, "previous"],
  ]);
  const needs = after.secrets[1]?.needs ?? [];
  expect(needs.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["session", "grant", "vault", "identity"]));
  expect(await rotate()).toEqual({ code: 3, text: expect.stringContaining(`${old?.id} is still needed by:`) });
  // Never used since, and still good.
  await idle.refresh();
  await idle.refresh();

  // Taken away at last: what was made since needs it no more.
  first.write("gateway.yaml", configured(newFile));
  await restart(0);
  await replicas[1]?.close();
  replicas[1] = replicas[0] as RunningGateway;
  await idle.refresh();
  // What was made before is worth nothing now, as the command had said.
  const page = await browser.open(`${PAGES}/.gateway/user`);
  expect(page.text).not.toContain("alice@example.com");
  replicas[0]?.process.kill("SIGTERM");
  await replicas[0]?.ended;
  const oldKey = before.publicKeys.find(({ use }) => use === "audit")?.id ?? "";
  const verified = await runCommand("audit", "verify", log, "--config", config, "--key", oldKey);
  expect([verified.code, verified.out]).toEqual([0, expect.any(String)]);
  const alone = await runCommand("audit", "verify", log, "--config", config);
  expect(alone.code).not.toBe(0);
  // Neither secret stands anywhere but in its file.
  for (const text of [begun.text, JSON.stringify(after), ...replicas.map((each) => each.log())]) {
    expect(text).not.toContain(TEST_SHARED_SECRET);
  }
  expect(readdirSync(directory).toSorted()).toEqual(expect.arrayContaining(["new", "old"]));
}, 180_000);
