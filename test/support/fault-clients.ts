/** Exchanges of the fault injection, each on a connection of its own, and what a client sees of its end. */
import { connect as connectHttp2, type ClientHttp2Stream } from "node:http2";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** Result: a status (0: none), the body, and whether the response declares itself complete. */
export interface Seen {
  readonly status: number;
  readonly body: string;
  readonly isWhole: boolean;
}

export interface Asked {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent in two pieces. */
  readonly body?: string;
  /** Leaves when something has come, without its end. */
  readonly leaves?: boolean;
  /** A proxy in front reports the client. */
  readonly isProxied?: boolean;
}

/** An answer that is still coming. */
export interface Open {
  readonly seen: Promise<Seen>;
  /** Resolves when this came. */
  contains(text: string): Promise<void>;
  write(text: string): void;
  /** Ends the side of the client. */
  end(): void;
  cut(): void;
  readonly isOver: boolean;
}

const PROXY_HEAD = "PROXY TCP4 192.0.2.1 192.0.2.2 1024 80\r\n";
const portOf = (origin: string): number => Number(new URL(origin).port);

export function openHttp1({ origin, host, path, method = "GET", headers = {}, body, leaves, isProxied }: Asked): Open {
  const socket: Socket = origin.startsWith("https:")
    ? connectTls({ port: portOf(origin), host: "127.0.0.1", servername: host, rejectUnauthorized: false })
    : connect(portOf(origin), "127.0.0.1");
  if (isProxied === true) socket.write(PROXY_HEAD);
  const isUpgrade = headers["upgrade"] !== undefined;
  const head = Object.entries({
    host,
    ...(isUpgrade ? {} : { connection: "close" }),
    ...(body === undefined ? {} : { "content-length": String(body.length) }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${head.join("")}\r\n`);
  if (body !== undefined) {
    socket.write(body.slice(0, 4));
    setImmediate(() => void (socket.destroyed || socket.write(body.slice(4))));
  }
  return opened(
    (add, over) => {
      socket.on("error", () => {});
      socket.on("data", (chunk: Buffer) => {
        add(chunk.toString("latin1"));
        if (leaves === true) socket.destroy();
      });
      socket.on("close", over);
    },
    (text) => void (text === undefined ? socket.end() : socket.write(text)),
    readHttp1,
    () => socket.destroy(),
  );
}

export function openHttp2({ origin, host, path, method = "GET", headers = {}, body, leaves, isProxied }: Asked): Open {
  const session = connectHttp2(origin, {
    servername: host,
    rejectUnauthorized: false,
    ...(isProxied === true && { createConnection: () => connectProxied(portOf(origin)) }),
  });
  session.on("error", () => {});
  const isConnect = method === "CONNECT";
  const isTunnel = isConnect || headers["x-open"] !== undefined;
  let status = 0;
  let isWhole = false;
  let stream: ClientHttp2Stream | undefined;
  let early: string | undefined;
  const isGrpc = headers["content-type"] === "application/grpc";
  let grpcStatus: unknown;
  return opened(
    (add, over) => {
      session.on("close", over);
      const begin = (): void => {
        const scheme = new URL(origin).protocol.slice(0, -1);
        stream = session.request(
          { ":method": method, ":path": path, ":scheme": scheme, ":authority": host, ...headers },
          { endStream: body === undefined && !isTunnel },
        );
        if (early !== undefined) stream.write(early);
        stream.on("error", () => {});
        stream.on("response", (head) => {
          status = head[":status"] ?? 0;
          grpcStatus = head["grpc-status"];
        });
        stream.on("trailers", (trailers) => (grpcStatus ??= trailers["grpc-status"]));
        stream.on("data", (chunk: Buffer) => {
          add(chunk.toString("latin1"));
          if (leaves === true) session.destroy();
        });
        stream.on("end", () => (isWhole = status !== 0 && stream?.rstCode === 0 && !stream.aborted));
        stream.on("close", () => {
          isWhole &&= stream?.rstCode === 0 && (!isGrpc || grpcStatus === "0");
          session.destroy();
        });
        if (body !== undefined) {
          stream.write(body.slice(0, 4));
          stream.end(body.slice(4));
        }
      };
      // An extended CONNECT needs the server's support, announced in its settings.
      if (isConnect) session.once("remoteSettings", begin);
      else begin();
    },
    (text) => {
      if (text === undefined) stream?.end();
      else if (stream) stream.write(text);
      else early = text;
    },
    (text) => ({ status, body: text, isWhole }),
    () => session.destroy(),
  );
}

function connectProxied(port: number): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.write(PROXY_HEAD);
  return socket;
}

function opened(
  listen: (add: (text: string) => void, over: () => void) => void,
  write: (text: string | undefined) => void,
  read: (text: string) => Seen,
  cut: () => void,
): Open {
  let text = "";
  let isOver = false;
  const waiting = new Set<() => void>();
  const changed = (): void => {
    for (const check of waiting) check();
  };
  const seen = new Promise<Seen>((resolve) => {
    listen(
      (more) => {
        text += more;
        changed();
      },
      () => {
        isOver = true;
        changed();
        resolve(read(text));
      },
    );
  });
  return {
    seen,
    write,
    end: () => write(undefined),
    cut,
    get isOver() {
      return isOver;
    },
    contains: (part) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!isOver && !text.includes(part)) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}

/** Result of a connection that has ended. */
function readHttp1(text: string): Seen {
  const interim = "HTTP/1.1 100 Continue\r\n\r\n";
  if (text.startsWith(interim)) return readHttp1(text.slice(interim.length));
  const end = text.indexOf("\r\n\r\n");
  const status = Number(text.slice(9, 12)) || 0;
  if (end === -1) return { status: 0, body: "", isWhole: false };
  const head = text.slice(0, end).toLowerCase();
  const rest = text.slice(end + 4);
  if (status === 101) return { status, body: rest, isWhole: true };
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  if (length !== undefined) return { status, body: rest, isWhole: rest.length === Number(length) };
  if (!head.includes("transfer-encoding: chunked")) return { status, body: rest, isWhole: false };
  let body = "";
  for (let at = 0; ;) {
    const line = rest.indexOf("\r\n", at);
    const size = line === -1 ? Number.NaN : Number.parseInt(rest.slice(at, line), 16);
    if (Number.isNaN(size)) return { status, body, isWhole: false };
    if (size === 0) return { status, body, isWhole: rest.endsWith("\r\n\r\n") };
    body += rest.slice(line + 2, line + 2 + size);
    at = line + 4 + size;
  }
}
