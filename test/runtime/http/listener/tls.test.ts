/** The TLS listener: choice of certificate and protocol, new files without a restart, the plain listener next to it. */
import { request as httpsRequest } from "node:https";
import { request as httpRequest } from "node:http";
import { rename, writeFile } from "node:fs/promises";
import { Socket } from "node:net";
import { connect, TLSSocket } from "node:tls";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { HEAD_MS } from "../../../../runtime/http/http1-server/connection.ts";
import {
  loadCertificates,
  openCertificates,
  type Certificates,
} from "../../../../runtime/http/listener/certificates.ts";
import type { HttpServer } from "../../../../runtime/http/listener/server.ts";
import { startPlainServer } from "../../../../runtime/http/listener/plain-server.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import {
  makeTestCertificate,
  openCertificateFolder,
  type CertificateFolder,
  type TestCertificate,
} from "../../../support/certificates.ts";
import { startGateway } from "../../../support/gateway.ts";
import { sendRaw } from "../../../support/raw-client.ts";
import { freePort } from "../../../support/ports.ts";
import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { startVictim, type Victim } from "../../../support/victim.ts";

let folder: CertificateFolder;
let authority: TestCertificate;
let certificates: Certificates;
let pipeline: Pipeline;
let victim: Victim;

beforeAll(async () => {
  folder = await openCertificateFolder();
  authority = makeTestCertificate({ name: "test authority", isAuthority: true });
  const app = makeTestCertificate({ name: "app", dns: ["app.example"], by: authority });
  const wild = makeTestCertificate({ name: "wild", dns: ["*.team.example", "Team.Example"], by: authority });
  certificates = await openCertificates([await folder.write("app", app), await folder.write("wild", wild)], {
    log: silentLog(),
    pollMs: 20,
  });
  victim = await startVictim();
  pipeline = await startPipeline(
    `routes:
      - { from: https://app.example, to: "${victim.origin}", policy: [{ allow: { and: [{ accept: true }] } }] }`,
    { certificates },
  );
});
afterAll(async () => {
  await pipeline.close();
  await certificates.close();
  await victim.close();
  await folder.close();
});

