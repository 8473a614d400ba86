/** `gateway users forget`: nothing of the user stays in the stores and in rewritten files, and the audit stays whole. */
import { lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";

import { formatAction } from "../../../../runtime/audit/action-record.ts";
import { AUDIT_KEY_NAME } from "../../../../runtime/audit/chain/checkpoint.ts";
import { createNoteSigner, parseVerifierKey } from "../../../../runtime/audit/chain/signed-note.ts";
import { createDraftRecords } from "../../../../runtime/simulation/draft-records.ts";
import { createRecords, emailTag, SESSIONS_TAG, userTag } from "../../../../runtime/identity/identity-records.ts";
import { openRecords } from "../../../../runtime/record-kinds.ts";
import { openRecordReader } from "../../../../runtime/record-store/record-store.ts";
import { systemClock } from "../../../../runtime/shared/clock.ts";
import { createKeys } from "../../../../runtime/shared/keys.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import type { UserId } from "../../../../runtime/shared/user-id.ts";
import { verifyAudit } from "../../../../runtime/tools/audit/verify.ts";
import { eraseLines } from "../../../../runtime/tools/commands/erase-lines.ts";
import { forgetUser } from "../../../../runtime/tools/commands/users.ts";
import { beginRun } from "../../../support/audit-run.ts";
import { copyOf } from "../../../support/record-copies.ts";
import { openTestStore } from "../../../support/record-store.ts";

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

test("sessions, stored records and lines of files are erased, and the audit verifies the rest", async () => {
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
  const drafts = createDraftRecords({ store, clock: systemClock });
  for (const user of ["alice", "bob"]) await drafts.put(user, { kind: "slice", owner: "team", text: "routes: []\n" });
  const place = { kind: "sqlite", path: join(directory, "gateway.records.db"), isTemporary: false } as const;
  const bounds = { place, maxAgeMs: 3600_000, maxRecords: 1000 };
  const kept = openTestStore(bounds, { clock: systemClock, log: () => {} });
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
  expect([await drafts.list("alice"), await drafts.list("bob")]).toMatchObject([[], [{ author: "bob" }]]);
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

const decided = (user: string): string =>
  `{"level":"info","time":"2026-01-01T00:00:00.000Z","service":"authorize","message":"authorize check","user":"${user}"}\n`;

describe("eraseLines()", () => {
  const erase = (file: string): Promise<number> =>
    eraseLines(file, { names: { ids: ["alice"], emails: [] }, actionId: "a1", signer });

  test("rewrites what a link leads to, packed or not whatever its name is, and writes through no link itself", async () => {
    const run = beginRun("gateway.3.c", [], signer);
    for (const user of ["alice", "bob"]) run.records.write(decided(user));
    await run.records.close();
    const [file, link, other] = ["packed.log.2", "link.log", "other"].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(file, gzipSync(run.lines.join("")));
    symlinkSync(file, link);
    writeFileSync(other, "mine");
    symlinkSync(other, `${file}.forgetting`);
    expect(await erase(link)).toBe(1);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(lstatSync(file).isSymbolicLink()).toBe(false);
    expect(gunzipSync(readFileSync(file)).toString()).not.toContain("alice");
    expect(readFileSync(other, "utf8")).toBe("mine");
    expect(await verify([file])).toMatchObject({ found: 0 });
  });

  test("lines after a partial one of a killed process are also erased, and the user's part of that one", async () => {
    const killed = beginRun("gateway.4.d", [], signer);
    const run = beginRun("gateway.5.e", [], signer);
    for (const user of ["alice", "bob"]) run.records.write(decided(user));
    await run.records.close();
    killed.records.write(decided("bob"));
    const begun = decided("alice").trimEnd().slice(0, -1).replace("info", "warn");
    const [first = "", ...others] = run.lines;
    const file = join(directory, "torn.log");
    const joined = others.map((line) => (line.includes("alice") ? begun + line : line));
    const foreign = 'of another\rprogram, "bob"\n';
    writeFileSync(file, [foreign, first, ...killed.lines, ...joined].join(""));
    const before = await verify([file]);
    expect(before).toMatchObject({ found: 0, torn: [{}] });
    expect(await erase(file)).toBe(1);
    const after = readFileSync(file, "utf8");
    expect(after).not.toContain("alice");
    expect(after.match(/bob/g)).toHaveLength(3);
    expect(after.startsWith(foreign)).toBe(true);
    expect(await verify([file])).toMatchObject({ found: 0, torn: [{}], forgotten: [{ lines: 1 }] });
  });

  test("lines written without `audit` do not count as changed afterwards", async () => {
    const run = beginRun("gateway.6.f", [], signer);
    run.records.write(decided("bob"));
    await run.records.close();
    const file = join(directory, "mixed.log");
    writeFileSync(file, [decided("alice"), decided("bob"), ...run.lines].join(""));
    const before = await verify([file]);
    expect(await erase(file)).toBe(1);
    expect(await verify([file])).toEqual({ ...before, runs: expect.anything() });
  });
});

test("what fails behind the first step can be done again: by id and by address", async () => {
  const storage = `sqlite:${join(directory, "again.db")}`;
  const config = join(directory, "again.yaml");
  const log = join(directory, "again.log");
  const boot = `storage_url: ${storage}\nshared_secret: ${secret.toString("base64")}\nauthorize_log: ${log}\n`;
  writeFileSync(config, `${boot}routes: []\n`);
  const store = await openRecords(storage, { clock: systemClock, log: silentLog() });
  const expiresAt = Math.floor(Date.now() / 1000) + 3600;
  const tags = [SESSIONS_TAG, userTag("alice")];
  await createRecords(store).sessions.put("s", { userId: "alice" as UserId, createdAt: 1 }, { expiresAt, tags });
  await store.put(
    "identity:alice",
    { userId: "alice", email: "alice@example.com", claims: { email: "alice@example.com" } },
    {
      expiresAt,
      tags: [userTag("alice"), emailTag("alice@example.com")],
    },
  );
  const left = async (): Promise<readonly string[]> => (await store.list(userTag("alice"))).map(({ key }) => key);
  writeFileSync(log, decided("bob"));
  for (const file of ["absent.log", "to-the-log.log"].map((name) => join(directory, name))) {
    if (file.includes("to-the-log")) symlinkSync(log, file);
    await expect(forgetUser("alice@example.com", { config, records: [file] })).rejects.toMatchObject({
      code: "commands.records",
    });
    expect(await left()).toHaveLength(2);
  }
  const rotated = join(directory, "again.log.1");
  writeFileSync(rotated, gzipSync(decided("alice")).subarray(0, 40));
  await expect(forgetUser("alice@example.com", { config, records: [rotated] })).rejects.toMatchObject({
    code: "commands.records",
  });
  expect(await left()).toEqual(["identity:alice"]);
  writeFileSync(rotated, decided("alice"));
  expect(await forgetUser("alice@example.com", { config, records: [rotated] })).toBe(0);
  expect(await left()).toEqual([]);
  expect(readFileSync(rotated, "utf8")).not.toContain("alice");
  await store.close();
});
