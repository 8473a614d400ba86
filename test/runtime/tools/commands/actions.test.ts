/** Every command of an administrator that changes something leaves an action for the audit, and no other one does. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import type { AdminAction } from "../../../../runtime/audit/action-record.ts";
import { registerDevice } from "../../../../runtime/identity/devices/devices.ts";
import { createRecords, SESSIONS_TAG } from "../../../../runtime/identity/identity-records.ts";
import { grantKey } from "../../../../runtime/oauth/server/grant-records.ts";
import { openRecords } from "../../../../runtime/record-kinds.ts";
import { systemClock } from "../../../../runtime/shared/clock.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import type { UserId } from "../../../../runtime/shared/user-id.ts";
import type { Store } from "../../../../runtime/store/store.ts";
import { forgetUpstreams } from "../../../../runtime/tools/commands/upstreams.ts";
import { revokeGrants, revokeSessions } from "../../../../runtime/tools/commands/access.ts";
import { block, unblock } from "../../../../runtime/tools/commands/blocks.ts";
import { approveDevices, revokeDevices } from "../../../../runtime/tools/commands/devices.ts";
import {
  makeClient,
  makeServiceAccount,
  revokeClients,
  revokeServiceAccounts,
} from "../../../../runtime/tools/commands/machines.ts";

const CLIENT = { name: "nightly", machine: true, issuer: "https://mcp.example" };
const alice = "alice" as UserId;
const expiresAt = Math.floor(Date.now() / 1000) + 3600;
const DIGEST: unknown = expect.stringMatching(/^[0-9a-f]{64}$/);

let directory = "";
let config = "";
let store: Store;
let deviceId = "";
let clientId = "";
const printed: string[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-actions-"));
  config = join(directory, "gateway.yaml");
  const storage = `sqlite:${join(directory, "gateway.db")}`;
  const secret = Buffer.alloc(32, 1).toString("base64");
  await writeFile(config, `storage_url: ${storage}\nshared_secret: ${secret}\naudit: true\nroutes: []\n`);
  store = await openRecords(storage, { clock: systemClock, log: silentLog() });
  await createRecords(store).sessions.put("s1", { userId: alice, createdAt: 1 }, { expiresAt, tags: [SESSIONS_TAG] });
  const grant = { schema: 1, clientId: "c", clientName: "C", userId: "alice", audience: "https://mcp.example" };
  await store.put(grantKey("g1"), { ...grant, createdAt: 1, sessionExpiresAt: expiresAt }, { expiresAt });
  const need = { schema: 1, routeKey: "team/app", needed: true, challenged: true, proof: "challenge" };
  await store.put("upstream-need:1", need, { expiresAt, tags: ["upstream-route:team/app"] });
  const credential = { credentialId: "Y3JlZA", publicKey: "", counter: 0, type: "platform", isSynced: false } as never;
  const of = { userId: alice, name: "Laptop", rpId: "auth.example", credential };
  const proof = await registerDevice({ store, clock: systemClock }, of);
  deviceId = typeof proof === "string" ? "" : proof.id;
  for (const name of ["log", "error"] as const)
    vi.spyOn(console, name).mockImplementation((text: unknown) => void printed.push(String(text)));
});
afterAll(async () => {
  vi.restoreAllMocks();
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

async function makeAndKeep(): Promise<number> {
  const code = await makeClient({ ...CLIENT, config });
  clientId = (JSON.parse(printed.at(-1) ?? "") as { client_id: string }).client_id;
  return code;
}

/** Takes the actions that wait for a gateway, as the last command left them. */
async function takeActions(): Promise<readonly AdminAction[]> {
  const rows = await store.list<{ readonly action: AdminAction }>("audit-actions");
  for (const { key } of rows) await store.delete(key);
  return rows.map(({ value }) => value.action);
}

interface Row {
  readonly does: string;
  readonly run: () => Promise<number>;
  /** Absent: nothing was there to do it to. */
  readonly leaves?: () => object;
}

