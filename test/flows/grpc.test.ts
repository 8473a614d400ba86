/** gRPC through a whole gateway: client and server by grpc-js, TLS before the gateway, TLS and h2c behind it. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type CertificateFolder, makeTestCertificate, openCertificateFolder } from "../support/certificates.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import {
  createNotesClient,
  GZIP,
  metadataOf,
  type NotesClient,
  type NotesServer,
  startNotesServer,
  status,
} from "../support/grpc.ts";
import { type Http2Upstream, type SeenHttp2, startHttp2Upstream } from "../support/http2-upstream.ts";
import { freePort } from "../support/ports.ts";

const certificate = makeTestCertificate({ name: "localhost", dns: ["localhost", "plain.localhost", "raw.localhost"] });

let folder: CertificateFolder;
let gateway: TestGateway;
/** Has no gRPC, and returns requests unchanged. */
let raw: Http2Upstream;
const servers: Record<string, NotesServer> = {};
const clients: Record<string, NotesClient> = {};

beforeAll(async () => {
  folder = await openCertificateFolder();
  const { certificateFile, keyFile } = await folder.write("listener", certificate);
  servers["TLS"] = await startNotesServer(certificate);
  servers["h2c"] = await startNotesServer();
  raw = await startHttp2Upstream();
  const port = await freePort();
  const route = (host: string, kind: string): object => ({
    from: `https://${host}:${port}`,
    to: servers[kind]?.origin,
    http2: true,
    tls_custom_ca: certificate.cert,
    allow_public_unauthenticated_access: true,
  });
  gateway = await startGateway({
    port,
    boot: {
      insecure_server: false,
      certificates: [{ certificate_file: certificateFile, certificate_key_file: keyFile }],
    },
    yaml: `routes: ${JSON.stringify([route("localhost", "TLS"), route("plain.localhost", "h2c"), { ...route("raw.localhost", "h2c"), to: raw.origin }])}`,
  });
  clients["TLS"] = connect("localhost");
  clients["h2c"] = connect("plain.localhost");
});
afterAll(async () => {
  for (const client of Object.values(clients)) client.close();
  await gateway?.close();
  for (const server of Object.values(servers)) server.close();
  await raw?.close();
  await folder?.close();
});

const connect = (host: string, options: object = {}): NotesClient =>
  createNotesClient(
    `127.0.0.1:${gateway.port}`,
    { root: certificate.cert },
    {
      "grpc.default_authority": `${host}:${gateway.port}`,
      "grpc.ssl_target_name_override": host,
      ...options,
    },
  );

