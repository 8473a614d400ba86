/**
 * Owners' certificates for their hosts: selected by the client's server name, renewed while connections are open, and
 * never for another owner's host.
 */
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { Agent, request } from "node:https";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, type TLSSocket } from "node:tls";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { sealSecret } from "../../runtime/terraform/resource/seal.ts";
import { type AdminAnswer, type AdminClient, createAdminClient } from "../support/admin-client.ts";
import {
  type CertificateFolder,
  largeRsaKey,
  makeTestCertificate,
  openCertificateFolder,
  type TestCertificate,
} from "../support/certificates.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";

const OWNERS = ["shop", "blog", "evil"] as const;
type Owner = (typeof OWNERS)[number];

const label = (kind: string, text: string): string => `-----BEGIN ${kind}-----\n${text}\n-----END ${kind}-----\n`;
const GOOD = makeTestCertificate({ name: "evil.example", dns: ["evil.example"] }).cert;

let folder: CertificateFolder;
let authority: TestCertificate;
let gateway: TestGateway;
let admin: AdminClient;
let upstream: Server;
let sealKey = "";
/** Answers that take as long as a test wants. */
const waiting: ServerResponse[] = [];

beforeAll(async () => {
  folder = await openCertificateFolder();
  authority = makeTestCertificate({ name: "authority", isAuthority: true });
  const files = ["fallback.example", "*.boot.example", "pinned.boot.example"].map((name) =>
    folder.write(name.replace("*", "any"), makeTestCertificate({ name, dns: [name], by: authority })),
  );
  upstream = createServer((incoming, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: begun\n\n");
    if (incoming.url === "/stream") waiting.push(response);
    else response.end("data: done\n\n");
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const rights = { allowed_from: ["*.example"], allow_local_upstreams: true };
  gateway = await startGateway({
    yaml: "authenticate_service_url: https://auth.wild.example\nroutes: []\n",
    boot: {
      insecure_server: false,
      development: false,
      certificates: (await Promise.all(files)).map(({ certificateFile, keyFile }) => ({
        certificate_file: certificateFile,
        certificate_key_file: keyFile,
      })),
      owners: Object.fromEntries(OWNERS.map((owner) => [owner, rights])),
    },
  });
  admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
  sealKey = JSON.stringify((await admin.get("/status")).body["seal_key"]);
});
afterEach(async () => {
  for (const response of waiting.splice(0)) response.end();
  for (const owner of OWNERS) await admin.remove(owner);
});
afterAll(async () => {
  await gateway.close();
  upstream.closeAllConnections();
  upstream.close();
  await folder.close();
});

interface Brought {
  readonly certificate: string;
  readonly [spelling: string]: string;
}

const made = (name: string, ...dns: readonly string[]): TestCertificate =>
  makeTestCertificate({ name, dns: dns.length === 0 ? [name] : dns, by: authority });

/** As in the slice of its owner. */
async function brought(owner: string, { cert, key }: Pick<TestCertificate, "cert" | "key">): Promise<Brought> {
  return { certificate: cert, certificate_key_sealed: await sealSecret(sealKey, key, owner) };
}

/** @param hosts of public routes @param certificates host → certificate */
async function publish(
  owner: Owner,
  hosts: readonly string[],
  certificates: Readonly<Record<string, object>>,
  more: object = {},
): Promise<AdminAnswer> {
  const to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const routes = hosts.map((host) => [
    host.replace("*", "any"),
    { from: `https://${host}`, to, allow_public_unauthenticated_access: true, ...more },
  ]);
  const settings = { host_certificates: certificates };
  const slice = { version: 1, owner, settings, routes: Object.fromEntries(routes) as object };
  const { status } = await admin.get(`/config/slices/${owner}`);
  return admin.publish(owner, JSON.stringify(slice), status === 200 ? "*" : undefined);
}

async function published(...of: Parameters<typeof publish>): Promise<void> {
  const { status, text } = await publish(...of);
  expect(`${status} ${status === 200 ? "" : text}`).toBe("200 ");
}

/** Where a slice is refused, and why. */
async function refused(...of: Parameters<typeof publish>): Promise<string> {
  const { status, body, text } = await publish(...of);
  expect(status, text).toBe(422);
  const [problem] = body["problems"] as readonly { readonly path: string; readonly message: string }[];
  return `${problem?.path} ${problem?.message}`;
}

function open(servername: string | undefined, more: object = {}): Promise<TLSSocket> {
  const options = { host: "127.0.0.1", port: gateway.port, rejectUnauthorized: false, ...more };
  const socket = connect(servername === undefined ? options : { ...options, servername });
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("secureConnect", () => resolve(socket));
  });
}

