/** Invalid device proofs: of a stolen session, a foreign page, a copied device or a lying browser. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { ceremonyOf, createDeviceVisitor, type DeviceVisitor } from "../support/device-visitor.ts";
import { startDeviceWorld, type DeviceWorld } from "../support/device-world.ts";
import { makeSoftKey, proveWith, type SoftKey } from "../support/soft-authenticator.ts";

let world: DeviceWorld;
let alice: DeviceVisitor;
const signedIn = (visitor: DeviceVisitor): Promise<void> => world.signIn(visitor);
const statusOf = (visitor: DeviceVisitor, url?: string): Promise<number> => world.statusOf(visitor, url);

beforeAll(async () => {
  world = await startDeviceWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  alice = createDeviceVisitor(world.pages);
  await alice.remove();
});

describe("a proof", () => {
  let key: SoftKey;
  /** Another session of the same person, without a proof. */
  let other: DeviceVisitor;
  beforeEach(async () => {
    key = makeSoftKey();
    await alice.register(key);
    other = createDeviceVisitor(world.pages);
    await signedIn(other);
  });

  test("opens the requested page, on its host, for its own session only", async () => {
    const page = await other.open(`${world.guarded}?x=1`);
    const back = await other.prove(key, { page });
    expect([back.url, back.text]).toEqual([`${world.guarded}?x=1`, "ok"]);
    const third = createDeviceVisitor(world.pages);
    await signedIn(third);
  });

  test.each<readonly [string, Parameters<DeviceVisitor["prove"]>[1]]>([
    ["for another origin", { ceremony: { origin: "https://evil.example" } }],
    ["for another RP ID", { ceremony: { rpId: "evil.example" } }],
    ["of another challenge", { ceremony: { challenge: Buffer.alloc(32).toString("base64url") } }],
    ["that is a registration by its type", { type: "webauthn.create" }],
    ["from a frame of another site", { crossOrigin: true }],
    ["without a person", { userPresent: false }],
    ["that did not ask its person", { userVerified: false }],
    ["by a key that may be copied now", { isSynced: true }],
    ["with a signature of nothing", { signature: Buffer.alloc(70) }],
    ["with no signature", { signature: Buffer.alloc(0) }],
  ])("%s is refused", async (_, how) => {
    expect((await other.prove(key, how)).status).toBe(400);
    expect(await statusOf(other)).toBe(450);
  });

  test("by another key under the device's id is refused", async () => {
    const impostor = makeSoftKey(key.credentialId);
    expect((await other.prove(impostor)).status).toBe(400);
    expect(await statusOf(other)).toBe(450);
  });

  test("by another user's device is rejected, without revealing whether it exists", async () => {
    const bob = createDeviceVisitor(world.pages, "bob@example.com");
    await signedIn(bob);
    await bob.register(makeSoftKey());
    const fresh = createDeviceVisitor(world.pages, "bob@example.com");
    await signedIn(fresh);
    const theirs = await fresh.prove(key);
    const nobodys = await fresh.prove(makeSoftKey());
    const withoutId = (text: string): string => text.replace(/<code>[0-9a-f]{32}</, "");
    expect([theirs.status, withoutId(theirs.text)]).toEqual([nobodys.status, withoutId(nobodys.text)]);
    expect(theirs.text).toContain("not registered this device here");
    expect(await statusOf(fresh)).toBe(450);
  });

  test("of a copied device is refused from the moment that both count", async () => {
    const copy: SoftKey = { ...key };
    await other.prove(key);
    await other.prove(key);
    const thief = createDeviceVisitor(world.pages);
    await signedIn(thief);
    const page = await thief.prove(copy);
    expect([page.status, page.text.includes("may have been copied")]).toEqual([400, true]);
    expect(await statusOf(thief)).toBe(450);
    expect((await thief.prove(key, { counter: 0 })).status).toBe(400);
    expect((await thief.prove(key)).status).toBe(200);
  });

  test("is good once: the same answer again is refused, in the same session and in another", async () => {
    const form = ceremonyOf(await other.devicePage(), "Use a registered");
    const ceremony = { ...world.party, challenge: form.options.challenge };
    const given = proveWith(key, ceremony, { counter: 0 });
    const uncounted = makeSoftKey();
    const third = createDeviceVisitor(world.pages);
    await signedIn(third);
    await third.register(uncounted);
    expect((await alice.answer(form, given)).status).toBe(403);
    // A device that does not count shows that it is the challenge that is spent.
    const next = ceremonyOf(await other.devicePage(), "Use a registered");
    const free = proveWith(uncounted, { ...ceremony, challenge: next.options.challenge }, { counter: 0 });
    expect((await other.answer(next, free)).status).toBe(200);
    const again = await other.answer(next, free);
    expect([again.status, again.text.includes("was already done")]).toEqual([400, true]);
  });

  test("many concurrent times counts once", async () => {
    const uncounted = makeSoftKey();
    await alice.register(uncounted);
    const form = ceremonyOf(await other.devicePage(), "Use a registered");
    const ceremony = { ...world.party, challenge: form.options.challenge };
    const given = proveWith(uncounted, ceremony, { counter: 0 });
    const answers = await Promise.all(Array.from({ length: 6 }, () => other.answer(form, given)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400, 400, 400]);
  });

  test("with the challenge of another session, or of a registration, is refused", async () => {
    const theirs = ceremonyOf(await alice.devicePage(), "Use a registered");
    const mine = ceremonyOf(await other.devicePage(), "Use a registered");
    const registration = ceremonyOf(await other.devicePage(), "Register this");
    for (const { fields, options } of [theirs, registration]) {
      const ceremony = { ...world.party, challenge: options.challenge };
      const page = await other.answer(mine, proveWith(key, ceremony), { ticket: fields["ticket"] ?? "" });
      expect(page.status).toBe(400);
    }
    expect(await statusOf(other)).toBe(450);
  });

  test("with a changed, missing or swapped sealed part is rejected", async () => {
    const form = ceremonyOf(await other.open(world.guarded), "Use a registered");
    const ceremony = { ...world.party, challenge: form.options.challenge };
    const { ticket = "", request = "" } = form.fields;
    const changed = ticket.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    for (const bad of ["", changed, `${ticket}=`, request, ticket.slice(8)])
      expect((await other.answer(form, proveWith(key, ceremony), { ticket: bad })).status).toBe(400);
    expect((await other.answer(form, proveWith(key, ceremony), { csrf: "" })).status).toBe(403);
    expect(await statusOf(other)).toBe(450);
    // The return ticket grants nothing: without it the proof is valid, and ends on the home page.
    const home = await other.answer(form, proveWith(key, ceremony), { request: changed });
    expect(home.url).toBe(`${world.pages}/.gateway/`);
    expect((await other.open(`${world.pages}/.gateway/webauthn?request=${changed}`)).status).toBe(400);
  });

  test("that took too long is refused", async () => {
    const form = ceremonyOf(await other.devicePage(), "Use a registered");
    const ceremony = { ...world.party, challenge: form.options.challenge };
    const asked = await other.open(world.guarded);
    world.clock.advance(601_000);
    const page = await other.answer(form, proveWith(key, ceremony));
    expect([page.status, page.text.includes("took too long")]).toEqual([400, true]);
    expect((await other.browser.open(asked.url)).status).toBe(400);
  });

  test("sent by another site's page is refused", async () => {
    const form = ceremonyOf(await other.devicePage(), "Use a registered");
    const ceremony = { ...world.party, challenge: form.options.challenge };
    const answer = JSON.stringify(proveWith(key, ceremony));
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: world.gateway.origin },
      { origin: "null" },
      {},
    ]) {
      const status = await world.postForm(other, "/.gateway/webauthn", { ...form.fields, answer }, headers);
      expect(status).toBe(403);
    }
    expect(await statusOf(other)).toBe(450);
  });
});
