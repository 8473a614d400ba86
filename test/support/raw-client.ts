/** Speaks HTTP/1.1 byte by byte: for requests that no client library would send. */
import { connect, type Socket } from "node:net";

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: string;
  /** Everything that came, latin1. */
  readonly text: string;
}

/**
 * Sends bytes and reads until the server closes, or until nothing has come for `quietMs` after something came.
 *
 * @returns the first answer; status 0 when the connection was closed without one
 */
export function sendRaw(port: number, bytes: string, quietMs = 150): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    let timer = setTimeout(() => socket.destroy(), 20_000);
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), quietMs);
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(parseAnswer(text));
    });
    socket.write(Buffer.from(bytes, "latin1"));
  });
}

/** A connection held by the test, with the received bytes so far. */
export interface RawConnection {
  readonly socket: Socket;
  readonly text: string;
  /** Resolves when the text so far contains `part`. */
  contains(part: string): Promise<void>;
  readonly closed: Promise<void>;
}

export function openRaw(port: number, bytes = ""): RawConnection {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  const waiting = new Set<() => void>();
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    for (const check of waiting) check();
  });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  if (bytes !== "") socket.write(Buffer.from(bytes, "latin1"));
  return {
    socket,
    get text() {
      return text;
    },
    closed,
    contains(part) {
      return new Promise((resolve, reject) => {
        const check = (): void => {
          if (!text.includes(part)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        void closed.then(() =>
          reject(new Error(`closed before ${JSON.stringify(part)} came, got ${JSON.stringify(text)}`)),
        );
        check();
      });
    },
  };
}

export function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf("\r\n\r\n");
  const [line = "", ...lines] = (end === -1 ? text : text.slice(0, end)).split("\r\n");
  const headers = new Map<string, string[]>();
  for (const each of lines) {
    const colon = each.indexOf(":");
    const name = each.slice(0, colon).toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), each.slice(colon + 1).trim()]);
  }
  return { status: Number(line.split(" ")[1] ?? 0), headers, body: end === -1 ? "" : text.slice(end + 4), text };
}