/** Common name of the certificate that a client gets. */
async function shown(servername: string | undefined): Promise<string> {
  const socket = await open(servername);
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

describe("a certificate that an owner brings", () => {
  test("is shown for its host alone, and to clients that check it", async () => {
    await published("shop", ["shop.example"], { "shop.example": await brought("shop", made("shop.example")) });

    expect(await shown("shop.example")).toBe("shop.example");
    expect(await shown("SHOP.example")).toBe("shop.example");
    for (const other of ["other.example", "a.shop.example", undefined])
      expect(await shown(other)).toBe("fallback.example");
    const checking = await open("shop.example", { rejectUnauthorized: true, ca: authority.cert });
    checking.destroy();
    await admin.remove("shop");
    expect(await shown("shop.example")).toBe("fallback.example");
  });

  test("has its key nowhere but in the process", async () => {
    const certificate = made("shop.example");
    await published("shop", ["shop.example"], { "shop.example": await brought("shop", certificate) });
    const line = certificate.key.split("\n")[1] ?? "";
    expect(line.length).toBeGreaterThan(40);

    for (const path of ["/status", "/metrics", "/config/slices/shop", "/config/slices"]) {
      expect((await admin.get(path)).text).not.toContain(line);
    }
    expect(gateway.log()).not.toContain(line);
  });

  test("goes before a wildcard of the boot file, and never before the same name there", async () => {
    const hosts = ["one.boot.example", "pinned.boot.example", "*.boot.example"];
    const certificates = await Promise.all(
      hosts.map(async (host) => [host, await brought("shop", made(`shop's ${host}`, host))] as const),
    );
    await published("shop", hosts, Object.fromEntries(certificates));

    expect(await shown("one.boot.example")).toBe("shop's one.boot.example");
    expect(await shown("pinned.boot.example")).toBe("pinned.boot.example");
    expect(await shown("two.boot.example")).toBe("*.boot.example");
  });

  test("with a wildcard is for one label, and not for hosts that others serve", async () => {
    await published("evil", ["*.wild.example"], {
      "*.wild.example": await brought("evil", made("evil", "*.wild.example")),
    });
    await published("shop", ["login.wild.example"], {});

    expect(await shown("any.wild.example")).toBe("evil");
    expect(await shown("a.b.wild.example")).toBe("fallback.example");
    expect(await shown("wild.example")).toBe("fallback.example");
    expect(await shown("login.wild.example")).toBe("fallback.example");
    // The gateway's own pages.
    expect(await shown("auth.wild.example")).toBe("fallback.example");

    await published("shop", ["login.wild.example"], {
      "login.wild.example": await brought("shop", made("shop", "login.wild.example")),
    });
    expect(await shown("login.wild.example")).toBe("shop");
  });

  test("stays with the first owner", async () => {
    await published("shop", ["shop.example"], { "shop.example": await brought("shop", made("shop.example")) });

    // Leave for the host is leave to serve a path of it, and no leave to take over its certificate.
    const theirs = { "shop.example": await brought("evil", made("evil", "shop.example")) };
    expect(await refused("evil", ["shop.example"], theirs, { prefix: "/evil" })).toBe(
      'settings.host_certificates["shop.example"] is a certificate for this host, for which published:shop has one too',
    );
    // A renewal is no new claim.
    await published("shop", ["shop.example"], {
      "shop.example": await brought("shop", made("renewed", "shop.example")),
    });
    expect(await shown("shop.example")).toBe("renewed");
  });
});

describe("hostile certificates", () => {
  const evil = "evil.example";
  const place = 'settings.host_certificates["evil.example"]';

  test("for a host on which it has no route is refused", async () => {
    const certificate = await brought("evil", made("shop.example"));
    expect(await refused("evil", [evil], { "shop.example": certificate })).toBe(
      'settings.host_certificates["shop.example"] is for a host that no route of owner "evil" has in "from"',
    );
    const wildcard = await brought("evil", made("*.example"));
    expect(await refused("evil", [evil], { "*.example": wildcard })).toContain("no route of owner");
    expect(
      await refused("evil", ["*.evil.example"], { "a.evil.example": await brought("evil", made("a.evil.example")) }),
    ).toContain("no route of owner");
  });

  test("for a host that its rights leave out is refused with its route", async () => {
    const certificate = await brought("evil", made("www.example.com"));
    expect(await refused("evil", ["www.example.com"], { "www.example.com": certificate })).toContain("may not serve");
  });

  test("with a certificate of another host is refused", async () => {
    const certificate = await brought("evil", made("shop.example", "shop.example", "www.shop.example"));
    expect(await refused("evil", [evil], { [evil]: certificate })).toBe(
      `${place}.certificate is for shop.example and 1 more, must be for evil.example`,
    );
  });

  test("sealed for another owner is refused, before it is opened", async () => {
    const stolen = await brought("shop", made(evil));
    expect(await refused("evil", [evil], { [evil]: stolen })).toBe(
      `${place}.certificate_key_sealed was sealed for owner "shop", must be sealed for "evil"`,
    );
  });

  test.each([
    ["the key of another certificate", () => made("other").key, "cannot be used: the key is not the certificate's"],
    ["no key", () => "hunter2", "cannot be used: the key is not a PEM private key without a passphrase"],
    ["a public key", () => made("other").cert, "cannot be used: the key is not a PEM private key without a passphrase"],
  ])("with %s is rejected with its location, and without the key", async (_, key, message) => {
    const answer = await publish("evil", [evil], {
      [evil]: await brought("evil", { cert: made(evil).cert, key: key() }),
    });
    expect(answer.status).toBe(422);
    const problems = answer.body["problems"] as readonly { readonly severity: string }[];
    expect(problems.filter(({ severity }) => severity === "error")).toMatchObject([{ path: place, message }]);
    expect(answer.text).not.toContain("hunter2");
  });

  test.each([
    ["a host in other letters", "EVIL.example", /must be written "evil\.example"/],
    ["an address", "192.0.2.1", /is an address/],
    ["a host with a port", "evil.example:443", /must be/],
    ["no host", "", /empty name/],
  ])("under %s is refused", async (_, host, message) => {
    expect(await refused("evil", [evil], { [host]: await brought("evil", made(evil)) })).toMatch(message);
  });

  test.each([
    ["nothing", ""],
    ["no PEM", "hunter2"],
    ["a broken certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"],
    ["the key with it", "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n"],
    ["too much", "x".repeat(70_000)],
    // OpenSSL reads the first, whatever comes after it.
    ["a broken certificate before a good one", `${label("CERTIFICATE", "AA-A")}${GOOD}`],
    ["an encrypted certificate before a good one", `${label("CERTIFICATE", "Proc-Type: 4,ENCRYPTED")}${GOOD}`],
    ["a certificate by another name before a good one", `${label("TRUSTED CERTIFICATE", "AAAA")}${GOOD}`],
    ["a beginning before a good one", `-----BEGIN CERTIFICATE-----\n${GOOD}`],
    ["no line between two", GOOD.trim() + GOOD],
    ["a NUL before it", `\0${GOOD}`],
  ])("with %s for a certificate is refused, and not repeated", async (_, certificate) => {
    const answer = await publish("evil", [evil], { [evil]: { ...(await brought("evil", made(evil))), certificate } });
    expect([answer.status, answer.text.includes("hunter2"), answer.text.length < 2_000]).toEqual([422, false, true]);
    expect(answer.text).toContain("certificate");
  });

  test.each([
    ["makes each handshake slow for all", largeRsaKey],
    ["is weak", () => generateKeyPairSync("rsa", { modulusLength: 1024 })],
    ["no client takes", () => generateKeyPairSync("ec", { namedCurve: "secp256k1" })],
    ["signs nothing", () => generateKeyPairSync("x25519")],
  ])("with a key that %s is refused", async (_, keys) => {
    const certificate = makeTestCertificate({ name: evil, dns: [evil], by: authority, keys: keys() });
    const { status, body } = await publish("evil", [evil], { [evil]: await brought("evil", certificate) });
    const problems = body["problems"] as readonly { readonly severity: string }[];
    expect([status, problems.filter(({ severity }) => severity === "error")]).toMatchObject([422, [{ path: place }]]);
  });

  test.each([
    ["RSA", () => generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ["RSA-PSS", () => generateKeyPairSync("rsa-pss", { modulusLength: 2048 })],
    ["P-384", () => generateKeyPairSync("ec", { namedCurve: "P-384" })],
  ])("with a key of %s is shown", async (name, keys) => {
    const certificate = makeTestCertificate({ name, dns: [evil], by: authority, keys: keys() });
    await published("evil", [evil], { [evil]: await brought("evil", certificate) });
    expect(await shown(evil)).toBe(name);
  });

  test.each([
    ["expired", -20, -10, "it expired at "],
    ["not yet valid", 10, 20, "it is not valid before "],
  ])("%s is refused with its date", async (_name, from, to, message) => {
    const day = 86_400_000;
    const [fromMs, toMs] = [Date.now() + from * day, Date.now() + to * day];
    const certificate = makeTestCertificate({ name: evil, dns: [evil], by: authority, fromMs, toMs });
    const date = new Date(from < 0 ? toMs : fromMs).toISOString().slice(0, 13);
    const { status, body } = await publish("evil", [evil], { [evil]: await brought("evil", certificate) });
    const problems = body["problems"] as readonly { severity: string; path: string; message: string }[];
    expect([status, problems.filter(({ severity }) => severity === "error")]).toMatchObject([
      422,
      [{ path: place, message: expect.stringContaining(`cannot be used: ${message}${date}`) as string }],
    ]);
    expect((await admin.get("/config/slices/evil")).status).toBe(404);
  });

  test("without a key is refused, and a reference needs leave", async () => {
    const { certificate } = await brought("evil", made(evil));
    expect(await refused("evil", [evil], { [evil]: { certificate } })).toContain("has no key");
    const reference = { certificate, certificate_key_ref: "file:/etc/ssl/private/gateway.key" };
    expect(await refused("evil", [evil], { [evil]: reference })).toContain("must be allowed by");
  });
});

test("a host without routes gets any certificate that is valid there, another owner's host does not", async () => {
  const wide = made("wide", "shop.example", "*.example", "*.wild.example");
  await published("shop", ["shop.example"], { "shop.example": await brought("shop", wide) });
  expect(await shown("nobody.example")).toBe("wide");
  expect(await shown("a.nobody.example")).toBe("fallback.example");
  await published("blog", ["nobody.example", "*.wild.example"], {});
  expect(await shown("nobody.example")).toBe("fallback.example");
  expect(await shown("a.wild.example")).toBe("fallback.example");
  expect(await shown("auth.wild.example")).toBe("fallback.example");
});

describe("a connection that was opened for one owner's host", () => {
  const both = (): TestCertificate => made("both", "shop.example", "blog.example");

  test("serves other owners' hosts by their own routes, and 421 for unknown hosts", async () => {
    await published("shop", ["shop.example"], { "shop.example": await brought("shop", both()) });
    await published("blog", ["blog.example"], {}, { set_response_headers: { "x-of": "blog" } });
    const http2 = await openHttp2("shop.example");
    const answers: unknown[] = [];
    for (const host of ["shop.example", "blog.example", "nobody.example", "BLOG.example:443"]) {
      const stream = http2.request({ ":path": "/", ":authority": host });
      const [head] = (await once(stream, "response")) as [Record<string, unknown>];
      stream.close();
      answers.push([head[":status"], head["x-of"]]);
    }
    expect(answers).toEqual([
      [200, undefined],
      [200, "blog"],
      [421, undefined],
      [200, "blog"],
    ]);
    http2.destroy();
    const opened = await openHttp2("nobody.example");
    const stream = opened.request({ ":path": "/", ":authority": "nobody.example" });
    const [head] = (await once(stream, "response")) as [Record<string, unknown>];
    expect(head[":status"]).toBe(404);
    opened.destroy();
    const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, servername: "shop.example" });
    expect((await ask(agent, "nobody.example", "/")).status).toBe(421);
    agent.destroy();
  });

  test("is resumed for no other host", async () => {
    await published("shop", ["shop.example"], { "shop.example": await brought("shop", both()) });
    await published("blog", ["blog.example"], { "blog.example": await brought("blog", made("blog.example")) });
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      const first = connect({
        host: "127.0.0.1",
        port: gateway.port,
        servername: "shop.example",
        rejectUnauthorized: false,
        maxVersion,
      });
      const [session] = (await once(first, "session")) as [Buffer];
      const again = await open("shop.example", { session, maxVersion });
      const other = await open("blog.example", { session, maxVersion });
      expect([again.isSessionReused(), other.isSessionReused()]).toEqual([true, false]);
      expect(other.getPeerCertificate().subject.CN).toBe("blog.example");
      for (const socket of [first, again, other]) socket.destroy();
    }
  });
});

