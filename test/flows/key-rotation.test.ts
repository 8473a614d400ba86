/**
 * The shared secret is rotated on two serving replicas, over both stores: users notice nothing, attackers get no
 * access, and the audit stays verifiable.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";

import { printKeys, rotateKeys } from "../../runtime/tools/commands/keys.ts";
import type { KeyState } from "../../runtime/tools/keys/state.ts";
import { TEST_SHARED_SECRET } from "../support/config.ts";
import { findPostgres, startPostgres } from "../support/postgres.ts";
import { type Person, type ReplicaWorld, startReplicaWorld } from "../support/replica-world.ts";
import { rotateSecret } from "../support/rotate-secret.ts";
import { runCommand } from "../support/run-command.ts";
import { LONG_MS } from "../support/limits.ts";

afterEach(() => void vi.restoreAllMocks());

/** Output of a command, and its exit code. */
async function said(command: () => Promise<number>): Promise<{ readonly code: number; readonly text: string }> {
  const lines: string[] = [];
  const spy = vi.spyOn(console, "log").mockImplementation((text: unknown) => void lines.push(String(text)));
  try {
    return { code: await command(), text: lines.join("\n") };
  } finally {
    spy.mockRestore();
  }
}

/** Each replica's newest assertion is good by the keys that each replica publishes. */
async function assertionsAreGood(world: ReplicaWorld, person: Person): Promise<void> {
  for (const signer of world.replicas) {
    expect((await world.ask(person, world.sendTo(signer))).call).toBe(200);
    const assertion = String(world.service.mcpRequests.at(-1)?.["x-gateway-assertion"]);
    for (const publisher of world.replicas) {
      const url = `${new URL(world.resource).origin}/.well-known/gateway/jwks.json`;
      const published = await world.sendTo(publisher)({ method: "GET", url });
      const keys = createLocalJWKSet(published.json() as unknown as JSONWebKeySet);
      expect((await jwtVerify(assertion, keys)).payload).toMatchObject({ email: person.email });
    }
  }
}

interface Rotated {
  readonly world: ReplicaWorld;
  readonly alice: Person;
  /** Signed in before, and has done nothing since. */
  readonly idle: Person;
  readonly before: KeyState;
}

async function rotated(storageUrl: string | undefined): Promise<Rotated> {
  const world = await startReplicaWorld(storageUrl, onTestFinished);
  const { directory: config } = world;
  world.configure({ audit: true });
  await world.start();
  await world.start();
  const newFile = join(config, "new-secret");
  const rotate = (more: { readonly new?: string } = {}) => said(() => rotateKeys({ config, ...more }));
  const listed = async (): Promise<KeyState> =>
    JSON.parse((await said(() => printKeys({ config, json: true }))).text) as KeyState;

  const alice = await world.signIn("alice@example.com");
  const idle = await world.signIn("carol@example.com");
  await world.goesOn(alice);
  const before = await listed();
  expect(before).toMatchObject({ secrets: [{ role: "current", had: before.processes }], silent: [] });
  expect([before.processes.length, before.secrets.length]).toEqual([2, 1]);
  const begun = await rotate({ new: newFile });
  expect(begun).toEqual({ code: 0, text: expect.stringContaining("Step 1 of 3") });
  await expect(rotateKeys({ config, new: newFile })).rejects.toThrow("Cannot write");
  const secret = readFileSync(newFile, "utf8").trim();
  rmSync(newFile);

  const says = {
    1: ["1 of 2 processes do not know", "Step 2 of 3"],
    2: ["1 of 2 processes do not use", "is still needed by:"],
  };
  const restart = (index: number) => ({ directory: config, restart: () => world.restart(index) });
  await rotateSecret([restart(0), restart(1)], {
    secret,
    async restarted(step, index) {
      expect(await rotate()).toEqual({
        code: step === 1 && index === 1 ? 0 : 3,
        text: expect.stringContaining(says[step][index] ?? ""),
      });
      await world.goesOn(alice);
      await assertionsAreGood(world, alice);
      // Begun at one replica and ended at the other, which have not the same secrets.
      if (index === 0) await world.goesOn(await world.signIn("bob@example.com"));
    },
  });
  const after = await listed();
  const [old] = before.secrets;
  expect(after.secrets.map(({ id, role }) => [id === old?.id, role])).toEqual([
    [false, "current"],
    [true, "previous"],
  ]);
  const needs = after.secrets[1]?.needs ?? [];
  expect(needs.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["session", "grant", "vault", "identity"]));
  await world.goesOn(idle);
  // Neither secret is anywhere except in its file.
  for (const text of [begun.text, JSON.stringify(after), ...world.replicas.map((each) => each.log())]) {
    expect(text).not.toContain(TEST_SHARED_SECRET);
    expect(text).not.toContain(secret);
  }
  return { world, alice, idle, before };
}

