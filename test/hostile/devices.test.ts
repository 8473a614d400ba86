/**
 * Devices that were never registered, were removed, or are not as claimed, in front of a victim that must not be
 * reached without a proof. Invalid proofs are in device-proofs.test.ts.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { findForm } from "../support/browser.ts";
import { makeTestCertificate } from "../support/certificates.ts";
import { ceremonyOf, createDeviceVisitor, sendVia, type DeviceVisitor } from "../support/device-visitor.ts";
import { startDeviceWorld, type DeviceWorld } from "../support/device-world.ts";
import { makeSoftKey, proveWith, registerWith } from "../support/soft-authenticator.ts";

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

describe("without a proof", () => {
  test("no request to a route that requires a device reaches its upstream, whatever the rule", async () => {
    const before = world.victim.requests.length;
    const page = await alice.open(world.guarded);
    expect(new URL(page.url).host).toBe(new URL(world.pages).host);
    for (const path of ["/any/page", "/enclave/page", "/none-of/page", "/denied/page"])
      expect([path, await statusOf(alice, world.gateway.origin + path)]).toEqual([path, 450]);
    expect(world.victim.requests).toHaveLength(before);
  });

  test("a rule that no device could change is answered 403, without a way round", async () => {
    await alice.open(world.guarded);
    expect(await statusOf(alice, `${world.gateway.origin}/nobody/`)).toBe(403);
  });

  test("the response names the requirement, and its record the reason", async () => {
    await alice.open(world.guarded);
    const answer = await sendVia(String(world.gateway.port))({
      method: "POST",
      url: world.guarded,
      headers: { accept: "application/json", cookie: alice.browser.cookieHeader("localhost") },
    });
    expect([answer.status, answer.json()["error"]]).toEqual([450, "device.unauthenticated"]);
    expect(answer.text).toContain("Open it in a browser to verify yours");
    expect((await world.gateway.records()).at(-1)).toMatchObject({
      allow: false,
      "allow-why-false": ["device-unauthenticated"],
    });
  });
});

describe("a removed device", () => {
  test("grants no access in any session that proved it, and cannot be proven", async () => {
    const key = makeSoftKey();
    const other = createDeviceVisitor(world.pages);
    await signedIn(alice);
    await signedIn(other);
    await alice.register(key, { name: "Lost laptop" });
    await other.prove(key);
    expect([await statusOf(alice), await statusOf(other)]).toEqual([200, 200]);
    const form = ceremonyOf(await other.devicePage(), "Use a registered");
    expect((await alice.remove("Lost laptop")).text).not.toContain("Lost laptop");
    expect([await statusOf(alice), await statusOf(other)]).toEqual([450, 450]);
    const ceremony = { ...world.party, challenge: form.options.challenge };
    expect((await other.answer(form, proveWith(key, ceremony))).text).toContain("not registered this device here");
    // Registered again it is another device: sessions that verified the previous one must verify again.
    await alice.register(key, { name: "Found laptop" });
    expect([await statusOf(alice), await statusOf(other)]).toEqual([200, 450]);
  });

  test("ends open responses of routes that require it, and no others", async () => {
    const ended: string[] = [];
    await signedIn(alice);
    await alice.register(makeSoftKey(), { name: "Streaming" });
    const streams = await Promise.all(
      ["/any/stream", "/open/stream"].map(async (path) => {
        const stream = await world.openStream(alice, path);
        void stream.ended.then(() => ended.push(path));
        return stream;
      }),
    );
    await alice.remove("Streaming");
    await streams[0]?.ended;
    expect(ended).toEqual(["/any/stream"]);
    for (const stream of streams) stream.close();
  });

  test("is removed only by its user, and only from the page", async () => {
    await signedIn(alice);
    await alice.register(makeSoftKey(), { name: "Kept" });
    const bob = createDeviceVisitor(world.pages, "bob@example.com");
    await bob.register(makeSoftKey(), { name: "Bob's" });
    const formOn = async (visitor: DeviceVisitor) => {
      const page = await visitor.open(`${world.pages}/.gateway/`);
      const [, device = ""] = page.text.match(/(<form(?:(?!<\/form>).)*name="kind" value="device".*?<\/form>)/s) ?? [];
      const form = findForm({ ...page, text: device }, "/.gateway/own");
      return { page, form: form ?? { action: "", method: "", fields: {} } };
    };
    const [mine, theirs] = [await formOn(alice), await formOn(bob)];
    const { id = "" } = mine.form.fields;
    // Bob's token with Alice's device, and Alice's form with Bob's session.
    await bob.browser.submit(theirs.page, theirs.form, { id });
    expect((await bob.browser.submit(theirs.page, mine.form, {})).status).toBe(403);
    expect((await alice.browser.submit(mine.page, mine.form, { csrf: "" })).status).toBe(403);
    for (const headers of [{ origin: "https://evil.example" }, {}]) {
      const status = await world.postForm(alice, "/.gateway/own", mine.form.fields, headers);
      expect(status).toBe(403);
    }
    expect(await statusOf(alice)).toBe(200);
    await bob.remove();
  });
});

describe("a registration", () => {
  test("is accepted from the right page, and is a proof for its session", async () => {
    await signedIn(alice);
    const page = await alice.register(makeSoftKey(), { name: "Laptop" });
    expect(page.url).toContain(`${world.pages}/.gateway/device-enrolled?device=dev_`);
    expect(page.text).toContain("Laptop");
    expect(await statusOf(alice)).toBe(200);
  });

  test.each<readonly [string, Parameters<DeviceVisitor["register"]>[1]]>([
    ["for another origin", { ceremony: { origin: "https://evil.example" } }],
    ["for the host of a route", { ceremony: { origin: "http://localhost:1" } }],
    ["for another RP ID", { ceremony: { rpId: "localhost" } }],
    ["of another challenge", { ceremony: { challenge: Buffer.alloc(32).toString("base64url") } }],
    ["that is a proof by its type", { type: "webauthn.get" }],
    ["from a frame of another site", { crossOrigin: true }],
    ["without a person", { userPresent: false }],
    ["of this device that did not ask its person", { userVerified: false }],
    ["of this device by a security key", { attachment: "cross-platform" }],
    ["of this device by a key that may be copied", { isSynced: true }],
    ["under another credential id than signed", { id: Buffer.alloc(16, 1).toString("base64url") }],
  ])("%s is refused", async (_, how) => {
    await signedIn(alice);
    const page = await alice.register(makeSoftKey(), how);
    expect(page.status).toBe(400);
    expect(page.text).toContain("The device was not accepted");
    expect(await statusOf(alice)).toBe(450);
  });

  test("of a key that may be copied or has no user verification does not count as a built-in device", async () => {
    await signedIn(alice);
    const how = { as: "another", isSynced: true, userVerified: false } as const;
    expect((await alice.register(makeSoftKey(), how)).status).toBe(200);
    expect(await statusOf(alice)).toBe(200);
    const refused = await alice.open(`${world.gateway.origin}/enclave/`);
    expect([refused.status, refused.url]).toEqual([450, `${world.gateway.origin}/enclave/`]);
    expect(refused.text).toMatch(/dev_[\w-]+<[\s\S]*device-unauthorized/);
  });

  test("of an already registered credential is rejected, whichever user has it", async () => {
    const key = makeSoftKey();
    await alice.register(key);
    const bob = createDeviceVisitor(world.pages, "bob@example.com");
    await signedIn(bob);
    const copy = makeSoftKey(key.credentialId);
    expect((await bob.register(copy)).text).toContain("already registered");
    expect(await statusOf(bob)).toBe(450);
  });

  test("with an attestation is rejected before any URL in it is requested", async () => {
    await signedIn(alice);
    let asked = 0;
    const lists = createServer((_request, response) => {
      asked += 1;
      response.end();
    });
    await new Promise<void>((resolve) => lists.listen(0, "127.0.0.1", resolve));
    const { port } = lists.address() as AddressInfo;
    const { cert } = makeTestCertificate({ name: "Authenticator" });
    const der = Buffer.from(cert.replace(/-----[^-]+-----|\s/g, ""), "base64");
    for (const fmt of ["packed", "tpm", "apple", "android-key", "android-safetynet", "fido-u2f", "other"]) {
      const statement = new Map<string, unknown>([
        ["alg", -7],
        ["sig", new Uint8Array(70)],
        ["x5c", [new Uint8Array(der)]],
        ["ver", `http://127.0.0.1:${port}/`],
      ]);
      const page = await alice.register(makeSoftKey(), { attestation: { fmt, statement: () => statement } });
      expect([fmt, page.status]).toEqual([fmt, 400]);
    }
    expect(world.gateway.log()).toContain("which was not asked for");
    expect(asked).toBe(0);
    await new Promise((resolve) => lists.close(resolve));
  });

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a text", "x"],
    ["a list", []],
    ["an object", {}],
    ["an answer without its parts", { id: "AAAA", rawId: "AAAA", type: "public-key", response: {} }],
    [
      "an answer of numbers",
      { id: "AAAA", rawId: "AAAA", type: "public-key", response: { clientDataJSON: 1, attestationObject: 2 } },
    ],
    [
      "an answer whose parts are no CBOR",
      {
        id: "AAAA",
        rawId: "AAAA",
        type: "public-key",
        response: { clientDataJSON: "e30", attestationObject: "_____w" },
      },
    ],
  ])("of %s is refused", async (_, given) => {
    await signedIn(alice);
    for (const button of ["Register this", "Register another"]) {
      const form = ceremonyOf(await alice.devicePage(), button);
      expect((await alice.answer(form, given)).status).toBe(400);
    }
    expect(await statusOf(alice)).toBe(450);
  });

  test("too large, or by another method, does nothing", async () => {
    const form = ceremonyOf(await alice.devicePage(), "Register this");
    expect((await alice.answer(form, "x".repeat(40_000))).status).toBe(403);
    const put = await sendVia(String(world.gateway.port))({ method: "PUT", url: `${world.pages}/.gateway/webauthn` });
    expect(put.status).toBe(405);
  });
});

test("no response, ticket or key is in the log", async () => {
  await signedIn(alice);
  const key = makeSoftKey();
  const form = ceremonyOf(await alice.devicePage(), "Register this");
  const ceremony = { ...world.party, challenge: form.options.challenge };
  await alice.answer(form, registerWith(key, { ...ceremony, origin: "https://evil.example\n{}" }));
  const text = world.gateway.log() + (await world.gateway.recordText());
  expect(text).toContain("device rejected");
  expect(text).not.toContain(form.fields["ticket"]);
  expect(text).not.toContain(key.credentialId.toString("base64url"));
});
