/**
 * Proofs of devices that are none: every answer that a stolen session, a foreign page, a copied device or a lying browser
 * could send, in front of a victim that must not be reached before a device is proven.
 */
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { makeTestCertificate } from "../support/certificates.ts";
import { findForm } from "../support/browser.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { ceremonyOf, createDeviceVisitor, sendVia, type DeviceVisitor } from "../support/device-visitor.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";
import { makeSoftKey, proveWith, registerWith, type SoftKey } from "../support/soft-authenticator.ts";
import { answerOk, startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let world: SignInGateway;
let clock: TestClock;
let pages: string;
let guarded: string;
let alice: DeviceVisitor;

beforeAll(async () => {
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  victim = await startVictim((request, socket) => {
    if (request.target.endsWith("/stream"))
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: begun\n\n");
    else answerOk(request, socket);
  });
  world = await startSignInGateway({
    pagesHost: "auth.localhost",
    clock,
    yaml: `
routes:
  - name: any
    from: "{origin}"
    prefix: /any
    to: ${victim.origin}
    policy: [{ allow: { and: [{ domain: example.com }, { device: { type: any } }] } }]
  - name: enclave
    from: "{origin}"
    prefix: /enclave
    to: ${victim.origin}
    show_error_details: true
    policy: [{ allow: { and: [{ domain: example.com }, { device: { type: enclave_only } }] } }]
  - name: none-of
    from: "{origin}"
    prefix: /none-of
    to: ${victim.origin}
    policy: [{ allow: { not: [{ device: { is: dev_stolen } }] } }]
  - name: denied
    from: "{origin}"
    prefix: /denied
    to: ${victim.origin}
    policy: [{ allow: { and: [{ domain: example.com }] }, deny: { nor: [{ device: { approved: true } }] } }]
  - name: open
    from: "{origin}"
    prefix: /open
    to: ${victim.origin}
    policy: [{ allow: { and: [{ domain: example.com }] } }]
  - name: nobody
    from: "{origin}"
    prefix: /nobody
    to: ${victim.origin}
    policy: [{ allow: { and: [{ device: { type: any } }] }, deny: { or: [{ domain: example.com }] } }]
`,
  });
  pages = world.gateway.origin.replace("localhost", "auth.localhost");
  guarded = `${world.gateway.origin}/any/page`;
}, 30_000);
afterAll(async () => {
  await world?.close();
  await victim?.close();
});
beforeEach(async () => {
  alice = createDeviceVisitor(pages);
  await alice.remove();
});

/** Statuses of the guarded address for this visitor as a program would ask, without being led anywhere. */
async function statusOf(visitor: DeviceVisitor, url = guarded): Promise<number> {
  const answer = await sendVia(new URL(pages).port)({
    method: "GET",
    url,
    headers: { accept: "application/json", cookie: visitor.browser.cookieHeader("localhost") },
  });
  return answer.status;
}

/** An answer that stays open; resolves when its first event has come. */
function openStream(path: string): Promise<{ readonly ended: Promise<void>; close(): void }> {
  return new Promise((resolve, reject) => {
    const sent = get(
      {
        host: "127.0.0.1",
        port: world.gateway.port,
        path,
        headers: { host: new URL(guarded).host, cookie: alice.browser.cookieHeader("localhost") },
      },
      (answer) => {
        answer.on("error", () => {});
        const ended = new Promise<void>((done) => answer.once("close", done));
        answer.once("data", () => resolve({ ended, close: () => sent.destroy() }));
      },
    );
    sent.on("error", reject);
  });
}

/** Signed in on the host of the routes too, so that only the device is missing. */
async function signedIn(visitor: DeviceVisitor): Promise<void> {
  await visitor.open(guarded);
  expect(await statusOf(visitor)).toBe(450);
}

describe("without a proof", () => {
  test("nothing of a route that asks for a device reaches its upstream, whichever way it asks", async () => {
    const before = victim.requests.length;
    const page = await alice.open(guarded);
    expect(new URL(page.url).host).toBe(new URL(pages).host);
    for (const path of ["/any/page", "/enclave/page", "/none-of/page", "/denied/page"])
      expect([path, await statusOf(alice, world.gateway.origin + path)]).toEqual([path, 450]);
    expect(victim.requests).toHaveLength(before);
  });

  test("a rule that no device could change is answered 403, without a way round", async () => {
    await alice.open(guarded);
    expect(await statusOf(alice, `${world.gateway.origin}/nobody/`)).toBe(403);
  });

  test("the answer says what is asked for, and its record why", async () => {
    await alice.open(guarded);
    const answer = await sendVia(new URL(pages).port)({
      method: "POST",
      url: guarded,
      headers: { accept: "application/json", cookie: alice.browser.cookieHeader("localhost") },
    });
    expect([answer.status, answer.json()["error"]]).toEqual([450, "device.unauthenticated"]);
    expect(answer.text).toContain("open it in a browser to prove yours");
    expect((await world.gateway.records()).at(-1)).toMatchObject({
      allow: false,
      "allow-why-false": ["device-unauthenticated"],
    });
  });
});

describe("a removed device", () => {
  test("opens nothing any more, in no session that proved it, and cannot be proven", async () => {
    const key = makeSoftKey();
    const other = createDeviceVisitor(pages);
    await signedIn(alice);
    await signedIn(other);
    await alice.register(key, { name: "Lost laptop" });
    await other.prove(key);
    expect([await statusOf(alice), await statusOf(other)]).toEqual([200, 200]);
    const form = ceremonyOf(await other.devicePage(), "Use a registered");
    expect((await alice.remove("Lost laptop")).text).not.toContain("Lost laptop");
    expect([await statusOf(alice), await statusOf(other)]).toEqual([450, 450]);
    const ceremony = { challenge: form.options.challenge, origin: pages, rpId: new URL(pages).hostname };
    expect((await other.answer(form, proveWith(key, ceremony))).text).toContain("not registered for you");
    // Registered again it is another device: sessions that proved the one before have to prove it anew.
    await alice.register(key, { name: "Found laptop" });
    expect([await statusOf(alice), await statusOf(other)]).toEqual([200, 450]);
  });

  test("ends answers that are open where it was asked for, and no others", async () => {
    const ended: string[] = [];
    await signedIn(alice);
    await alice.register(makeSoftKey(), { name: "Streaming" });
    const streams = await Promise.all(
      ["/any/stream", "/open/stream"].map(async (path) => {
        const stream = await openStream(path);
        void stream.ended.then(() => ended.push(path));
        return stream;
      }),
    );
    await alice.remove("Streaming");
    await streams[0]?.ended;
    expect(ended).toEqual(["/any/stream"]);
    for (const stream of streams) stream.close();
  });

  test("is removed by nobody but its user, from nowhere but the page", async () => {
    await signedIn(alice);
    await alice.register(makeSoftKey(), { name: "Kept" });
    const bob = createDeviceVisitor(pages, "bob@example.com");
    await bob.register(makeSoftKey(), { name: "Bob's" });
    const formOn = async (visitor: DeviceVisitor) => {
      const page = await visitor.open(`${pages}/.gateway/`);
      return { page, form: findForm(page, "/.gateway/devices") ?? { action: "", method: "", fields: {} } };
    };
    const [mine, theirs] = [await formOn(alice), await formOn(bob)];
    const { device = "" } = mine.form.fields;
    // Bob's token with Alice's device, and Alice's form with Bob's session.
    await bob.browser.submit(theirs.page, theirs.form, { device });
    expect((await bob.browser.submit(theirs.page, mine.form, {})).status).toBe(403);
    expect((await alice.browser.submit(mine.page, mine.form, { csrf: "" })).status).toBe(403);
    for (const headers of [{ origin: "https://evil.example" }, {}]) {
      const { status } = await sendVia(new URL(pages).port)({
        method: "POST",
        url: `${pages}/.gateway/devices`,
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          cookie: alice.browser.cookieHeader("auth.localhost"),
          ...headers,
        },
        body: new URLSearchParams(mine.form.fields).toString(),
      });
      expect(status).toBe(403);
    }
    expect(await statusOf(alice)).toBe(200);
    await bob.remove();
  });
});