/** All records, with the key that `before` names for the older ones. */
async function auditIsWhole(world: ReplicaWorld, before: KeyState): Promise<void> {
  await Promise.all(world.replicas.splice(0).map((each) => each.close()));
  const oldKey = before.publicKeys.find(({ use }) => use === "audit")?.id ?? "";
  const verify = ["audit", "verify", world.authorizeLog, "--config", world.directory];
  const verified = await runCommand(...verify, "--key", oldKey);
  expect([verified.code, verified.out]).toEqual([0, expect.any(String)]);
}

test(
  "SQLite: sessions, refresh tokens, upstream tokens and the audit survive a rotation on two replicas",
  async () => {
    const { world, alice, idle, before } = await rotated(undefined);
    // Finally removed: newer records do not need it.
    const { shared_secret: current } = world.configured();
    world.configure({ audit: true, shared_secret: current });
    await world.replicas.pop()?.close();
    await world.restart(0);
    await idle.client.refresh();
    // Older credentials are invalid now, as the command had announced.
    expect((await world.ask(alice)).isSignedIn).toBe(false);
    await auditIsWhole(world, before);
    const alone = await runCommand("audit", "verify", world.authorizeLog, "--config", world.directory);
    expect(alone.code).not.toBe(0);
  },
  LONG_MS,
);

const found = findPostgres();
describe.skipIf("missing" in found)("PostgreSQL", () => {
  test(
    "likewise; a replica that missed steps works with the others, one with only the old file rejects all users and revokes nothing",
    async () => {
      if ("missing" in found) return;
      const server = await startPostgres(found.bin);
      const { world, alice, idle, before } = await rotated(server.url);
      onTestFinished(() => server.close());

      // Stopped before a rotation, and back after it.
      await world.replicas.pop()?.close();
      const stale = world.configured();
      await rotateSecret([{ directory: world.directory, restart: () => world.restart(0) }]);
      const bob = await world.signIn("bob@example.com");
      await world.start();
      for (const person of [alice, idle, bob]) await world.goesOn(person);
      await assertionsAreGood(world, bob);

      // It never heard of the newest secret, by which all that bob has was made.
      const fresh = world.configured();
      world.configure(stale);
      const behind = await world.start();
      world.configure(fresh);
      const by = world.sendTo(behind);
      world.replicas.pop();
      onTestFinished(() => behind.close());
      expect(await world.ask(bob, by)).toEqual({ call: 401, isSignedIn: false });
      expect((await world.refreshAt(bob, by)).json()).toMatchObject({ error: "invalid_grant" });
      // The earlier version knows the session but not the newer seals, and changes none of them.
      await world.ask(alice, by);
      for (const person of [alice, idle, bob]) await world.goesOn(person);
      expect(behind.log()).toContain("shared secret of another process missing here");
      await behind.close();
      await auditIsWhole(world, before);
    },
    LONG_MS,
  );
});