const ROWS: readonly Row[] = [
  {
    does: "sessions revoke",
    run: () => revokeSessions(["s1"], { config }),
    leaves: () => ({ action: "revoke", target: "session s1 of alice", before: DIGEST, after: null }),
  },
  { does: "sessions revoke, again", run: () => revokeSessions(["s1"], { config }) },
  {
    does: "grants revoke",
    run: () => revokeGrants(["g1"], { config }),
    leaves: () => ({ action: "revoke", target: "grant g1 of alice", before: DIGEST, after: null }),
  },
  { does: "grants revoke, again", run: () => revokeGrants(["g1"], { config }) },
  {
    does: "upstreams forget",
    run: () => forgetUpstreams(["team/app"], { config }),
    leaves: () => ({
      action: "forget",
      target: "what is known of the upstream of team/app",
      before: "wants a token of its users: it refused two requests without one, and has no metadata",
      after: null,
    }),
  },
  { does: "upstreams forget, again", run: () => forgetUpstreams(["team/app"], { config }) },
  {
    does: "devices approve",
    run: () => approveDevices([deviceId], { config }),
    leaves: () => ({
      action: "approve-device",
      target: `device ${deviceId} of alice`,
      before: "not approved",
      after: "approved",
    }),
  },
  { does: "devices approve, again", run: () => approveDevices([deviceId], { config }) },
  {
    does: "devices approve --withdraw",
    run: () => approveDevices([deviceId], { config, withdraw: true }),
    leaves: () => ({
      action: "withdraw-device-approval",
      target: `device ${deviceId} of alice`,
      before: "approved",
      after: "not approved",
    }),
  },
  {
    does: "devices revoke",
    run: () => revokeDevices([deviceId], { config }),
    leaves: () => ({ action: "revoke", target: `device ${deviceId} of alice`, before: DIGEST, after: null }),
  },
  { does: "devices revoke, again", run: () => revokeDevices([deviceId], { config }) },
  {
    does: "client create",
    run: makeAndKeep,
    leaves: () => ({ action: "create", target: `client ${clientId}`, before: null, after: DIGEST }),
  },
  {
    does: "client revoke",
    run: () => revokeClients([clientId], { config }),
    leaves: () => ({ action: "revoke", target: `client ${clientId}`, before: DIGEST, after: null }),
  },
  { does: "client revoke, again", run: () => revokeClients([clientId], { config }) },
  {
    does: "client revoke of a document",
    run: () => revokeClients(["https://client.example/id"], { config }),
    leaves: () => ({ action: "revoke", target: "client https://client.example/id", after: null }),
  },
  {
    does: "service-account create",
    run: () => makeServiceAccount({ name: "ci", expires: "1h", config }),
    leaves: () => ({ action: "create", target: "service account ci", before: null, after: DIGEST }),
  },
  {
    does: "service-account revoke",
    run: () => revokeServiceAccounts(["ci"], { config }),
    leaves: () => ({ action: "revoke", target: "service account ci", before: DIGEST, after: null }),
  },
  { does: "service-account revoke, again", run: () => revokeServiceAccounts(["ci"], { config }) },
  {
    does: "block",
    run: () => block("tool", "drop", { config, route: "team/db", reason: "it drops", until: "2h" }),
    leaves: () => ({
      action: "block",
      target: 'tool "drop" on route "team/db"',
      before: null,
      after: expect.stringMatching(/^until 20/) as string,
      reason: "it drops",
    }),
  },
  {
    does: "unblock",
    run: () => unblock("tool", "drop", { config, route: "team/db" }),
    leaves: () => ({
      action: "unblock",
      target: 'tool "drop" on route "team/db"',
      before: expect.stringMatching(/^until 20/) as string,
      after: null,
    }),
  },
  { does: "unblock, again", run: () => unblock("tool", "drop", { config, route: "team/db" }) },
];

describe("commands, in this order", () => {
  test.each(ROWS)("$does", async ({ run, leaves }) => {
    await run();
    const by: unknown = expect.stringMatching(/^\S+@\S+$/);
    expect(await takeActions()).toEqual(leaves ? [{ ...leaves(), by }] : []);
  });

  test("the name of a user does not steer the terminal", async () => {
    const name = "issuer:p/\u009b2J\u202ex";
    await block("user", name, { config });
    await unblock("user", name, { config });
    await takeActions();
    expect(printed.join("\n")).toContain("\\u009b2J\\u202ex");
    expect(printed.join("\n")).not.toMatch(/[\u009b\u202e]/);
  });

  test("actions contain no secret, and equal digests only for one record", async () => {
    await makeAndKeep();
    const [made] = await takeActions();
    const secret = (JSON.parse(printed.at(-1) ?? "") as { client_secret: string }).client_secret;
    expect(secret.length).toBeGreaterThan(20);
    expect(JSON.stringify(made)).not.toContain(secret);
    await revokeClients([clientId], { config });
    const [revoked] = await takeActions();
    expect(revoked?.before).toBe(made?.after);
  });
});
