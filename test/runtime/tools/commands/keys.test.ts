/** `gateway keys`: what it tells of a store in which the test plays the processes. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { CompactEncrypt } from "jose";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { stringify } from "yaml";

import { PRESENCE_TAG, presenceKey } from "../../../../runtime/bundle/presence.ts";
import { createSealing } from "../../../../runtime/bundle/secrets.ts";
import { secretKey, startSecretUse, type SharedSecretUse } from "../../../../runtime/bundle/secret-use.ts";
import { openRecords } from "../../../../runtime/record-kinds.ts";
import { epochSeconds, systemClock } from "../../../../runtime/shared/clock.ts";
import { createKeys, secretIds } from "../../../../runtime/shared/keys.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { createMemoryStore } from "../../../../runtime/store/memory.ts";
import type { Store } from "../../../../runtime/store/store.ts";
import { printKeys, rotateKeys } from "../../../../runtime/tools/commands/keys.ts";
import type { KeyState, SecretState } from "../../../../runtime/tools/keys/state.ts";
import { createTestClock } from "../../../support/clock.ts";

const [current, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const;
const idOf = (secret: Buffer): string => secretIds(createKeys([secret]))[0] ?? "";

let directory: string;
let config: string;
let store: Store;
const said: string[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "gateway-keys-"));
  config = join(directory, "gateway.yaml");
  store = await openRecords(`sqlite:${join(directory, "gateway.db")}`, { clock: systemClock, log: silentLog() });
  vi.spyOn(console, "log").mockImplementation((text: unknown) => void said.push(String(text)));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await store.close();
  rmSync(directory, { recursive: true });
});

function configure(secrets: readonly Buffer[], more = "routes: []\n"): void {
  const [first, ...previous] = secrets.map((secret) => secret.toString("base64"));
  const boot = { shared_secret: first, storage_url: `sqlite:${directory}/gateway.db` };
  const old = previous.length === 0 ? {} : { previous_shared_secret: previous };
  writeFileSync(config, stringify({ ...boot, ...old }) + more);
}

const runs = (id: string, secrets?: readonly Buffer[]) =>
  store.put(
    presenceKey(id),
    { id, digest: "", published: 0, seen: epochSeconds(systemClock), ...(secrets && { secrets: secrets.map(idOf) }) },
    { tags: [PRESENCE_TAG], expiresAt: epochSeconds(systemClock) + 1000 },
  );
const used = (secret: Buffer, until: number) =>
  store.put(secretKey(idOf(secret)), { id: idOf(secret), since: 1, until }, { tags: ["shared-secrets"] });
const rotate = async (file?: string): Promise<{ code: number; text: string }> => {
  said.splice(0);
  const code = await rotateKeys({ config, ...(file !== undefined && { new: file }) });
  return { code, text: said.join("\n") };
};
const list = async (): Promise<KeyState> => {
  said.splice(0);
  expect(await printKeys({ config, json: true })).toBe(0);
  return JSON.parse(said.join("\n")) as KeyState;
};
const needsOf = ({ secrets }: KeyState, secret: Buffer): SecretState["needs"] | undefined =>
  secrets.find(({ id }) => id === idOf(secret))?.needs;

test("everything sealed with an old secret, anywhere in a record, and everything issued while it was current needs it", async () => {
  const at = 1_000_000;
  const old = createKeys([other]);
  const seal = (keys: typeof old, purpose: "vault" | "provider-tokens"): string =>
    keys.sealer(purpose).seal("x", "aad");
  await used(other, at);
  const handed = (kind: string, createdAt: number, more = {}) =>
    store.put(`${kind}:${createdAt}`, { createdAt, ...more }, { expiresAt: 4_000_000_000 });
  // Up to a minute later a process that was killed may have used it.
  for (const createdAt of [at, at + 60, at + 61]) await handed("session", createdAt);
  for (const createdAt of [at + 1, at + 500]) await handed("grant", createdAt);
  await handed("grant", at - 1, { refresh: { rotated: [{ rotatedAt: at - 50 }, { rotatedAt: at + 100 }] } });
  await handed("grant", at - 2, { refresh: { rotated: [{ rotatedAt: at - 50 }] } });
  await handed("service-account", at);
  await handed("service-account", at - 1, { clientId: "c" });
  await store.put("vault:a", { tokens: { deep: [seal(old, "vault")] } });
  await store.put("vault:b", { tokens: { deep: [seal(createKeys([current]), "vault")] } });
  await store.put("identity:a", { idToken: seal(old, "provider-tokens") }, { expiresAt: 4_000_000_000 });
  const { publicJwk } = await createSealing(old);
  const sealed = await new CompactEncrypt(Buffer.from("secret"))
    .setProtectedHeader({ alg: "ECDH-ES+A256KW", enc: "A256GCM", kid: publicJwk.kid ?? "" })
    .encrypt(publicJwk);
  configure([current, other], `idp_client_secret_sealed: ${sealed}\nroutes: []\n`);
  await runs("one", [current, other]);

  const until = 4_000_000_000;
  expect(needsOf(await list(), other)?.toSorted((a, b) => (a.kind < b.kind ? -1 : 1))).toEqual([
    { kind: "file", count: 1 },
    { kind: "grant", count: 2, until },
    { kind: "identity", count: 1, until },
    { kind: "service-account", count: 1, until },
    { kind: "session", count: 2, until },
    { kind: "vault", count: 1 },
  ]);
  expect(await rotate()).toEqual({ code: 3, text: expect.stringContaining("1 vault\n") });
});

test("rotate continues only once every process has taken the previous step", async () => {
  configure([current]);
  await runs("one", [current]);
  const file = join(directory, "new");
  expect(await rotate()).toEqual({ code: 0, text: expect.stringContaining("No rotation is in progress") });
  expect((await rotate(file)).code).toBe(0);
  const made = Buffer.from(readFileSync(file, "utf8"), "base64");
  expect([made.length, statSync(file).mode & 0o777, said.join().includes(idOf(made))]).toEqual([32, 0o600, true]);
  expect(said.join()).not.toContain(made.toString("base64"));
  await expect(rotateKeys({ config, new: file })).rejects.toMatchObject({ code: "keys.new-file" });
  expect(Buffer.from(readFileSync(file, "utf8"), "base64")).toEqual(made);

  configure([current, made]);
  await expect(rotateKeys({ config, new: join(directory, "another") })).rejects.toMatchObject({
    code: "keys.rotation",
  });
  // One of an older program does not say what it has.
  await runs("two");
  expect(await rotate()).toEqual({ code: 3, text: expect.stringMatching(/2 of 2 processes.*\n {2}one\n {2}two$/) });
  await runs("one", [current, made]);
  expect(await rotate()).toEqual({ code: 3, text: expect.stringMatching(/1 of 2 processes.*\n {2}two$/) });
  await runs("two", [current, made]);
  expect(await rotate()).toEqual({ code: 0, text: expect.stringContaining(`set shared_secret to ${idOf(made)}`) });

  configure([made, current]);
  await used(made, 100);
  await used(current, 50);
  await runs("one", [made, current]);
  expect(await rotate()).toEqual({ code: 3, text: expect.stringMatching(/1 of 2 processes do not use.*\n {2}two$/) });
  await runs("two", [made, current]);
  expect(await rotate()).toEqual({ code: 0, text: expect.stringContaining(`remove ${idOf(current)} from`) });

  configure([made]);
  await runs("one", [made]);
  expect(await rotate()).toEqual({
    code: 3,
    text: expect.stringMatching(/1 of 2 processes still have.*\n {2}two$/),
  });
  await runs("two", [made]);
  expect(await rotate()).toEqual({ code: 0, text: expect.stringContaining("No rotation is in progress") });
});

test("a secret that sealed something before versions recorded its use is an old one, not the next", async () => {
  configure([current, other]);
  await runs("one", [current, other]);
  expect((await list()).secrets.map(({ role }) => role)).toEqual(["current", "next"]);
  await store.put("session:a", { createdAt: 5, idToken: createKeys([other]).sealer("provider-tokens").seal("x", "") });
  expect((await list()).secrets.map(({ role }) => role)).toEqual(["current", "previous"]);
});

test("without processes no step counts as done, and without a secret or a database nothing is printed", async () => {
  configure([current, other]);
  expect(await rotate()).toEqual({ code: 3, text: expect.stringContaining("No running process") });
  writeFileSync(config, `storage_url: sqlite:${join(directory, "gateway.db")}\nroutes: []\n`);
  await expect(rotateKeys({ config })).rejects.toMatchObject({ code: "keys.no-secret" });
  writeFileSync(config, `shared_secret: ${current.toString("base64")}\nstorage_url: "memory:"\nroutes: []\n`);
  await expect(rotateKeys({ config })).rejects.toMatchObject({ code: "commands.memory" });
});

test("startSecretUse() records since and until when it is the current one", async () => {
  const clock = createTestClock();
  const records = createMemoryStore({ clock });
  const id = idOf(current);
  const use = async (): Promise<SharedSecretUse | undefined> =>
    (await records.get<SharedSecretUse>(secretKey(id)))?.value;
  const since = epochSeconds(clock);
  const first = await startSecretUse({ store: records, ids: [id], clock, log: silentLog() });
  expect(await use()).toMatchObject({ id, since, until: since });
  clock.advance(7_000);
  await first.close();
  expect(await use()).toMatchObject({ id, since, until: since + 7 });
  await (await startSecretUse({ store: records, ids: [id], clock, log: silentLog() })).close();
  expect(await use()).toMatchObject({ id, since, until: since + 7 });
});

test("startSecretUse() logs once that a process has an unknown shared secret", async () => {
  const clock = createTestClock();
  const records = createMemoryStore({ clock });
  const [id, unknown] = [idOf(current), idOf(other)];
  const rows = [
    { id: "same", secrets: [id, unknown] },
    { id: "ahead", secrets: [unknown, id] },
    { id: "alike", secrets: [unknown] },
    { id: "older program" },
  ];
  for (const row of rows)
    await records.put(`status:${row.id}`, { ...row, seen: epochSeconds(clock) }, { tags: [PRESENCE_TAG] });
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  await (await startSecretUse({ store: records, ids: [id], clock, log })).close();
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ secret: unknown, process: "ahead" }]);
  await (await startSecretUse({ store: records, ids: [id, unknown], clock, log })).close();
  expect(lines).toHaveLength(1);
});
