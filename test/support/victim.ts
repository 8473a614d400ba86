/**
 * A lenient upstream: a raw socket that stores every byte it gets and sends the configured response, correct or not.
 *
 * It models the victim of a smuggled or forged request: it checks nothing, so that the test sees everything that the gateway
 * forwards, as on the wire.
 */
import { createServer, type AddressInfo, type Socket } from "node:net";

export interface VictimRequest {
  /** Request line as it came. */
  readonly line: string;
  readonly method: string;
  /** Target as it came. */
  readonly target: string;
  /** Names in lower case. A name that came several times has all its values. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** Everything after the head, as far as Content-Length or chunked framing says. */
  readonly body: Buffer;
  /** Lines after the last chunk, as received. */
  readonly trailers: readonly string[];
  /** The one value of a header; undefined when absent, throws when it came several times. */
  header(lowerName: string): string | undefined;
}

export interface Victim {
  readonly port: number;
  readonly origin: string;
  /** Complete requests, in order of arrival. */
  readonly requests: readonly VictimRequest[];
  /** Every byte of every connection. */
  readonly received: string;
  readonly connections: number;
  /** From now on connections are handed to the test as soon as bytes come. */
  raw(handler: (socket: Socket) => void): void;
  /** Resolves with the request after `count` complete ones. */
  next(count?: number): Promise<VictimRequest>;
  /** Ends all its connections. */
  cut(): void;
  close(): Promise<void>;
}

export type VictimAnswer = (request: VictimRequest, socket: Socket) => void;

/** 200 with a short text. */
export const answerOk: VictimAnswer = (_request, socket) => {
  socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok");
};

/** @param answer called for each complete request */
export async function startVictim(answer: VictimAnswer = answerOk): Promise<Victim> {
  const requests: VictimRequest[] = [];
  const sockets = new Set<Socket>();
  const waiting: { readonly count: number; readonly resolve: (request: VictimRequest) => void }[] = [];
  let received = "";
  let connections = 0;
  let rawHandler: ((socket: Socket) => void) | undefined;

  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    let buffered: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
      if (rawHandler) {
        socket.removeAllListeners("data");
        socket.resume();
        rawHandler(socket);
        return;
      }
      buffered = Buffer.concat([buffered, chunk]);
      for (;;) {
        const parsed = takeRequest(buffered);
        if (!parsed) return;
        buffered = parsed.rest;
        requests.push(parsed.request);
        answer(parsed.request, socket);
        for (const each of waiting.filter(({ count }) => count < requests.length)) {
          waiting.splice(waiting.indexOf(each), 1);
          each.resolve(parsed.request);
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    requests,
    get received() {
      return received;
    },
    get connections() {
      return connections;
    },
    raw(handler) {
      rawHandler = handler;
    },
    next(count = requests.length) {
      const known = requests[count];
      if (known) return Promise.resolve(known);
      return new Promise((resolve) => {
        waiting.push({ count, resolve });
      });
    },
    cut() {
      for (const socket of sockets) socket.end();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/** The first request in what has come; undefined while it is not complete. */
export function takeRequest(bytes: Buffer): { readonly request: VictimRequest; readonly rest: Buffer } | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [line = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const headers = new Map<string, string[]>();
  for (const each of lines) {
    const colon = each.indexOf(":");
    const name = each.slice(0, colon).toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), each.slice(colon + 1).trim()]);
  }
  const after = bytes.subarray(end + 4);
  const body = takeBody(after, headers);
  if (!body) return undefined;
  const [method = "", target = ""] = line.split(" ");
  const request: VictimRequest = {
    line,
    method,
    target,
    headers,
    body: body.content,
    trailers: body.trailers,
    header(lowerName) {
      const values = headers.get(lowerName);
      if (values && values.length > 1) throw new Error(`"${lowerName}" came ${values.length} times`);
      return values?.[0];
    },
  };
  return { request, rest: after.subarray(body.length) };
}

function takeBody(bytes: Buffer, headers: ReadonlyMap<string, readonly string[]>): Body | undefined {
  if (headers.get("transfer-encoding")?.includes("chunked") === true) return takeChunks(bytes);
  const length = Number(headers.get("content-length")?.[0] ?? 0);
  return bytes.length < length ? undefined : { content: bytes.subarray(0, length), length, trailers: [] };
}

interface Body {
  readonly content: Buffer;
  readonly length: number;
  readonly trailers: readonly string[];
}

function takeChunks(bytes: Buffer): Body | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const start = lineEnd + 2;
    if (bytes.length < start + size + 2) return undefined;
    if (size === 0) {
      const content = Buffer.concat(parts);
      if (bytes.toString("latin1", start, start + 2) === "\r\n") return { content, length: start + 2, trailers: [] };
      const end = bytes.indexOf("\r\n\r\n", start);
      if (end === -1) return undefined;
      return { content, length: end + 4, trailers: bytes.toString("latin1", start, end).split("\r\n") };
    }
    parts.push(bytes.subarray(start, start + size));
    at = start + size + 2;
  }
}
