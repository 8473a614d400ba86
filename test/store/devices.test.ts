/** Registered devices as the store keeps them (runtime/identity/devices/devices.ts), the same on all three back ends. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  listDevices,
  MAX_DEVICES,
  noteUse,
  proveToSession,
  registerDevice,
  removeDevice,
  setApproval,
  takeChallenge,
  type ActiveDevice,
} from "../../runtime/identity/devices/devices.ts";
import type { Credential } from "../../runtime/identity/devices/webauthn.ts";
import { hashSecret, randomSecret } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { epochSeconds, systemClock } from "../../runtime/shared/clock.ts";
import { recordFormats } from "../../runtime/record-kinds.ts";
import { createRecords } from "../../runtime/identity/identity-records.ts";
import { withFormats } from "../../runtime/store/formats.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import { openPostgresStore } from "../../runtime/store/postgres/postgres.ts";
import { openSqliteStore } from "../../runtime/store/sqlite/sqlite.ts";
import type { Store } from "../../runtime/store/store.ts";
import { findPostgres, startPostgres } from "../support/postgres.ts";
import type { UserId } from "../../runtime/shared/user-id.ts";
import { userId } from "../support/users.ts";

interface Backend {
  /** Two handles on the same data, as two processes have them. */
  readonly stores: readonly [Store, Store];
  close(): Promise<void>;
}

function credential(): Credential {
  return {
    credentialId: randomSecret(16),
    publicKey: "a2V5",
    counter: 1,
    transports: ["internal"],
    isSynced: false,
    type: "enclave_only",
  };
}

