/** Client certificates: who is let in, and what the upstream learns. @see requirements, "Header behavior on proxied requests" 2 */
import { createHash, X509Certificate } from "node:crypto";
import { connect as connectHttp2 } from "node:http2";
import { Agent, request as httpsRequest } from "node:https";
import { connect as connectTls } from "node:tls";

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";

import { openCertificates, type Certificates } from "../../../../runtime/http/listener/certificates.ts";
import { alternativeNames, certificateFacts } from "../../../../runtime/http/listener/client-certificate.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import {
  makeTestCertificate,
  openCertificateFolder,
  type CertificateFolder,
  type TestCertificate,
} from "../../../support/certificates.ts";
import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { startVictim, type Victim } from "../../../support/victim.ts";

const OK = expect.stringMatching(/^HTTP\/1\.1 200 /) as unknown;

let folder: CertificateFolder;
let victim: Victim;
let authority: TestCertificate;
let known: TestCertificate;
let stranger: TestCertificate;
let asking: Certificates;
let rejecting: Certificates;
let strict: Pipeline;
let lenient: Pipeline;
let closed: Pipeline;
let byPolicy: Pipeline;

beforeAll(async () => {
  folder = await openCertificateFolder();
  authority = makeTestCertificate({ name: "clients' authority", isAuthority: true });
  known = makeTestCertificate({ name: "known", emails: ["alice@example.com"], by: authority });
  stranger = makeTestCertificate({ name: "stranger" });
  const { certificateFile: caFile } = await folder.write("ca", authority);
  const files = [await folder.write("app", makeTestCertificate({ name: "app", dns: ["app.example"] }))];
  asking = await openCertificates(files, { log: silentLog(), clients: { caFile, rejectConnection: false } });
  rejecting = await openCertificates(files, { log: silentLog(), clients: { caFile, rejectConnection: true } });
  victim = await startVictim();
  const yaml = `routes:
    - from: https://app.example
      to: "${victim.origin}"
      policy: [{ allow: { and: [{ accept: true }] } }]
      set_request_headers:
        X-Fingerprint: "\${gateway.client_cert_fingerprint}"
        X-Both: "cert=\${gateway.client_cert_fingerprint};"`;
  strict = await startPipeline(yaml, { certificates: asking, requiresClientCertificate: true });
  lenient = await startPipeline(yaml, { certificates: asking });
  closed = await startPipeline(yaml, { certificates: rejecting });
  const spkiHash = createHash("sha256")
    .update(new X509Certificate(known.cert).publicKey.export({ type: "spki", format: "der" }))
    .digest("base64");
  byPolicy = await startPipeline(
    `insecure_server: false
certificates: [{ certificate_file: unused, certificate_key_file: unused }]
downstream_mtls: { ca_file: unused, enforcement: policy }
routes:
    - from: https://app.example
      to: "${victim.origin}"
      policy:
        - allow:
            and:
              - client_certificate: { fingerprint: "${known.fingerprint}", spki_hash: "${spkiHash}", san_email: alice@example.com }
              - authenticated_user: true
            or:
              - client_certificate: { fingerprint: "${known.fingerprint}", san_email: { ends_with: "@example.com" } }
        - deny: { or: [{ invalid_client_certificate: true }] }
`,
    { certificates: asking },
  );
});
afterAll(async () => {
  for (const each of [strict, lenient, closed, byPolicy]) await each.close();
  await asking.close();
  await rejecting.close();
  await victim.close();
  await folder.close();
});

type Ask = (pipeline: Pipeline, client: TestCertificate | undefined) => Promise<number>;

const overHttp1: Ask = (pipeline, client) =>
  new Promise((resolve, reject) => {
    const identity = client && { cert: client.cert, key: client.key };
    httpsRequest(
      {
        host: "127.0.0.1",
        port: pipeline.port,
        servername: "app.example",
        rejectUnauthorized: false,
        agent: new Agent(),
        headers: { host: "app.example", "x-fingerprint": "forged" },
        ...identity,
      },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    )
      .on("error", reject)
      .end();
  });

const overHttp2: Ask = async (pipeline, client) => {
  const session = connectHttp2(`https://127.0.0.1:${pipeline.port}`, {
    servername: "app.example",
    rejectUnauthorized: false,
    ...(client && { cert: client.cert, key: client.key }),
  });
  try {
    return await new Promise((resolve, reject) => {
      session.once("error", reject);
      session.once("close", () => reject(new Error("closed")));
      const stream = session.request({ ":path": "/", ":authority": "app.example", "x-fingerprint": "forged" });
      stream.once("error", reject);
      stream.once("response", (headers) => resolve(Number(headers[":status"])));
    });
  } finally {
    session.destroy();
  }
};

