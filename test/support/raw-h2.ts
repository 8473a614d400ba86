/** Speaks HTTP/2 frame by frame, over TLS or in the clear: for sequences that no client library would send. @see RFC 9113, RFC 7541 */
import { connect as connectTcp, type Socket } from "node:net";
import { connect } from "node:tls";

import { POLL_MS } from "./limits.ts";

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** @see RFC 9113 §7 */
export const ERROR = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  settingsTimeout: 4,
  streamClosed: 5,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Outcome of one stream, or of the connection. */
export interface Outcome {
  /** Status of the stream's answer. */
  readonly status?: number;
  /** Error code of RST_STREAM. */
  readonly reset?: number;
  /** Error code of GOAWAY. */
  readonly goaway?: number;
  /** The answer had its END_STREAM. */
  readonly ended?: boolean;
  /** The connection was closed without any of the above: a closed socket may lose a GOAWAY. */
  readonly closed?: boolean;
}

export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Literal fields without indexing and without Huffman (RFC 7541 §6.2.2): every byte as written. */
export function block(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]));
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  return Buffer.concat([integer(bytes.length, 7), bytes]);
}

function integer(value: number, bits: number): Buffer {
  const max = 2 ** bits - 1;
  if (value < max) return Buffer.from([value]);
  const bytes = [max];
  let rest = value - max;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}

export interface RawHttp2 {
  readonly socket: Socket;
  readonly frames: readonly Frame[];
  send(...frames: readonly Buffer[]): void;
  /** Resolves when the stream, or the connection, has come to its end. */
  outcome(stream: number): Promise<Outcome>;
  /** Resolves with the first frame that the test looks for. */
  find(which: (frame: Frame) => boolean): Promise<Frame>;
  /** The server has closed the connection. */
  readonly closed: Promise<void>;
  close(): void;
}

/** Connects, negotiates h2 unless in plain text, and sends the preface with SETTINGS, empty by default. */
export async function openHttp2(
  port: number,
  options: { readonly preface?: Buffer; readonly clear?: boolean } = {},
): Promise<RawHttp2> {
  const socket: Socket =
    options.clear === true
      ? connectTcp(port, "127.0.0.1")
      : connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  const ready = options.clear === true ? "connect" : "secureConnect";
  await new Promise<void>((resolve, reject) => socket.once(ready, resolve).once("error", reject));
  const frames: Frame[] = [];
  const waiting = new Set<() => void>();
  let buffered: Buffer = Buffer.alloc(0);
  let isClosed = false;
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const changed = (): void => {
    for (const check of Array.from(waiting)) check();
  };
  socket.on("data", (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    for (;;) {
      const length = buffered.length < 9 ? Infinity : buffered.readUIntBE(0, 3);
      if (buffered.length < 9 + length) break;
      const [type = 0, flags = 0] = buffered.subarray(3, 5);
      const stream = buffered.readUInt32BE(5) & 0x7fffffff;
      frames.push({ type, flags, stream, payload: buffered.subarray(9, 9 + length) });
      buffered = buffered.subarray(9 + length);
    }
    changed();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    isClosed = true;
    changed();
  });
  socket.write(options.preface ?? Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0)]));

  const until = <T>(look: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`nothing of it came: ${describe(frames)}`)), POLL_MS);
      const check = (): void => {
        const found = look();
        if (found === undefined) return;
        clearTimeout(timer);
        waiting.delete(check);
        resolve(found);
      };
      waiting.add(check);
      check();
    });

  return {
    socket,
    frames,
    send: (...each) => void socket.write(Buffer.concat(each)),
    find: (which) => until(() => frames.find(which)),
    outcome: (stream) => until(() => outcomeOf(frames, stream, isClosed)),
    closed,
    close: () => socket.destroy(),
  };
}

function outcomeOf(frames: readonly Frame[], stream: number, closed: boolean): Outcome | undefined {
  const own = frames.filter((each) => each.stream === stream);
  const head = own.find((each) => each.type === FRAME.headers);
  const reset = own.find((each) => each.type === FRAME.reset);
  const goaway = frames.find((each) => each.type === FRAME.goaway && each.payload.readUInt32BE(4) !== ERROR.none);
  const ended = own.some(
    (each) => (each.type === FRAME.data || each.type === FRAME.headers) && (each.flags & FLAG.endStream) !== 0,
  );
  if (!reset && !goaway && !ended && !closed) return undefined;
  return {
    ...(head && { status: statusOf(head.payload) }),
    ...(reset && { reset: reset.payload.readUInt32BE(0) }),
    ...(goaway && { goaway: goaway.payload.readUInt32BE(4) }),
    ...(ended && { ended }),
    ...(!reset && !goaway && !ended && { closed }),
  };
}

const STATIC_STATUS: Readonly<Record<number, number>> = { 8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500 };

/** `:status` comes first: indexed, or three digits with the name indexed (RFC 7541, appendices A and B). */
function statusOf(payload: Buffer): number {
  let at = 0;
  // A change of the table size may come before.
  while (((payload[at] ?? 0) & 0xe0) === 0x20) at += 1;
  const first = payload[at] ?? 0;
  if ((first & 0x80) !== 0) return STATIC_STATUS[first & 0x7f] ?? 0;
  const length = payload[at + 1] ?? 0;
  const bytes = payload.subarray(at + 2, at + 2 + (length & 0x7f));
  return Number((length & 0x80) === 0 ? bytes.toString("latin1") : huffmanDigits(bytes));
}

function huffmanDigits(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  let digits = "";
  for (let at = 0; digits.length < 3;) {
    const five = Number.parseInt(bits.slice(at, at + 5), 2);
    if (five <= 2) {
      digits += String(five);
      at += 5;
    } else {
      digits += String(Number.parseInt(bits.slice(at, at + 6), 2) - 22);
      at += 6;
    }
  }
  return digits;
}

function describe(frames: readonly Frame[]): string {
  return JSON.stringify(frames.map(({ type, flags, stream, payload }) => [type, flags, stream, payload.length]));
}