describe("a registration", () => {
  test("is taken from the right page, and is a proof for its session", async () => {
    await signedIn(alice);
    const page = await alice.register(makeSoftKey(), { name: "Laptop" });
    expect(page.url).toContain(`${pages}/.gateway/device-enrolled?device=dev_`);
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
    expect(page.text).toContain("The device was not taken");
    expect(await statusOf(alice)).toBe(450);
  });

  test("of a key that may be copied, or that asks nobody, is another device, and does not open what wants this one", async () => {
    await signedIn(alice);
    const how = { as: "another", isSynced: true, userVerified: false } as const;
    expect((await alice.register(makeSoftKey(), how)).status).toBe(200);
    expect(await statusOf(alice)).toBe(200);
    const refused = await alice.open(`${world.gateway.origin}/enclave/`);
    expect([refused.status, refused.url]).toEqual([450, `${world.gateway.origin}/enclave/`]);
    expect(refused.text).toMatch(/dev_\w[\s\S]*device-unauthorized/);
  });

  test("of a credential that somebody has registered is refused, whoever they are", async () => {
    const key = makeSoftKey();
    await alice.register(key);
    const bob = createDeviceVisitor(pages, "bob@example.com");
    await signedIn(bob);
    const copy = makeSoftKey(key.credentialId);
    expect((await bob.register(copy)).text).toContain("registered already");
    expect(await statusOf(bob)).toBe(450);
  });

  test("with an attestation is refused before anybody asks the addresses in it", async () => {
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
    const put = await sendVia(new URL(pages).port)({ method: "PUT", url: `${pages}/.gateway/webauthn` });
    expect(put.status).toBe(405);
  });
});

