/**
 * Behind a load balancer that terminates TLS: HTTP/2 in plain text through a whole gateway, in addition to HTTP/1.1 on
 * the same address.
 */
import { connect, type IncomingHttpHeaders } from "node:http2";

import { afterAll, beforeAll, expect, test } from "vitest";

import {
  createNotesClient,
  metadataOf,
  type NotesClient,
  type NotesServer,
  startNotesServer,
  status,
} from "../support/grpc.ts";
import { freePort } from "../support/ports.ts";
import { sendRaw } from "../support/raw-client.ts";
import { PREFACE } from "../support/raw-h2.ts";
import { runGateway, type RunningGateway } from "../support/run-gateway.ts";

let server: NotesServer;
let gateway: RunningGateway;
let client: NotesClient;
let port: number;

beforeAll(async () => {
  server = await startNotesServer();
  port = await freePort();
  const route = { from: `http://localhost:${port}`, to: server.origin, http2: true };
  gateway = await runGateway({
    boot: { address: `127.0.0.1:${port}`, xff_num_trusted_hops: 1 },
    yaml: `routes: ${JSON.stringify([{ ...route, allow_public_unauthenticated_access: true }])}`,
  });
  client = createNotesClient(`127.0.0.1:${port}`, undefined, { "grpc.default_authority": `localhost:${port}` });
});
afterAll(async () => {
  client?.close();
  await gateway?.close();
  server?.close();
});

test("a gRPC client with insecure credentials makes all four kinds of call", async () => {
  const three = ["a", "b", "c"].map((text) => ({ text }));
  const good = { code: status.OK, trailing: { "x-late": "last" } };
  expect(await client.say({ text: "hello" }, metadataOf({ "x-forwarded-for": "192.0.2.9" }))).toMatchObject({
    ...good,
    notes: [{ text: "hello" }],
  });
  expect(server.seen.at(-1)?.metadata.get("x-forwarded-for").join()).toMatch(/^192\.0\.2\.9/);
  expect(await client.collect(three)).toMatchObject({ ...good, notes: [{ text: "abc" }] });
  expect(await client.repeat({ text: "n", count: 2 })).toMatchObject({
    ...good,
    notes: [{ text: "n0" }, { text: "n1" }],
  });
  expect(await client.chat(three)).toMatchObject({ ...good, notes: three });
});

test("node:http2 and HTTP/1.1 are served on the same address", async () => {
  const session = connect(`http://localhost:${port}`);
  const stream = session.request({ ":path": "/healthz", ":authority": `localhost:${port}` });
  const head = await new Promise<IncomingHttpHeaders>((resolve, reject) =>
    stream.once("response", resolve).once("error", reject),
  );
  const answer = await fetch(`http://localhost:${port}/healthz`);
  expect([head[":status"], answer.status]).toEqual([415, 415]);
  session.destroy();
});

test("the admin listener speaks HTTP/1.1 alone", async () => {
  const { text } = await sendRaw(
    Number(new URL(gateway.adminOrigin).port),
    `${PREFACE.toString("latin1")}\0\0\0\x04\0\0\0\0\0`,
  );
  expect(text).not.toContain("\0");
  expect(text).toMatch(/^(?:HTTP\/1\.1 400 |$)/);
});