describe.each(["TLS", "h2c"])("to an upstream over %s", (kind) => {
  const server = (): NotesServer => servers[kind] as NotesServer;
  const client = (): NotesClient => clients[kind] as NotesClient;
  const three = ["a", "b", "c"].map((text) => ({ text }));
  const good = {
    code: status.OK,
    initial: { "x-initial": "first", "x-bytes-bin": Buffer.from([0, 255, 10]) },
    trailing: { "x-late": "last", "x-late-bin": Buffer.from([255, 0]) },
  };

  test("the four kinds of call pass, with metadata at the beginning and the end", async () => {
    expect(await client().say({ text: "hello" })).toMatchObject({ ...good, notes: [{ text: "hello" }] });
    expect(await client().collect(three)).toMatchObject({ ...good, notes: [{ text: "abc", count: 3 }] });
    expect(await client().repeat({ text: "n", count: 2 })).toMatchObject({
      ...good,
      notes: [{ text: "n0" }, { text: "n1" }],
    });
    expect(await client().chat(three)).toMatchObject({ ...good, notes: three });
  });

  test("a conversation goes back and forth while both sides are open", async () => {
    const { call, outcome } = client().openChat();
    for (const note of three) {
      const answered = new Promise((resolve) => call.once("data", resolve));
      call.write(note);
      expect(await answered).toEqual(note);
    }
    call.end();
    expect(await outcome).toMatchObject(good);
  });

  test("metadata of the caller reaches the server, bytes included", async () => {
    const sent = metadataOf({ "x-one": "1", "x-two-bin": Buffer.from([0, 1, 254]) });
    sent.add("x-one", "2");
    await client().say({ text: "" }, sent);
    const seen = server().seen.at(-1)?.metadata;
    expect(seen?.get("x-one").join(", ")).toBe("1, 2");
    expect(seen?.get("x-two-bin")).toEqual([Buffer.from([0, 1, 254])]);
  });

  test.each(["say", "collect", "repeat", "chat"] as const)(
    "a status of the server ends %s, with its words",
    async (kind) => {
      const fail = { code: status.FAILED_PRECONDITION, details: "not now: 100 % ä" };
      const note = { text: "x", fail };
      const outcome =
        kind === "say" || kind === "repeat" ? await client()[kind](note) : await client()[kind]([{ text: "y" }, note]);
      expect(outcome).toMatchObject({ ...fail, trailing: good.trailing });
    },
  );

  test("the server reports an unknown method itself, with trailers only", async () => {
    const { code, details } = await client().say({ text: "", fail: { code: status.NOT_FOUND, details: "nobody" } });
    expect([code, details]).toEqual([status.NOT_FOUND, "nobody"]);
  });

  test("a deadline reaches the server, and ends the call", async () => {
    await client().say({ text: "" }, undefined, { deadline: Date.now() + 60_000 });
    expect(server().seen.at(-1)?.deadline).not.toBe(Infinity);
    const outcome = await client().say({ text: "", hang: true }, undefined, { deadline: Date.now() + 300 });
    expect(outcome.code).toBe(status.DEADLINE_EXCEEDED);
  });

  test.each(["openSay", "openRepeat"] as const)(
    "%s cancelled by the client is cancelled at the server",
    async (open) => {
      const began = server().nextCall();
      const { call, outcome } = client()[open]({ text: "", count: 1, hang: true });
      const { cancelled } = await began;
      call.cancel();
      expect((await outcome).code).toBe(status.CANCELLED);
      await cancelled;
    },
  );

  test.each(["openCollect", "openChat"] as const)(
    "%s cancelled by the client is cancelled at the server",
    async (open) => {
      const began = server().nextCall();
      const { call, outcome } = client()[open]();
      call.write({ text: "a" });
      const { cancelled } = await began;
      call.cancel();
      expect((await outcome).code).toBe(status.CANCELLED);
      await cancelled;
    },
  );

  test.each([
    ["as it is", {}],
    ["compressed", GZIP],
  ])("a message of 8 MB passes both ways, %s", async (_, options) => {
    const text = "0123456789abcdef".repeat(524_288);
    const other = connect(kind === "TLS" ? "localhost" : "plain.localhost", options);
    const { code, notes } = await other.say({ text });
    other.close();
    expect([code, notes[0]?.text === text]).toEqual([status.OK, true]);
  });

  test("a stream is as fast as its reader", async () => {
    const { code, notes } = await client().repeat({ text: "z".repeat(10_000), count: 1_000 });
    expect([code, notes.length]).toEqual([status.OK, 1_000]);
  });

  test("many calls pass at the same time", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 400 }, (_, index) =>
        index % 2 === 0 ? client().say({ text: `${index}` }) : client().chat([{ text: `${index}` }]),
      ),
    );
    expect(outcomes.map(({ code, notes }) => [code, notes[0]?.text])).toEqual(
      outcomes.map((_, index) => [status.OK, `${index}`]),
    );
  });
});

test("compression and the wish for trailers are left as they are", async () => {
  const client = connect("raw.localhost", GZIP);
  await client.say({ text: "a".repeat(10_000) });
  client.close();
  const { headers, body } = raw.seen[0] as SeenHttp2;
  expect(headers).toMatchObject({
    ":path": "/test.Notes/Say",
    te: "trailers",
    "content-type": "application/grpc",
    "grpc-encoding": "gzip",
    "grpc-accept-encoding": expect.stringContaining("gzip"),
  });
  expect([body.charCodeAt(0), body.length < 1_000]).toEqual([1, true]);
});

test("clients reach a listener in the clear, too, where TLS ends before it", async () => {
  const clear = await startGateway({
    yaml: `routes: [{ from: "{origin}", to: "${servers["h2c"]?.origin}", http2: true, allow_public_unauthenticated_access: true }]`,
  });
  const client = createNotesClient(`localhost:${clear.port}`);
  try {
    expect(await client.chat([{ text: "a" }])).toMatchObject({ code: status.OK, notes: [{ text: "a" }] });
  } finally {
    client.close();
    await clear.close();
  }
});
