/** Clients and upstreams of both versions of HTTP that send and see trailers. */
import {
  connect as connectHttp2,
  createServer as createHttp2,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";

import { startScriptedUpstream } from "./scripted-upstream.ts";
import { sendRaw } from "./raw-client.ts";

/** Also what node:http2 takes for a mistake: a second ETag. */
const AS_THEY_ARE = { strictSingleValueFields: false };

/** Name, value. */
export type Fields = readonly (readonly [string, string])[];

export interface SeenRequest {
  /** Names in lower case, several values joined. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly trailers: Fields;
}

export interface TrailerUpstream {
  readonly origin: string;
  readonly http2: boolean;
  readonly seen: readonly SeenRequest[];
  /** Sets its response, with the body "answer". */
  answer(trailers: Fields, headers?: Fields): void;
  close(): Promise<void>;
}

export async function startTrailerUpstream(version: "HTTP/1.1" | "HTTP/2"): Promise<TrailerUpstream> {
  return version === "HTTP/2" ? startHttp2() : startHttp1();
}

async function startHttp1(): Promise<TrailerUpstream> {
  const seen: SeenRequest[] = [];
  let trailers: Fields = [];
  let headers: Fields = [];
  const server = await startScriptedUpstream((socket, request) => {
    seen.push({
      headers: Object.fromEntries([...request.headers].map(([name, values]) => [name, values.join("; ")])),
      body: request.body.toString(),
      trailers: request.trailers.map((line) => line.split(": ") as unknown as [string, string]),
    });
    const lines = (fields: Fields): string => fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const isChunked = !headers.some(([name]) => name === "content-length");
    const body = isChunked ? `6\r\nanswer\r\n0\r\n${lines(trailers)}\r\n` : "answer";
    socket.write(
      `HTTP/1.1 200 OK\r\n${isChunked ? "transfer-encoding: chunked\r\n" : ""}${lines(headers)}\r\n${body}`,
      "latin1",
    );
  });
  return {
    origin: server.origin,
    http2: false,
    seen,
    answer(next, head = []) {
      trailers = next;
      headers = head;
    },
    close: () => server.close(),
  };
}

async function startHttp2(): Promise<TrailerUpstream> {
  const seen: SeenRequest[] = [];
  let trailers: Fields = [];
  let headers: Fields = [];
  const sessions = new Set<ServerHttp2Session>();
  const server = createHttp2(AS_THEY_ARE);
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream: ServerHttp2Stream, head: IncomingHttpHeaders) => {
    let body = "";
    let late: Fields = [];
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => (body += chunk.toString()));
    stream.on("trailers", (_object, _flags, raw) => (late = pairs(raw as unknown as readonly string[])));
    stream.on("end", () => {
      // Node also ends streams that RST_STREAM aborted.
      if (stream.closed) return;
      const shown = Object.entries(head).map(([name, value]) => [name, [value].flat().join("; ")] as const);
      seen.push({ headers: Object.fromEntries(shown), body, trailers: late });
      stream.respond([":status", "200", ...headers.flat()], { waitForTrailers: true });
      stream.once("wantTrailers", () => stream.sendTrailers(objectOf(trailers)));
      stream.end("answer");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    http2: true,
    seen,
    answer(next, head = []) {
      trailers = next;
      headers = head;
    },
    close() {
      for (const session of sessions) session.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

export interface TrailerRequest {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Fields;
  readonly trailers?: Fields;
}

export interface TrailerAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly trailers: Fields;
  /** The end of it was there. */
  readonly isWhole: boolean;
}

/** Sends the body "body" in chunks, unless a length is among the headers, to app.example. */
export async function sendOverHttp1(port: number, request: TrailerRequest): Promise<TrailerAnswer> {
  const { path = "/", method = "POST", headers = [], trailers = [] } = request;
  const lines = (fields: Fields): string => fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const isChunked = !headers.some(([name]) => name.toLowerCase() === "content-length");
  const hasConnection = headers.some(([name]) => name.toLowerCase() === "connection");
  const answer = await sendRaw(
    port,
    `${method} ${path} HTTP/1.1\r\nHost: app.example\r\n${hasConnection ? "" : "Connection: close\r\n"}${isChunked ? "Transfer-Encoding: chunked\r\n" : ""}${lines(headers)}\r\n${
      isChunked ? `4\r\nbody\r\n0\r\n${lines(trailers)}\r\n` : "body"
    }`,
  );
  const shown = [...answer.headers].map(([name, values]) => [name, values.join("; ")] as const);
  const parts = /^([0-9a-f]+)\r\n([^]*?)\r\n0\r\n([^]*?)\r\n$/.exec(answer.body);
  return {
    status: answer.status,
    headers: Object.fromEntries(shown),
    body: parts?.[2] ?? answer.body,
    trailers: (parts?.[3] ?? "")
      .split("\r\n")
      .filter((line) => line !== "")
      .map((line) => line.split(": ") as unknown as [string, string]),
    isWhole: parts !== null || answer.headers.has("content-length"),
  };
}

/** The same over TLS and HTTP/2. */
export async function sendOverHttp2(port: number, request: TrailerRequest): Promise<TrailerAnswer> {
  const { path = "/", method = "POST", headers = [], trailers = [] } = request;
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, ...AS_THEY_ARE });
  session.on("error", () => {});
  try {
    const head = [":method", method, ":path", path, ":authority", "app.example", ":scheme", "https"];
    const stream = session.request([...head, ...headers.flat()], { endStream: false, waitForTrailers: true });
    let status = 0;
    let shown: Readonly<Record<string, string>> = {};
    let body = "";
    let late: Fields = [];
    stream.once("wantTrailers", () => stream.sendTrailers(objectOf(trailers)));
    stream.on("response", (object) => {
      status = Number(object[":status"]);
      shown = Object.fromEntries(Object.entries(object).map(([name, value]) => [name, [value].flat().join("; ")]));
    });
    stream.on("data", (chunk: Buffer) => (body += chunk.toString()));
    stream.on("trailers", (_object, _flags, raw) => (late = pairs(raw as unknown as readonly string[])));
    stream.on("error", () => {});
    stream.end("body");
    await new Promise((resolve) => stream.once("close", resolve));
    return { status, headers: shown, body, trailers: late, isWhole: stream.rstCode === 0 && status !== 0 };
  } finally {
    session.destroy();
  }
}

function pairs(flat: readonly string[]): Fields {
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ""] as const] : []));
}

function objectOf(fields: Fields): OutgoingHttpHeaders {
  const object: Record<string, string[]> = {};
  for (const [name, value] of fields) (object[name] ??= []).push(value);
  return object;
}