/** Common name of the certificate that a client gets, and the protocol they agreed on. */
async function handshake(
  servername: string | undefined,
  protocols: readonly string[] = [],
): Promise<readonly string[]> {
  const socket = connect({
    host: "127.0.0.1",
    port: pipeline.port,
    ...(servername === undefined ? {} : { servername }),
    ...(protocols.length > 0 && { ALPNProtocols: [...protocols] }),
    rejectUnauthorized: false,
  });
  await new Promise<void>((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
  const answer = [String(socket.getPeerCertificate().subject.CN), String(socket.alpnProtocol)];
  socket.destroy();
  return answer;
}

test("a handshake has as much time as the head of a request: in a burst it waits for the process", async () => {
  const setTimeout = vi.spyOn(Socket.prototype, "setTimeout");
  try {
    await handshake("app.example");
    const limits = setTimeout.mock.calls.filter((_, index) => setTimeout.mock.contexts[index] instanceof TLSSocket);
    expect(limits.map(([ms]) => ms).filter((ms) => ms > 0)).toEqual([HEAD_MS]);
  } finally {
    setTimeout.mockRestore();
  }
});

describe("the TLS listener", () => {
  test.each([
    ["app.example", "app"],
    ["APP.example", "app"],
    ["a.team.example", "wild"],
    ["team.example", "wild"],
    ["a.b.team.example", "app"],
    ["other.example", "app"],
    [undefined, "app"],
  ])("SNI %s gets the certificate %s", async (host, name) => {
    expect(await handshake(host)).toEqual([name, "false"]);
  });

  test("ALPN: h2 first, HTTP/1.1 for clients that only speak that", async () => {
    expect(await handshake("app.example", ["http/1.1"])).toEqual(["app", "http/1.1"]);
    expect(await handshake("app.example", ["http/1.1", "h2"])).toEqual(["app", "h2"]);
  });

  test("a request over TLS is a secure one, with a default port of its own", async () => {
    const { status, body } = await new Promise<{ status: number; body: string }>((resolve, reject) => {
      const request = httpsRequest(
        {
          host: "127.0.0.1",
          port: pipeline.port,
          servername: "app.example",
          ca: authority.cert,
          headers: { host: "app.example:443" },
        },
        (response) => {
          let text = "";
          response.on("data", (chunk: Buffer) => (text += String(chunk)));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
        },
      );
      request.on("error", reject).end();
    });
    expect({ status, body }).toEqual({ status: 200, body: "ok" });
    expect(victim.requests.at(-1)?.header("x-forwarded-host")).toBe("app.example");
  });

  test("changed certificate files are active without a restart, and open connections stay", async () => {
    const open: TLSSocket = connect({ host: "127.0.0.1", port: pipeline.port, rejectUnauthorized: false });
    await new Promise((resolve) => open.once("secureConnect", resolve));
    const next = makeTestCertificate({ name: "app renewed", dns: ["app.example"], by: authority });
    const changed = new Promise<void>((resolve) => {
      const before = certificates.fallback;
      const timer = setInterval(() => {
        if (certificates.fallback === before) return;
        clearInterval(timer);
        resolve();
      }, 5);
    });
    // First the certificate alone: for a moment the pair does not fit, and the earlier one stays.
    await writeFile(`${folder.path}/app.crt.new`, next.cert);
    await rename(`${folder.path}/app.crt.new`, `${folder.path}/app.crt`);
    expect(await certificates.reload()).toBe(false);
    expect(await handshake("app.example")).toEqual(["app", "false"]);
    await writeFile(`${folder.path}/app.key`, next.key);
    await changed;
    expect(await handshake("app.example")).toEqual(["app renewed", "false"]);
    expect(await handshake(undefined)).toEqual(["app renewed", "false"]);
    expect(open.destroyed).toBe(false);
    open.destroy();
  });

  test.each([
    ["expired", { toMs: Date.now() - 1_000 }, /Cannot use certificate ".*": it expired at 20/],
    ["not yet valid", { fromMs: Date.now() + 3_600_000 }, /Cannot use certificate ".*": it is not valid before 20/],
  ])("a certificate that is %s is an error at start, and is rejected at reload", async (_, times, message) => {
    const bad = makeTestCertificate({ name: "bad", dns: ["app.example"], by: authority, ...times });
    await expect(openCertificates([await folder.write("bad", bad)], { log: silentLog() })).rejects.toThrow(message);
    await expect(loadCertificates([await folder.write("bad", bad)], undefined)).rejects.toThrow(message);
    const files = await folder.write(
      "timed",
      makeTestCertificate({ name: "good", dns: ["app.example"], by: authority }),
    );
    const opened = await openCertificates([files], { log: silentLog() });
    try {
      const before = opened.leaves()[0]?.fingerprint256;
      await folder.write("timed", bad);
      expect(await opened.reload()).toBe(false);
      expect(opened.leaves()[0]?.fingerprint256).toBe(before);
    } finally {
      await opened.close();
    }
  });

  test("openCertificates() refuses a key of another certificate", async () => {
    const files = await folder.write("wrong", { ...authority, key: makeTestCertificate({ name: "other" }).key });
    await expect(openCertificates([files], { log: silentLog() })).rejects.toThrow(
      /Cannot use certificate ".*wrong\.crt": the key is not the certificate's/,
    );
  });
});

describe("the plain listener next to the TLS one", () => {
  let redirects: HttpServer;
  const served = new Set(["app.example:8443", "mapped.example"]);
  beforeAll(
    async () =>
      (redirects = await startPlainServer({
        address: "127.0.0.1:0",
        securePort: 8443,
        servesHost: (host) => served.has(host),
        log: silentLog(),
      })),
  );
  afterAll(() => redirects.close());

  test.each([
    ["GET", "app.example", "/a?b=c", 308, "https://app.example:8443/a?b=c"],
    ["HEAD", "APP.example:80", "/", 308, "https://app.example:8443/"],
    ["GET", "app.example:8080", "/", 308, "https://app.example:8443/"],
    ["GET", "mapped.example", "/a", 308, "https://mapped.example/a"],
    ["GET", "evil.example", "/", 404, undefined],
    ["GET", "app.example.evil.example", "/", 404, undefined],
    ["GET", "app.example.", "/", 404, undefined],
    ["POST", "app.example", "/", 403, undefined],
    ["POST", "evil.example", "/", 404, undefined],
    ["GET", "app.example/evil", "/", 400, undefined],
    ["GET", "app.example", "//evil.example", 400, undefined],
    ["GET", "app.example", "/\\evil.example", 400, undefined],
  ])("%s %s %s → %d", async (method, host, path, status, location) => {
    const answer = await new Promise<readonly unknown[]>((resolve, reject) => {
      httpRequest({ host: "127.0.0.1", port: redirects.port, method, path, headers: { host } }, (response) => {
        response.resume();
        resolve([response.statusCode, response.headers.location]);
      })
        .on("error", reject)
        .end();
    });
    expect(answer).toEqual([status, location]);
  });

  test("knows the hosts of the active configuration", async () => {
    const route = (from: string): string =>
      `routes: [{ from: "${from}", to: "http://127.0.0.1:1", policy: [{ allow: { and: [{ accept: true }] } }] }]`;
    const following = await startPipeline(
      `authenticate_service_url: https://auth.example\n${route("https://a.example")}`,
    );
    const names = (): readonly string[] =>
      ["a.example", "auth.example", "x.b.example", "b.example"].filter((host) => following.proxy.servesHost(host));
    expect(names()).toEqual(["a.example", "auth.example"]);
    following.swap(route("https://*.b.example"));
    expect(names()).toEqual(["x.b.example"]);
    await following.close();
  });
});

test("a gateway with certificates serves TLS and redirects plain requests to it", async () => {
  const files = await folder.write("gateway", makeTestCertificate({ name: "gateway", dns: ["localhost"] }));
  const plainPort = await freePort();
  const open = "allow_public_unauthenticated_access: true";
  const gateway = await startGateway({
    yaml: `routes:
      - { from: "http://app.example:80", response: { status: 200, body: plain }, ${open} }
      - { from: "http://*.wide.example:80", response: { status: 200, body: plain }, ${open} }
      - { from: "https://app.example", response: { status: 200, body: secure }, ${open} }
      - { from: "https://only.example", response: { status: 200, body: secure }, ${open} }`,
    boot: {
      insecure_server: false,
      certificates: [{ certificate_file: files.certificateFile, certificate_key_file: files.keyFile }],
      http_redirect_address: `127.0.0.1:${plainPort}`,
      authenticate_service_url: "https://auth.wide.example",
    },
  });
  const plain = async (host: string, path = "/", method = "GET"): Promise<readonly unknown[]> => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    const { status, body, headers } = await sendRaw(plainPort, head);
    return [status, headers.get("location")?.[0] ?? body];
  };
  try {
    expect(await plain("app.example")).toEqual([200, "plain"]);
    expect(await plain("app.example:80", "/", "POST")).toEqual([200, "plain"]);
    expect(await plain("APP.example:1234")).toEqual([200, "plain"]);
    // Own endpoints and routes with https:// are not reached in plain text.
    expect(await plain("app.example", "/.gateway/user")).toEqual([308, "https://app.example/.gateway/user"]);
    expect(await plain("app.example", "/.well-known/ai-catalog.json")).toEqual([
      308,
      "https://app.example/.well-known/ai-catalog.json",
    ]);
    expect(await plain("only.example")).toEqual([308, "https://only.example/"]);
    expect(await plain("only.example:443", "/", "POST")).toEqual([403, ""]);
    expect(await plain("unknown.example")).toEqual([404, ""]);
    expect(await plain("a.wide.example")).toEqual([200, "plain"]);
    // Nor is the host where users sign in: an owner could even get a certificate for it, by HTTP-01.
    for (const host of ["auth.wide.example", "auth.wide.example:80", "AUTH.wide.example:8080"])
      expect(await plain(host, "/.well-known/acme-challenge/a")).toEqual([
        308,
        "https://auth.wide.example/.well-known/acme-challenge/a",
      ]);
    expect(gateway.runtime.origin).toMatch(/^https:\/\/127\.0\.0\.1:/);
    const status = await new Promise((resolve, reject) => {
      httpsRequest({ host: "127.0.0.1", port: gateway.port, rejectUnauthorized: false }, (response) =>
        resolve(response.statusCode),
      )
        .on("error", reject)
        .end();
    });
    expect(status).toBe(404);
  } finally {
    await gateway.close();
  }
});
