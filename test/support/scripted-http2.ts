/** An upstream that answers each stream of HTTP/2 with the frames that the test says, right or wrong. */
import { createServer, type AddressInfo, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

import type { Upstream } from "../../runtime/features/connection/compiled.ts";
import { block, FLAG, FRAME, frame, PREFACE, type Frame } from "./raw-h2.ts";

export interface ScriptedHttp2 {
  readonly origin: string;
  /** For the transport; each call makes another pool. */
  upstream(limits?: Partial<NonNullable<NonNullable<Upstream["connect"]>["limits"]>>): Upstream;
  readonly connections: number;
  readonly open: ReadonlySet<Socket>;
  /** Streams that were begun, over all connections. */
  readonly streams: number;
  /** Frames received on streams: DATA, RST_STREAM, and HEADERS after the first. */
  readonly seen: readonly Frame[];
  answer(script: Http2Script): void;
  close(): Promise<void>;
}

/** Called for the head of each stream. @param count of the stream on its connection, from 0 */
export type Http2Script = (stream: ScriptedStream, count: number) => void;

export interface ScriptedStream {
  readonly id: number;
  readonly socket: Socket;
  readonly endStream: boolean;
  send(...frames: readonly Buffer[]): void;
}

type Fields = readonly (readonly [name: string, value: string])[];

export const headers = (stream: ScriptedStream, fields: Fields, flags = 0): Buffer =>
  frame(FRAME.headers, FLAG.endHeaders | flags, stream.id, block(fields));
export const data = (stream: ScriptedStream, text: string, flags = 0): Buffer =>
  frame(FRAME.data, flags, stream.id, Buffer.from(text));
export const reset = (stream: ScriptedStream, code: number): Buffer => frame(FRAME.reset, 0, stream.id, uint(code));
/** @param stream 0: of the connection */
export const window = (stream: number, bytes: number): Buffer => frame(FRAME.window, 0, stream, uint(bytes));
export const goaway = (last: number, code: number): Buffer =>
  frame(FRAME.goaway, 0, 0, Buffer.concat([uint(last), uint(code)]));

export function uint(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** @param settings payload of our SETTINGS */
export async function startScriptedHttp2(
  first: Http2Script,
  { tls, settings = Buffer.alloc(0) }: { readonly tls?: TlsOptions; readonly settings?: Buffer } = {},
): Promise<ScriptedHttp2> {
  const open = new Set<Socket>();
  const seen: Frame[] = [];
  let connections = 0;
  let streams = 0;
  let pools = 0;
  let script = first;
  const accept = (socket: Socket): void => {
    connections += 1;
    open.add(socket);
    socket.setNoDelay(true);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    socket.write(frame(FRAME.settings, 0, 0, settings));
    const begun = new Set<number>();
    let buffered: Buffer = Buffer.alloc(0);
    let at = PREFACE.length;
    socket.on("data", (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      for (;;) {
        const length = buffered.length < at + 9 ? Infinity : buffered.readUIntBE(at, 3);
        if (buffered.length < at + 9 + length) return;
        const [type = 0, flags = 0] = buffered.subarray(at + 3, at + 5);
        const id = buffered.readUInt32BE(at + 5) & 0x7fffffff;
        const payload = buffered.subarray(at + 9, at + 9 + length);
        buffered = buffered.subarray(at + 9 + length);
        at = 0;
        if (type === FRAME.settings && (flags & FLAG.ack) === 0) socket.write(frame(FRAME.settings, FLAG.ack, 0));
        if (type === FRAME.headers && !begun.has(id)) {
          begun.add(id);
          streams += 1;
          const endStream = (flags & FLAG.endStream) !== 0;
          script({ id, socket, endStream, send: (...each) => void socket.write(Buffer.concat(each)) }, begun.size - 1);
        } else if (id !== 0) seen.push({ type, flags, stream: id, payload });
      }
    });
  };
  const server = tls ? createTlsServer({ ...tls, ALPNProtocols: ["h2"] }, accept) : createServer(accept);
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, tls ? "localhost" : "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origin = tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  return {
    origin,
    open,
    seen,
    upstream(limits) {
      pools += 1;
      const none = { maxConnections: undefined, maxPending: undefined, maxRequests: undefined };
      return {
        origin,
        host: new URL(origin).host,
        basePath: "",
        weight: 1,
        connect: {
          poolKey: `${origin} ${pools}`,
          http2: true,
          tls: { rejectUnauthorized: false },
          ...(limits && { limits: { ...none, ...limits } }),
        },
      };
    },
    get connections() {
      return connections;
    },
    get streams() {
      return streams;
    },
    answer: (next) => void (script = next),
    close() {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