function contract(start: () => Promise<Backend>): void {
  let backend: Backend;
  let [store, other]: Store[] = [];
  const announced: string[] = [];
  const revocations = { revoke: (key: string) => Promise.resolve(void announced.push(key)) };
  const here = () => ({ store: withFormats(store as Store, recordFormats), clock: systemClock, revocations });
  const there = () => ({ ...here(), store: withFormats(other as Store, recordFormats) });
  beforeAll(async () => {
    backend = await start();
    [store, other] = backend.stores;
  });
  afterAll(() => backend?.close());

  /** A user of their own for each test. */
  const newUser = (): UserId => userId(`user-${randomSecret(6)}`);
  const register = async (userId: UserId, of = credential()): Promise<ActiveDevice> => {
    const made = await registerDevice(here(), { userId, name: "Laptop", rpId: "auth.example.com", credential: of });
    const found = (await listDevices(there(), userId)).find(
      ({ proof }) => typeof made !== "string" && proof.id === made.id,
    );
    if (!found) throw new Error(`Cannot register: ${JSON.stringify(made)}`);
    return found;
  };

  test("a device is listed for its user and in the list of all, and expires after a year without use", async () => {
    const [alice, bob] = [newUser(), newUser()];
    const { device, expiresAt } = await register(alice);
    expect(device).toMatchObject({ userId: alice, name: "Laptop", counter: 1, withdrawals: 0, schema: 1 });
    expect(device.approvedAt).toBeUndefined();
    expect(expiresAt - epochSeconds(systemClock)).toBeGreaterThan(364 * 86_400);
    expect(await listDevices(there(), bob)).toEqual([]);
    expect((await listDevices(there())).map(({ proof }) => proof.id)).toContain(device.id);
  });

  test("users whose ids look alike are others: by issuer, Unicode form and case", async () => {
    const name = `josé ${randomSecret(6)}`;
    const users = [
      userId(name),
      userId(name.normalize("NFD")),
      userId(name.toUpperCase()),
      userId(`${name} `),
      userId(name, "corp"),
      userId(name, "corp-2"),
      userId(`corp/${name}`),
    ];
    for (const user of users) await register(user);
    for (const user of users)
      expect((await listDevices(there(), user)).map(({ device }) => device.userId)).toEqual([user]);
    const [first] = await listDevices(there(), name);
    await removeDevice(here(), first as ActiveDevice);
    expect(await Promise.all(users.map(async (user) => (await listDevices(there(), user)).length))).toEqual([
      0, 1, 1, 1, 1, 1, 1,
    ]);
  });

  test("a credential is registered once, also when many try at once in several processes", async () => {
    const of = credential();
    const made = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        registerDevice(index % 2 === 0 ? here() : there(), { userId: newUser(), name: "x", rpId: "h", credential: of }),
      ),
    );
    expect(made.filter((each) => each === "known")).toHaveLength(5);
  });

  test("a user has a bounded number of them", async () => {
    const user = newUser();
    for (let count = 0; count < MAX_DEVICES; count += 1) await register(user);
    const more = { userId: user, name: "x", rpId: "h", credential: credential() };
    expect(await registerDevice(here(), more)).toBe("full");
  });

  test("the same credential after its end is another device", async () => {
    const [user, of] = [newUser(), credential()];
    const first = await register(user, of);
    expect(await removeDevice(here(), first)).toBe(true);
    const second = await register(user, of);
    expect(second.proof.key).toBe(first.proof.key);
    expect(second.proof.id).not.toBe(first.proof.id);
    // What is known of the first ends nothing of the second.
    expect(await removeDevice(there(), first)).toBe(false);
    expect(await setApproval(there(), first, true)).toBe(false);
    expect(await listDevices(here(), user)).toHaveLength(1);
  });

  test("of two uses with the same count one must read again", async () => {
    const found = await register(newUser());
    const noted = await Promise.all([noteUse(here(), found, 2), noteUse(there(), found, 2)]);
    expect(noted.filter(Boolean)).toHaveLength(1);
    expect(await noteUse(here(), found, 3)).toBe(false);
  });

  test("an approval stays through uses, and what was known with it ends with its withdrawal alone", async () => {
    const user = newUser();
    const found = await register(user);
    const current = async (): Promise<ActiveDevice> => (await listDevices(there(), user))[0] as ActiveDevice;
    expect(await setApproval(there(), found, true)).toBe(true);
    expect(await setApproval(here(), found, true)).toBe(false);
    expect(await noteUse(here(), await current(), 5)).toBe(true);
    expect((await current()).device.approvedAt).toBeGreaterThan(0);
    announced.length = 0;
    expect(await setApproval(there(), found, false)).toBe(true);
    expect(await setApproval(here(), found, true)).toBe(true);
    expect(announced).toEqual([`device:${found.proof.id}.0`]);
    await removeDevice(here(), found);
    expect(announced).toEqual([`device:${found.proof.id}.0`, `device:${found.proof.id}.1`]);
  });

  test("a removal and an approval at once leave no approved device", async () => {
    const user = newUser();
    const found = await register(user);
    await Promise.all([removeDevice(here(), found), setApproval(there(), found, true)]);
    expect(await listDevices(here(), user)).toEqual([]);
  });

  test("a session keeps what it has proven, the newest eight, and its own end and tags", async () => {
    const { sessions } = createRecords(here().store);
    const [id, user] = [randomSecret(12), newUser()];
    const expiresAt = epochSeconds(systemClock) + 600;
    await sessions.put(id, { userId: user, createdAt: 1, idToken: "sealed" }, { expiresAt, tags: ["sessions"] });
    const proofs = Array.from({ length: 10 }, (_, index) => ({ key: `k${index}`, id: `dev_${index}` }));
    for (const proof of proofs) expect(await proveToSession(there(), id, proof)).toBe(true);
    await proveToSession(here(), id, { key: "k5", id: "dev_5" });
    const record = await sessions.get(id);
    expect(record).toMatchObject({ expiresAt, tags: ["sessions"], value: { userId: user, idToken: "sealed" } });
    expect(record?.value.devices?.map(({ key }) => key)).toEqual(["k2", "k3", "k4", "k6", "k7", "k8", "k9", "k5"]);
    const many = await Promise.all(proofs.slice(0, 4).map((proof) => proveToSession(there(), id, proof)));
    expect(many).toEqual([true, true, true, true]);
    await sessions.delete(id);
    expect(await proveToSession(here(), id, { key: "k", id: "dev" })).toBe(false);
  });

  test("a challenge is taken once", async () => {
    const of = { challenge: randomSecret(), userId: newUser(), expiresAt: epochSeconds(systemClock) + 600 };
    const taken = await Promise.all(Array.from({ length: 5 }, (_, at) => takeChallenge(at % 2 ? here() : there(), of)));
    expect(taken.filter(Boolean)).toHaveLength(1);
    const record = await createRecords(here().store).deviceAnswers.get(hashSecret(of.challenge));
    expect(record?.expiresAt).toBe(of.expiresAt + 60);
  });
}

describe("devices in memory", () => {
  contract(() => {
    const store = createMemoryStore({ clock: systemClock });
    return Promise.resolve({ stores: [store, store], close: () => store.close() });
  });
});

describe("devices in SQLite", () => {
  contract(async () => {
    const directory = mkdtempSync(join(tmpdir(), "gateform-devices-"));
    const open = () => openSqliteStore({ path: join(directory, "gateway.db"), clock: systemClock });
    const stores = [await open(), await open()] as const;
    return {
      stores,
      async close() {
        await Promise.all(stores.map((each) => each.close()));
        rmSync(directory, { recursive: true });
      },
    };
  });
});

const found = findPostgres();
if ("missing" in found) console.warn(`devices in PostgreSQL: skipped, ${found.missing}`);
describe.skipIf("missing" in found)("devices in PostgreSQL", () => {
  contract(async () => {
    if ("missing" in found) throw new Error(found.missing);
    const server = await startPostgres(found.bin);
    const open = () => openPostgresStore({ url: server.url, log: silentLog() });
    const stores = [await open(), await open()] as const;
    return {
      stores,
      async close() {
        await Promise.all(stores.map((each) => each.close()));
        await server.close();
      },
    };
  });
});
