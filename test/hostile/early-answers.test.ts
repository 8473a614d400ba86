/**
 * Upstreams that respond before they have read the whole request, and close or not: the response reaches the client,
 * over either version of HTTP. The upstream is a separate process, so that its response and its reset arrive together.
 *
 * @see RFC 9112 §9.6, RFC 9113 §8.1
 */
import { type ChildProcess, spawn } from "node:child_process";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { parseAnswer } from "../support/raw-client.ts";
import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { makeTestCertificate } from "../support/certificates.ts";

const UPLOAD_BYTES = 4 * 1_048_576;
const ROUNDS = 15;
const ANSWER = "HTTP/1.1 413 Content Too Large\\r\\ncontent-length: 7\\r\\n\\r\\ntoo big";
const certificate = makeTestCertificate({ name: "upstream", dns: ["localhost"] });

/** Answers at the first bytes of a body and then, by its argument: reads no more and resets, ends, or reads all. */
const UPSTREAMS: Readonly<Record<string, string>> = {
  "HTTP/1.1, reset": `import { createServer } from "node:net"; serve(createServer((socket) => answer(socket, () => socket.destroy())));`,
  "HTTP/1.1, ended": `import { createServer } from "node:net"; serve(createServer((socket) => answer(socket, () => socket.end())));`,
  "HTTP/1.1, kept": `import { createServer } from "node:net"; serve(createServer((socket) => answer(socket, () => {})));`,
  "HTTP/1.1 over TLS, reset": `import { createServer } from "node:tls"; serve(createServer(${JSON.stringify({ cert: certificate.cert, key: certificate.key })}, (socket) => answer(socket, () => socket.destroy())));`,
  "HTTP/2": `import { createServer } from "node:http2"; const server = createServer();
    server.on("stream", (stream) => { stream.on("error", () => {}); stream.respond({ ":status": 413 }); stream.end("too big", () => stream.close(0)); }); serve(server);`,
};
const COMMON = `
  function serve(server) { server.listen(0, "127.0.0.1", () => process.stdout.write(String(server.address().port))); }
  function answer(socket, then) {
    socket.on("error", () => {});
    socket.once("data", () => { socket.write("${ANSWER}"); setImmediate(then); });
  }`;

const children: ChildProcess[] = [];
const names = Object.keys(UPSTREAMS);
const hostOf = (name: string): string => `u${names.indexOf(name)}.example`;
let pipeline: Pipeline;

beforeAll(async () => {
  const ports = await Promise.all(
    names.map((name) => {
      const program = `${UPSTREAMS[name]}${COMMON}`;
      const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      children.push(child);
      return new Promise<string>((resolve) => child.stdout.once("data", (text: Buffer) => resolve(text.toString())));
    }),
  );
  const routes = names.map((name, index) => {
    const secure = name.includes("TLS");
    const to = `${secure ? "https://localhost" : "http://127.0.0.1"}:${ports[index]}`;
    const settings = `${secure ? ", tls_skip_verify: true" : ""}${name === "HTTP/2" ? ", http2: true" : ""}`;
    return `\n  - { from: "https://${hostOf(name)}", to: "${to}", allow_public_unauthenticated_access: true${settings} }`;
  });
  pipeline = await startPipeline(`routes:${routes.join("")}`);
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await pipeline.close();
});

describe.each(names)("an early answer of an upstream (%s)", (name) => {
  test("reaches clients of HTTP/1.1 that still send", async () => {
    const answers = [];
    for (let round = 0; round < ROUNDS; round++) answers.push(await uploadHttp1(hostOf(name)));
    expect(new Set(answers)).toEqual(new Set(["413 too big"]));
  });

  test("reaches clients of HTTP/2 that still send", async () => {
    const answers = [];
    for (let round = 0; round < ROUNDS; round++) answers.push(await uploadHttp2(hostOf(name)));
    expect(new Set(answers)).toEqual(new Set(["413 too big"]));
  });
});

/** @returns status and body, or how it failed */
function uploadHttp1(host: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(pipeline.port, "127.0.0.1");
    let text = "";
    let failure = "closed";
    socket.on("error", (error) => (failure = error.message));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      // In one piece, or behind the length of its chunk.
      if (!text.endsWith("too big") && !text.endsWith("\r\ntoo big\r\n0\r\n\r\n")) return;
      resolve(`${parseAnswer(text).status} too big`);
      socket.destroy();
    });
    socket.on("close", () => resolve(`${failure} ${text}`));
    socket.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${UPLOAD_BYTES}\r\n\r\n`);
    socket.write(Buffer.alloc(UPLOAD_BYTES));
  });
}

function uploadHttp2(host: string): Promise<string> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://127.0.0.1:${pipeline.port}`);
    const finish = (outcome: string): void => {
      resolve(outcome);
      session.destroy();
    };
    session.on("error", (error) => finish(error.message));
    const stream = session.request({ ":method": "POST", ":authority": host, "content-length": UPLOAD_BYTES });
    let status: number | undefined;
    let text = "";
    stream.on("response", (headers) => (status = headers[":status"]));
    stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    stream.on("error", (error) => finish(error.message));
    stream.on("close", () => finish(`${status} ${text}`));
    stream.end(Buffer.alloc(UPLOAD_BYTES));
  });
}
