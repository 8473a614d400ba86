/**
 * gRPC-Web through the gateway: plain bodies with the trailers as their last frame, over each pair of HTTP versions. Server and
 * client are the protocol's few lines (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md).
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer as createHttp2, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type ListenerCertificates, openListenerCertificates } from "../support/certificates.ts";
import { type Pipeline, startPipeline } from "../support/pipeline.ts";

const PAGE = "https://page.example";
const open: { close(): unknown }[] = [];
const pipelines = new Map<string, Pipeline>();
let tls: ListenerCertificates;
/** Continues the streams that the server holds, oldest first. */
const held: (() => void)[] = [];

const frame = (flag: number, payload: string): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flag);
  prefix.writeUInt32BE(Buffer.byteLength(payload), 1);
  return Buffer.concat([prefix, Buffer.from(payload)]);
};

/** Calls are of the last part of the path; pages may call from PAGE. */
async function serve(request: IncomingMessage | Http2ServerRequest, response: ServerResponse): Promise<void> {
  response.setHeader("access-control-allow-origin", PAGE);
  if (request.method === "OPTIONS") {
    response.setHeader("access-control-allow-methods", "POST");
    response.setHeader("access-control-allow-headers", "content-type, x-grpc-web, x-user-agent, grpc-timeout");
    response.writeHead(204).end();
    return;
  }
  const type = String(request.headers["content-type"]);
  const isText = type.startsWith("application/grpc-web-text");
  const said = (await request.toArray()) as Buffer[];
  const bytes = Buffer.concat(said);
  const message = (isText ? Buffer.from(bytes.toString(), "base64") : bytes).subarray(5).toString();
  const coded = (part: Buffer): Buffer | string => (isText ? part.toString("base64") : part);
  response.setHeader("access-control-expose-headers", "grpc-status, grpc-message");
  response.setHeader("content-type", type);
  if (request.url === "/web.Notes/Refuse") {
    // An answer that is trailers only has them in its head.
    response.writeHead(200, { "grpc-status": "5", "grpc-message": "no%20such%20note" }).end();
    return;
  }
  const rest = ["1", "2"].map((each) => coded(frame(0, message + each)));
  const trailers = coded(frame(0x80, "grpc-status:0\r\ngrpc-message:\r\nx-late:yes\r\n"));
  if (request.url === "/web.Notes/Say") {
    response.write(coded(frame(0, `${message} with ${String(request.headers["grpc-timeout"] ?? "no")} timeout`)));
    response.end(trailers);
    return;
  }
  const [first = "", second = ""] = rest;
  response.write(first);
  await new Promise<void>((resolve) => held.push(resolve));
  response.write(second);
  response.end(trailers);
}

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  for (const version of ["HTTP/1.1", "HTTP/2"]) {
    const server =
      version === "HTTP/2"
        ? createHttp2((request: Http2ServerRequest, response: Http2ServerResponse) => {
            void serve(request, response as unknown as ServerResponse);
          })
        : createServer((request, response) => void serve(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push(server);
    const routes = ["/", "/closed", "/quick"].map((prefix) => ({
      from: "https://app.example",
      ...(prefix !== "/" && { prefix, prefix_rewrite: "/" }),
      ...(prefix === "/quick" && { timeout: "600ms" }),
      to: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      http2: version === "HTTP/2",
      cors_allow_preflight: true,
      policy: [{ allow: { and: [prefix !== "/closed" ? { accept: true } : { email: { is: "alice@example.com" } }] } }],
    }));
    pipelines.set(
      version,
      await startPipeline(`routes: ${JSON.stringify(routes)}`, { certificates: tls.certificates }),
    );
  }
});
afterAll(async () => {
  for (const pipeline of pipelines.values()) await pipeline.close();
  for (const each of open) each.close();
  await tls.close();
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Readable;
}
type Ask = (path: string, headers: Readonly<Record<string, string>>, body?: string, method?: string) => Promise<Answer>;

function askBy(client: string, { port }: Pipeline): { readonly ask: Ask; readonly close: () => void } {
  if (client === "HTTP/1.1") {
    const ask: Ask = (path, headers, body = "", method = "POST") =>
      new Promise((resolve, reject) => {
        const sent = httpsRequest(
          {
            host: "127.0.0.1",
            port,
            path,
            method,
            headers: { host: "app.example", ...headers },
            rejectUnauthorized: false,
            agent: false,
          },
          (answer) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer }),
        );
        sent.on("error", reject);
        sent.end(body);
      });
    return { ask, close: () => {} };
  }
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  const ask: Ask = (path, headers, body = "", method = "POST") =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ":method": method, ":path": path, ":authority": "app.example", ...headers });
      stream.on("error", reject);
      stream.once("response", (head) => resolve({ status: head[":status"] ?? 0, headers: head, body: stream }));
      stream.end(body);
    });
  return { ask, close: () => session.destroy() };
}

