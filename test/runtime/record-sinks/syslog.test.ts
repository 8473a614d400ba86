/** Records reach Debian's rsyslog over TLS, both sides known by certificate, also when it is killed and starts again. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import type { SinkTls } from "../../../runtime/features/records/compiled.ts";
import { formatSyslog } from "../../../runtime/record-sinks/formats/syslog.ts";
import { type CertificateFolder, makeTestCertificate, openCertificateFolder } from "../../support/certificates.ts";
import { copies, makeSpool, openTestSink, sinkOptions } from "../../support/record-sinks.ts";
import { missingRsyslog, type Rsyslog, startRsyslog } from "../../support/rsyslog.ts";

const missing = missingRsyslog();

let folder: CertificateFolder;
let tls: SinkTls;
let server: { readonly certificateFile: string; readonly keyFile: string };
let caFile: string;
let stranger: { readonly certificateFile: string; readonly keyFile: string };

beforeAll(async () => {
  folder = await openCertificateFolder();
  const authority = makeTestCertificate({ name: "Test CA", isAuthority: true });
  caFile = (await folder.write("ca", authority)).certificateFile;
  server = await folder.write("server", makeTestCertificate({ name: "logs.test", dns: ["logs.test"], by: authority }));
  const client = makeTestCertificate({ name: "gateway.test", dns: ["gateway.test"], by: authority });
  const { certificateFile, keyFile } = await folder.write("client", client);
  tls = { caFile, certificateFile, keyFile, serverName: "logs.test" };
  stranger = await folder.write("stranger", makeTestCertificate({ name: "gateway.test", dns: ["gateway.test"] }));
});
afterAll(() => folder.close());

const targetOf = (port: number, structuredDataId?: string) =>
  ({ kind: "syslog", host: "127.0.0.1", port, structuredDataId }) as const;

describe.skipIf(missing !== undefined)(`rsyslog${missing === undefined ? "" : ` (skipped: ${missing})`}`, () => {
  let directory: string;
  let rsyslog: Rsyslog;
  const begin = (port?: number): Promise<Rsyslog> =>
    startRsyslog({ directory, caFile, ...server, peer: "gateway.test", ...(port !== undefined && { port }) });

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "gateway-rsyslog-"));
    rsyslog = await begin();
  });
  afterAll(async () => {
    await rsyslog.kill();
    rmSync(directory, { recursive: true, force: true });
  });

  const numbers = (): number[] =>
    rsyslog.messages().flatMap(({ message }) => {
      const { n } = JSON.parse(message) as { readonly n?: number };
      return n === undefined ? [] : [n];
    });

  test("accepts a record as JSON, one message each, with any content", async () => {
    const { sink } = openTestSink(sinkOptions(makeSpool(), targetOf(rsyslog.port), { tls }));
    const value = {
      level: "warn",
      time: "2026-11-23T10:00:00.123Z",
      message: "authorize check",
      n: -1,
      email: 'zoë "é" <134>1 - \u2028 \ud800',
      list: [1, { deep: null }],
    };
    sink.take([{ value }, ...copies(0, 40, 2_000)]);
    await expect.poll(() => rsyslog.messages().length).toBe(41);
    expect(numbers()).toEqual([-1, ...Array.from({ length: 40 }, (_, n) => n)]);
    const [first] = rsyslog.messages();
    expect(first).toMatchObject({
      priority: 13 * 8 + 4,
      timestamp: "2026-11-23T10:00:00.123Z",
      hostname: hostname(),
      appName: "gateway",
      messageId: "authorize-check",
      structuredData: "-",
    });
    expect(JSON.parse(first?.message ?? "")).toEqual(value);
  });

  test("that is killed and restarted gets what it did not accept", async () => {
    const { sink, log } = openTestSink(sinkOptions(makeSpool(), targetOf(rsyslog.port), { tls }));
    const { port } = rsyslog;
    await rsyslog.kill();
    sink.take(copies(100, 130));
    await expect.poll(() => sink.status()).toMatchObject({ isAway: true, waiting: 30 });
    expect(sink.status().lastError).toBe(`127.0.0.1:${port}: ECONNREFUSED`);
    rsyslog = await begin(port);
    await expect.poll(() => numbers().filter((n) => n >= 100)).toEqual(copies(100, 130).map(({ value }) => value["n"]));
    await expect.poll(() => sink.status()).toMatchObject({ isAway: false, waiting: 0, lost: 0 });
    expect(log.map(({ message }) => message)).toEqual([
      "record sink unavailable, records queued",
      "record sink recovered",
    ]);
  });

  test("accepts structured data", async () => {
    const before = rsyslog.messages().length;
    const { sink } = openTestSink(sinkOptions(makeSpool(), targetOf(rsyslog.port, "gateway@32473"), { tls }));
    sink.take([{ value: { message: "authorize check", user: 'a"]\\b', "a=b]": [1] } }]);
    await expect.poll(() => rsyslog.messages().length).toBe(before + 1);
    expect(rsyslog.messages().at(-1)).toMatchObject({
      structuredData: '[gateway@32473 message="authorize check" user="a\\"\\]\\\\b" a_b_="[1\\]"]',
      message: "authorize check",
    });
  });

  test.each([
    ["whose certificate is of another authority", () => ({ ...tls, caFile: stranger.certificateFile })],
    ["whose certificate has another name", () => ({ ...tls, serverName: "other.test" })],
    ["that does not know the gateway's certificate", () => ({ ...tls, ...stranger })],
    ["that wants a certificate and sees none", () => ({ ...tls, certificateFile: undefined, keyFile: undefined })],
  ])("%s gets nothing", async (_, makeTls) => {
    const before = rsyslog.messages().length;
    const { sink } = openTestSink(sinkOptions(makeSpool(), targetOf(rsyslog.port), { tls: makeTls() }), {
      quietMs: 4_000,
    });
    sink.take(copies(900, 905));
    await expect.poll(() => sink.status()).toMatchObject({ isAway: true, waiting: 5, taken: 0 });
    expect(rsyslog.messages()).toHaveLength(before);
  });
});

describe("a TLS receiver", () => {
  /** Does with the first connections what is said, takes in order what the others bring. */
  async function startReceiver(...first: readonly ((socket: TLSSocket) => void)[]) {
    let text = "";
    let count = 0;
    const server_ = createTlsServer(
      {
        cert: readFileSync(server.certificateFile),
        key: readFileSync(server.keyFile),
        allowHalfOpen: true,
      },
      (socket) => {
        socket.on("error", () => {});
        const treat = first[count++];
        if (treat) return treat(socket);
        socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
        socket.on("end", () => socket.end());
      },
    );
    await new Promise<void>((resolve) => server_.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server_.close());
    return { port: (server_.address() as AddressInfo).port, text: () => text, connections: () => count };
  }

  test.each<readonly [string, (socket: TLSSocket) => void]>([
    ["that breaks off at once", (socket) => void socket.destroy()],
    ["that ends before it has read", (socket) => void socket.end()],
    ["that breaks off in the middle", (socket) => void socket.once("data", () => socket.destroy())],
    ["that reads and never ends", (socket) => void socket.resume()],
    ["that reads nothing", () => {}],
  ])("%s gets all of it again", async (_, treat) => {
    const receiver = await startReceiver(treat);
    const options = sinkOptions(makeSpool(), targetOf(receiver.port), {
      tls,
      timeoutMs: 1_000,
      spoolMaxBytes: 8 << 20,
    });
    const { sink } = openTestSink(options);
    // More than the buffers of a connection hold.
    sink.take(copies(0, 200, 4_000));
    await expect.poll(() => sink.status()).toMatchObject({ waiting: 0, lost: 0, taken: 200, isAway: false });
    expect(receiver.connections()).toBeGreaterThan(1);
    let rest = Buffer.from(receiver.text());
    const seen: unknown[] = [];
    while (rest.length > 0) {
      const [head = "", length = ""] = /^(\d+) /.exec(rest.toString("latin1", 0, 12)) ?? [];
      const message = rest.toString("utf8", head.length, head.length + Number(length));
      seen.push((JSON.parse(message.slice(message.indexOf("{"))) as { readonly n: number }).n);
      rest = rest.subarray(head.length + Number(length));
    }
    // At least once, and first in order: what was not confirmed in time comes again.
    expect([...new Set(seen)]).toEqual(Array.from({ length: 200 }, (__, n) => n));
  });
});

test("formatSyslog() keeps to the grammar, whatever a record has", () => {
  const identity = { hostname: "gate way\n1", appName: "a".repeat(60), pid: 7 };
  expect(formatSyslog({ message: "x\ny", time: "yesterday" }, identity, undefined)).toBe(
    `<110>1 - gate_way_1 ${"a".repeat(48)} 7 x_y - {"message":"x\\ny","time":"yesterday"}`,
  );
  expect(formatSyslog({}, { hostname: "h", appName: "", pid: 1 }, undefined)).toBe("<110>1 - h - 1 record - {}");
  expect(formatSyslog({ message: "é", level: "error" }, { hostname: "h", appName: "a", pid: 1 }, "g@1")).toBe(
    '<107>1 - h a 1 _ [g@1 message="é" level="error"] ?',
  );
});