describe.each<[string, Ask]>([
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
])("over %s", (_protocol, ask) => {
  test("`${gateway.client_cert_fingerprint}` is the SHA-256 fingerprint of the presented client certificate, in the short form", async () => {
    expect(await ask(lenient, known)).toBe(200);
    const fingerprint = createHash("sha256").update(new X509Certificate(known.cert).raw).digest("hex");
    expect(fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(victim.requests.at(-1)?.header("x-fingerprint")).toBe(fingerprint);
    expect(victim.requests.at(-1)?.header("x-both")).toBe(`cert=${fingerprint};`);
  });

  test("`${gateway.client_cert_fingerprint}` is empty without a certificate, and for one of an unknown authority", async () => {
    expect(await ask(lenient, undefined)).toBe(200);
    expect(victim.requests.at(-1)?.header("x-both")).toBe("cert=;");
    expect(await ask(lenient, stranger)).toBe(200);
    expect(victim.requests.at(-1)?.header("x-both")).toBe("cert=;");
  });

  test("policy_with_default_deny answers 495 without a valid certificate, and records why", async () => {
    const before = victim.requests.length;
    expect(await ask(strict, undefined)).toBe(495);
    expect(strict.records.at(-1)).toMatchObject({ allow: false, "allow-why-false": ["client-certificate-required"] });
    expect(await ask(strict, stranger)).toBe(495);
    expect(strict.records.at(-1)).toMatchObject({ allow: false, "allow-why-false": ["invalid-client-certificate"] });
    expect(victim.requests.length).toBe(before);
    expect(await ask(strict, known)).toBe(200);
  });

  test("policy lets the criteria on the certificate decide: fingerprint, key and names, and only of a valid one", async () => {
    expect(await ask(byPolicy, known)).toBe(200);
    expect(byPolicy.records.at(-1)).toMatchObject({ allow: true, "allow-why-true": ["client-certificate-ok"] });
    // The caller is not signed in, so it is redirected to do so; the record has the certificate's result.
    expect(await ask(byPolicy, stranger)).toBe(302);
    expect(byPolicy.records.at(-1)).toMatchObject({ allow: false, "deny-why-true": ["invalid-client-certificate"] });
    expect(await ask(byPolicy, undefined)).toBe(302);
    expect(byPolicy.records.at(-1)).toMatchObject({ allow: false, "deny-why-true": ["client-certificate-required"] });
  });

  test("reject_connection ends the connection without a valid certificate", async () => {
    await expect(ask(closed, undefined)).rejects.toThrow();
    await expect(ask(closed, stranger)).rejects.toThrow();
    expect(await ask(closed, known)).toBe(200);
  });
});

/** @returns the response, "" where the connection was ended */
async function askResuming(port: number, client: TestCertificate, version: "TLSv1.2" | "TLSv1.3", session?: Buffer) {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let latest: Buffer | undefined;
  let text = "";
  let isResumed = false;
  const socket = connectTls({
    port,
    host: "127.0.0.1",
    servername: "app.example",
    rejectUnauthorized: false,
    session,
    minVersion: version,
    maxVersion: version,
    cert: client.cert,
    key: client.key,
  });
  socket.on("secureConnect", () => (isResumed = socket.isSessionReused()));
  socket.on("session", (each) => (latest = each));
  socket.on("data", (chunk) => (text += chunk.toString("latin1")));
  socket.on("error", () => resolve(undefined)).on("close", () => resolve(undefined));
  socket.write("GET / HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n");
  await promise;
  return { text, session: latest, isResumed };
}

describe.each(["TLSv1.2", "TLSv1.3"] as const)("a %s session", (version) => {
  const HOUR_MS = 3_600_000;
  afterEach(() => vi.restoreAllMocks());

  test("that resumes after the end of the client's certificate does not make it valid", async () => {
    const client = makeTestCertificate({ name: "brief", by: authority, toMs: Date.now() + HOUR_MS });
    const first = await askResuming(strict.port, client, version);
    const firstClosed = await askResuming(closed.port, client, version);
    expect([first.text, firstClosed.text]).toEqual([OK, OK]);
    const before = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => before() + 2 * HOUR_MS);
    const again = await askResuming(strict.port, client, version, first.session);
    expect(again.text).toMatch(/^HTTP\/1\.1 495 /);
    expect(strict.records.at(-1)).toMatchObject({ "allow-why-false": ["invalid-client-certificate"] });
    const againClosed = await askResuming(closed.port, client, version, firstClosed.session);
    expect(againClosed.text).toBe("");
    expect([again.isResumed, againClosed.isResumed]).toEqual([true, true]);
  });
});

// It could show a certificate of its own making in the second handshake.
test("a client that has shown a valid certificate cannot renegotiate", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connectTls(
    {
      port: byPolicy.port,
      host: "127.0.0.1",
      servername: "app.example",
      rejectUnauthorized: false,
      maxVersion: "TLSv1.2",
      cert: known.cert,
      key: known.key,
    },
    () => void socket.renegotiate({}, (error) => resolve(error ? error.message : "renegotiated")),
  );
  socket.on("error", (error) => resolve(error.message));
  expect(await promise).toContain("no renegotiation");
  socket.destroy();
});

describe("alternativeNames()", () => {
  test.each([
    ["DNS:a.example, email:x@a.example, URI:spiffe://a/b, DNS:b.example", ["a.example", "b.example"]],
    // One name with a comma in it must not become two (CVE-2021-44532).
    [String.raw`DNS:"evil.example, DNS:good.example", DNS:b.example`, ["evil.example, DNS:good.example", "b.example"]],
    ["IP Address:127.0.0.1, DNS:a.example", ["a.example"]],
    ["", []],
    // A text that does not parse completely gives no names at all.
    [`DNS:a.example, DNS:"open`, []],
    ["DNS:a.example,DNS:b.example", []],
  ])("reads %j", (text, dns) => {
    expect(alternativeNames(text)?.get("DNS") ?? []).toEqual(dns);
  });
});

describe("certificateFacts()", () => {
  const factsOf = (names: number, isSigned: boolean) => {
    const dns = Array.from({ length: names }, (_, index) => `h${index}.example`);
    return certificateFacts(new X509Certificate(makeTestCertificate({ name: "many", dns }).cert), isSigned);
  };

  test("reads no names of a certificate that no authority signed", () => {
    expect(factsOf(3, false)).toMatchObject({
      isValid: false,
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
      spkiHash: "",
      sanDns: [],
    });
  });

  test("one with more than 1,000 names is not valid", () => {
    expect(factsOf(1000, true)).toMatchObject({ isValid: true });
    expect(factsOf(1000, true).sanDns).toHaveLength(1000);
    expect(factsOf(1001, true)).toMatchObject({ isValid: false, sanDns: [] });
  });
});