describe("a proof", () => {
  let key: SoftKey;
  /** Another session of the same person, without a proof. */
  let other: DeviceVisitor;
  beforeEach(async () => {
    key = makeSoftKey();
    await alice.register(key);
    other = createDeviceVisitor(pages);
    await signedIn(other);
  });

  test("opens the address that asked, on its host, for the session alone that gave it", async () => {
    const page = await other.open(`${guarded}?x=1`);
    const back = await other.prove(key, { page });
    expect([back.url, back.text]).toEqual([`${guarded}?x=1`, "ok"]);
    const third = createDeviceVisitor(pages);
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

  test("by somebody else's device is refused, and does not tell whether there is such a device", async () => {
    const bob = createDeviceVisitor(pages, "bob@example.com");
    await signedIn(bob);
    await bob.register(makeSoftKey());
    const fresh = createDeviceVisitor(pages, "bob@example.com");
    await signedIn(fresh);
    const theirs = await fresh.prove(key);
    const nobodys = await fresh.prove(makeSoftKey());
    const told = (text: string): string => text.replace(/request ID <code>\w+/, "");
    expect([theirs.status, told(theirs.text)]).toEqual([nobodys.status, told(nobodys.text)]);
    expect(theirs.text).toContain("not registered for you");
    expect(await statusOf(fresh)).toBe(450);
  });

  test("of a copied device is refused from the moment that both count", async () => {
    const copy: SoftKey = { ...key };
    await other.prove(key);
    await other.prove(key);
    const thief = createDeviceVisitor(pages);
    await signedIn(thief);
    const page = await thief.prove(copy);
    expect([page.status, page.text.includes("may have been copied")]).toEqual([400, true]);
    expect(await statusOf(thief)).toBe(450);
    expect((await thief.prove(key, { counter: 0 })).status).toBe(400);
    expect((await thief.prove(key)).status).toBe(200);
  });

  test("is good once: the same answer again is refused, in the same session and in another", async () => {
    const form = ceremonyOf(await other.devicePage(), "Use a registered");
    const ceremony = { challenge: form.options.challenge, origin: pages, rpId: new URL(pages).hostname };
    const given = proveWith(key, ceremony, { counter: 0 });
    const uncounted = makeSoftKey();
    const third = createDeviceVisitor(pages);
    await signedIn(third);
    await third.register(uncounted);
    expect((await alice.answer(form, given)).status).toBe(403);
    // A device that does not count shows that it is the challenge that is spent.
    const next = ceremonyOf(await other.devicePage(), "Use a registered");
    const free = proveWith(uncounted, { ...ceremony, challenge: next.options.challenge }, { counter: 0 });
    expect((await other.answer(next, free)).status).toBe(200);
    const again = await other.answer(next, free);
    expect([again.status, again.text.includes("was done already")]).toEqual([400, true]);
  });

  test("many times at once counts once", async () => {
    const uncounted = makeSoftKey();
    await alice.register(uncounted);
    const form = ceremonyOf(await other.devicePage(), "Use a registered");
    const ceremony = { challenge: form.options.challenge, origin: pages, rpId: new URL(pages).hostname };
    const given = proveWith(uncounted, ceremony, { counter: 0 });
    const answers = await Promise.all(Array.from({ length: 6 }, () => other.answer(form, given)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400, 400, 400]);
  });

  test("with the challenge of another session, or of a registration, is refused", async () => {
    const theirs = ceremonyOf(await alice.devicePage(), "Use a registered");
    const mine = ceremonyOf(await other.devicePage(), "Use a registered");
    const registration = ceremonyOf(await other.devicePage(), "Register this");
    for (const { fields, options } of [theirs, registration]) {
      const ceremony = { challenge: options.challenge, origin: pages, rpId: new URL(pages).hostname };
      const page = await other.answer(mine, proveWith(key, ceremony), { ticket: fields["ticket"] ?? "" });
      expect(page.status).toBe(400);
    }
    expect(await statusOf(other)).toBe(450);
  });

  test("with a sealed part that was changed, left out or swapped is refused", async () => {
    const form = ceremonyOf(await other.open(guarded), "Use a registered");
    const ceremony = { challenge: form.options.challenge, origin: pages, rpId: new URL(pages).hostname };
    const { ticket = "", request = "" } = form.fields;
    const changed = ticket.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    for (const bad of ["", changed, `${ticket}=`, request, ticket.slice(8)])
      expect((await other.answer(form, proveWith(key, ceremony), { ticket: bad })).status).toBe(400);
    expect((await other.answer(form, proveWith(key, ceremony), { csrf: "" })).status).toBe(403);
    expect(await statusOf(other)).toBe(450);
    // The way back alone is no right: without it the proof stands, and ends at home.
    const home = await other.answer(form, proveWith(key, ceremony), { request: changed });
    expect(home.url).toBe(`${pages}/.gateway/`);
    expect((await other.open(`${pages}/.gateway/webauthn?request=${changed}`)).status).toBe(400);
  });

  test("that took too long is refused", async () => {
    const form = ceremonyOf(await other.devicePage(), "Use a registered");
    const ceremony = { challenge: form.options.challenge, origin: pages, rpId: new URL(pages).hostname };
    const asked = await other.open(guarded);
    clock.advance(601_000);
    const page = await other.answer(form, proveWith(key, ceremony));
    expect([page.status, page.text.includes("took too long")]).toEqual([400, true]);
    expect((await other.browser.open(asked.url)).status).toBe(400);
  });

  test("sent by another site's page is refused", async () => {
    const form = ceremonyOf(await other.devicePage(), "Use a registered");
    const ceremony = { challenge: form.options.challenge, origin: pages, rpId: new URL(pages).hostname };
    const answer = JSON.stringify(proveWith(key, ceremony));
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: world.gateway.origin },
      { origin: "null" },
      {},
    ]) {
      const { status } = await sendVia(new URL(pages).port)({
        method: "POST",
        url: `${pages}/.gateway/webauthn`,
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          cookie: other.browser.cookieHeader("auth.localhost"),
          ...headers,
        },
        body: new URLSearchParams({ ...form.fields, answer }).toString(),
      });
      expect(status).toBe(403);
    }
    expect(await statusOf(other)).toBe(450);
  });
});

test("no answer, ticket or key stands in the log", async () => {
  await signedIn(alice);
  const key = makeSoftKey();
  const form = ceremonyOf(await alice.devicePage(), "Register this");
  const ceremony = { challenge: form.options.challenge, origin: pages, rpId: new URL(pages).hostname };
  await alice.answer(form, registerWith(key, { ...ceremony, origin: "https://evil.example\n{}" }));
  const text = world.gateway.log() + (await world.gateway.recordText());
  expect(text).toContain("a device was refused");
  expect(text).not.toContain(form.fields["ticket"]);
  expect(text).not.toContain(key.credentialId.toString("base64url"));
});