describe("a renewal", () => {
  test("applies to new connections; open ones continue, including streams", async () => {
    await published("shop", ["shop.example"], { "shop.example": await brought("shop", made("first", "shop.example")) });
    await published("blog", ["blog.example"], {});
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
    const http2 = await openHttp2("shop.example");
    const stream = await ask(agent, "shop.example", "/");
    const streaming = http2.request({ ":path": "/stream", ":authority": "shop.example" });
    const parts: string[] = [];
    streaming.on("data", (chunk: Buffer) => parts.push(chunk.toString()));
    await new Promise((resolve) => streaming.once("data", resolve));
    const before = gateway.runtime.current().generation;

    await published("shop", ["shop.example"], {
      "shop.example": await brought("shop", made("second", "shop.example")),
    });

    expect(gateway.runtime.current().generation).toBe(before + 1);
    expect(await shown("shop.example")).toBe("second");
    const again = await ask(agent, "shop.example", "/");
    expect([again.status, again.socket === stream.socket, again.name]).toEqual([200, true, "first"]);
    for (const response of waiting.splice(0)) response.end("data: late\n\n");
    await new Promise((resolve) => streaming.once("end", resolve));
    expect(parts.join("")).toBe("data: begun\n\ndata: late\n\n");
    expect(http2.destroyed).toBe(false);
    http2.destroy();
    agent.destroy();
  });

  test("that cannot be used changes nothing", async () => {
    await published("shop", ["shop.example"], { "shop.example": await brought("shop", made("first", "shop.example")) });
    const bad = { cert: made("second", "shop.example").cert, key: made("third").key };

    await refused("shop", ["shop.example"], { "shop.example": await brought("shop", bad) });

    expect(await shown("shop.example")).toBe("first");
  });
});

interface Asked {
  readonly status: number;
  readonly socket: unknown;
  /** Common name of the connection's certificate. */
  readonly name: string;
}

function ask(agent: Agent, host: string, path: string): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const options = { agent, host: "127.0.0.1", port: gateway.port, servername: host, headers: { host }, path };
    const sent = request(options, (answer) => {
      const socket = answer.socket as TLSSocket;
      const name = String(socket.getPeerCertificate().subject.CN);
      answer.resume().once("end", () => resolve({ status: answer.statusCode ?? 0, socket, name }));
    });
    sent.once("error", reject);
    sent.end();
  });
}

function openHttp2(host: string): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://127.0.0.1:${gateway.port}`, { servername: host, rejectUnauthorized: false });
  return new Promise((resolve, reject) => {
    session.once("error", reject);
    session.once("connect", () => resolve(session));
  });
}