/** Each as "flag payload". */
function framesOf(bytes: Buffer): string[] {
  const frames: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    frames.push(`${bytes.readUInt8(at)} ${bytes.subarray(at + 5, end).toString()}`);
    at = end;
  }
  return frames;
}

const TRAILERS = "128 grpc-status:0\r\ngrpc-message:\r\nx-late:yes\r\n";
const BINARY = { "content-type": "application/grpc-web+proto", "x-grpc-web": "1", origin: PAGE };
const TEXT = { ...BINARY, "content-type": "application/grpc-web-text" };

describe.each([
  ["HTTP/1.1", "HTTP/1.1"],
  ["HTTP/1.1", "HTTP/2"],
  ["HTTP/2", "HTTP/1.1"],
  ["HTTP/2", "HTTP/2"],
])("from %s to %s", (client, version) => {
  let ask: Ask;
  let close: () => void;
  beforeAll(() => ({ ask, close } = askBy(client, pipelines.get(version) as Pipeline)));
  afterAll(() => close());

  test("a call passes, with its trailers in the body", async () => {
    const answer = await ask("/web.Notes/Say", { ...BINARY, "grpc-timeout": "5S" }, frame(0, "hello").toString());
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/grpc-web+proto"]);
    expect(answer.headers["access-control-expose-headers"]).toBe("grpc-status, grpc-message");
    expect(framesOf(Buffer.concat((await answer.body.toArray()) as Buffer[]))).toEqual([
      "0 hello with 5S timeout",
      TRAILERS,
    ]);
  });

  test("a call in text passes, each part as it was coded", async () => {
    const answer = await ask("/web.Notes/Say", TEXT, frame(0, "hello").toString("base64"));
    const text = Buffer.concat((await answer.body.toArray()) as Buffer[]).toString();
    const parts = text.match(/[^=]+={0,2}/g) ?? [];
    const bytes = Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
    expect(framesOf(bytes)).toEqual(["0 hello with no timeout", TRAILERS]);
  });

  test("a stream comes as it is sent", async () => {
    const answer = await ask("/web.Notes/Repeat", BINARY, frame(0, "n").toString());
    const chunks: Buffer[] = [];
    for await (const chunk of answer.body) {
      // The server holds the rest until then.
      if (chunks.length === 0) {
        expect(framesOf(chunk as Buffer)).toEqual(["0 n1"]);
        held.shift()?.();
      }
      chunks.push(chunk as Buffer);
    }
    expect(framesOf(Buffer.concat(chunks))).toEqual(["0 n1", "0 n2", TRAILERS]);
  });

  test("a stream may be silent, where another answer would be cut", async () => {
    const ours = await ask("/quick/web.Notes/Repeat", BINARY, frame(0, "n").toString());
    const other = await ask("/quick/web.Notes/Repeat", { "content-type": "text/plain" }, frame(0, "n").toString());
    // It began later.
    await expect(other.body.toArray()).rejects.toThrow();
    for (const resume of held.splice(0)) resume();
    expect(framesOf(Buffer.concat((await ours.body.toArray()) as Buffer[]))).toEqual(["0 n1", "0 n2", TRAILERS]);
  });

  test("a status in the head passes, and pages may read it", async () => {
    const { status, headers } = await ask("/web.Notes/Refuse", BINARY, frame(0, "").toString());
    expect([status, headers["grpc-status"], headers["grpc-message"]]).toEqual([200, "5", "no%20such%20note"]);
    expect(headers["access-control-expose-headers"]).toBe("grpc-status, grpc-message");
  });

  test("the upstream answers a preflight on a route that requires sign-in", async () => {
    const { status, headers } = await ask(
      "/closed/web.Notes/Say",
      {
        origin: PAGE,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,grpc-timeout,x-grpc-web",
      },
      undefined,
      "OPTIONS",
    );
    expect([status, headers["access-control-allow-origin"]]).toEqual([204, PAGE]);
    expect(headers["access-control-allow-headers"]).toContain("grpc-timeout");
  });

  test("a denied caller gets an HTTP status", async () => {
    const { status, headers } = await ask("/closed/web.Notes/Say", BINARY, frame(0, "").toString());
    expect([status, headers["content-type"]]).toEqual([401, "application/json"]);
    expect(headers).not.toHaveProperty("grpc-status");
  });
});
