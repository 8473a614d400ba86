/** `gateway users forget`: nothing of the user stays in the stores and in rewritten files, and the audit stays whole. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, expect, test, vi } from "vitest";

import { formatAction } from "../../../../runtime/audit/action-record.ts";
import { AUDIT_KEY_NAME } from "../../../../runtime/audit/chain/checkpoint.ts";
import { createNoteSigner, parseVerifierKey } from "../../../../runtime/audit/chain/signed-note.ts";
import { createRecords, SESSIONS_TAG, userTag } from "../../../../runtime/identity/identity-records.ts";
import { openRecords } from "../../../../runtime/record-kinds.ts";
import { openRecordReader, openRecordStore } from "../../../../runtime/record-store/record-store.ts";
import { systemClock } from "../../../../runtime/shared/clock.ts";
import { createKeys } from "../../../../runtime/shared/keys.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import type { UserId } from "../../../../runtime/shared/user-id.ts";
import { verifyAudit } from "../../../../runtime/tools/audit/verify.ts";
import { forgetUser } from "../../../../runtime/tools/commands/users.ts";
import { beginRun } from "../../../support/audit-run.ts";
import { copyOf } from "../../../support/record-copies.ts";

const directory = mkdtempSync(join(tmpdir(), "forget-"));
const said: string[] = [];
vi.spyOn(console, "log").mockImplementation((text: unknown) => void said.push(String(text)));
afterEach(() => said.splice(0));
afterAll(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

const secret = Buffer.alloc(32, 1);
const signer = createNoteSigner(AUDIT_KEY_NAME, createKeys([secret]).derive("audit-signing")[0] as Buffer);
const verifier = parseVerifierKey(signer.verifierKey);
const verifiers = verifier ? [verifier] : [];
const verify = (files: readonly string[]) => verifyAudit({ files, verifiers, heads: [] });

test("sessions, stored records and lines of files go, and the audit proves what is left", async () => {
  const storage = `sqlite:${join(directory, "gateway.db")}`;
  const config = join(directory, "gateway.yaml");
  const log = join(directory, "authorize.log");
  const boot = `storage_url: ${storage}\nshared_secret: ${secret.toString("base64")}\naudit: true\nrecord_store: {}\nauthorize_log: ${log}\n`;
  writeFileSync(config, `${boot}routes: []\n`);
  const store = await openRecords(storage, { clock: systemClock, log: silentLog() });
  const expiresAt = Math.floor(Date.now() / 1000) + 3600;
  for (const user of ["alice", "bob"])
    await createRecords(store).sessions.put(
      `of-${user}`,
      { userId: user as UserId, createdAt: 1 },
      {
        expiresAt,
        tags: [SESSIONS_TAG, userTag(user)],
      },
    );
  const place = { kind: "sqlite", path: join(directory, "gateway.records.db"), isTemporary: false } as const;
  const bounds = { place, maxAgeMs: 3600_000, maxRecords: 1000 };
  const kept = openRecordStore(bounds, { clock: systemClock, log: () => {} });
  kept.take(["alice", "bob"].map((user) => copyOf(Date.now(), user, { user })));
  await kept.close();
  const run = beginRun("gateway.1.a", [], signer);
  for (const user of ["alice", "bob", "alice"])
    run.records.write(
      `{"level":"info","time":"2026-01-01T00:00:00.000Z","service":"authorize","message":"authorize check","user":"${user}"}\n`,
    );
  await run.records.close();
  const rotated = join(directory, "authorize.log.1.gz");
  writeFileSync(rotated, gzipSync(run.lines.join("")));
  expect((await verify([rotated])).result).toBe("whole");

  expect(await forgetUser("alice", { config, records: [rotated] })).toBe(0);

  expect(await store.list(userTag("alice"))).toEqual([]);
  expect(await store.list(userTag("bob"))).toHaveLength(1);
  const reader = openRecordReader(bounds);
  expect((await reader.find({ order: "newest", limit: 10 })).records.map(({ userId }) => userId)).toEqual(["bob"]);
  await reader.close();
  const text = gunzipSync(readFileSync(rotated)).toString();
  expect(text).not.toContain("alice");
  expect(text).toContain("bob");
  expect(said.join("\n")).toMatch(/2 lines erased/);

  // The action names nobody, and as long as its record is not given, not all is explained.
  const [waiting] = await store.list<{ readonly timeMs: number; readonly action: never }>("audit-actions");
  expect(JSON.stringify(waiting?.value)).toMatch(/"action":"forget".*"target":"user [\w-]{22}"/);
  expect(JSON.stringify(waiting?.value)).not.toContain("alice");
  const actionId = waiting?.key.slice("audit-action:".length) ?? "";
  const alone = await verify([rotated]);
  expect(alone).toMatchObject({
    result: "partly",
    found: 0,
    forgotten: [{ action: actionId, lines: 2, isRecorded: false }],
  });
  const later = beginRun("gateway.2.b", [], signer);
  later.records.write(formatAction(Date.now(), actionId, waiting?.value.action as never));
  await later.records.close();
  writeFileSync(log, later.lines.join(""));
  const both = await verify([rotated, log]);
  expect(both).toMatchObject({ result: "whole", forgotten: [{ action: actionId, lines: 2, isRecorded: true }] });

  // Another line behind the same action, without the key: told.
  const lines = text.split("\n");
  const erased = lines.find((line) => line.includes("erased record")) ?? "";
  writeFileSync(
    rotated,
    gzipSync(text.replace(erased, erased.replace(/"signature":"[^"]{20}/, '"signature":"AAAAAAAAAAAAAAAAAAAA'))),
  );
  expect(await verify([rotated, log])).toMatchObject({ result: "found", findings: [{ kind: "erased" }] });
  await expect(forgetUser("alice", { config, records: [log] })).rejects.toMatchObject({ code: "commands.records" });
  await store.close();
});
