/**
 * HTTP/1.1 requests of clients, by our reader and by Node's own server: what ours takes, Node's takes for the same requests, and
 * what Node's refuses ours refuses; the same however the bytes are cut.
 */
import { createServer, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";

import { checkHead } from "../../../runtime/http/listener/accept-h1.ts";
import { RequestReader } from "../../../runtime/http/http1-server/request-reader.ts";
import { must, mustEqual } from "../oracle.ts";

interface Request {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly headers: readonly string[];
  body: string;
  trailers: readonly string[];
  isWhole: boolean;
}

interface Heard {
  readonly requests: readonly Request[];
  readonly problem: string | undefined;
  /** Nothing has begun and not ended. */
  readonly isAtEnd: boolean;
}

export async function fuzz(data: Uint8Array): Promise<void> {
  const bytes = Buffer.from(data);
  const ours = hear([bytes]);
  const cut = hear([...bytes].map((byte) => Buffer.of(byte)));
  mustEqual(cut.problem === undefined, ours.problem === undefined, "cut in bytes it is refused, or only whole");
  mustEqual(cut.requests, ours.requests, "cut in bytes these are other requests");
  for (const { headers } of ours.requests) {
    const names = headers.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
    must(!(names.includes("content-length") && names.includes("transfer-encoding")), "two framings", names);
    must(names.filter((name) => name === "content-length").length <= 1, "two lengths", names);
  }
  // What follows is another protocol's to node:http; the gateway refuses it.
  if (ours.requests.some(({ method }) => method === "CONNECT")) return;
  const node = await askNode(bytes);
  // Of a beginning each says what it thinks when it likes.
  const isComplete = ours.isAtEnd;
  if (isComplete) must(node.problem === undefined, "Node's parser refuses it", node.problem);
  for (const [at, request] of ours.requests.entries()) {
    const other = node.requests[at];
    // Half a body shows only how much had come when somebody looked.
    if (request.isWhole || other === undefined) mustEqual(other, request, "Node's parser reads another request");
    else mustEqual(headOf(other), headOf(request), "Node's parser reads another head");
  }
  if (isComplete) mustEqual(node.requests.length, ours.requests.length, "Node's parser reads more");
}

const NOTHING = Buffer.alloc(0);
const headOf = ({ method, target, version, headers }: Request): unknown => [method, target, version, headers];

/** As a connection does it: up to what is refused, or is the last request. */
function hear(pieces: readonly Buffer[]): Heard {
  const requests: Request[] = [];
  let refused: string | undefined;
  let isLast = false;
  const reader = new RequestReader({
    onHead(head, isWhole, body = NOTHING) {
      const { method, target, isHttp10, rawHeaders: headers } = head;
      const checked = checkHead(head, false, "none");
      if (checked.ok) {
        const version = isHttp10 ? "1.0" : "1.1";
        requests.push({ method, target, version, headers, body: body.toString("latin1"), trailers: [], isWhole });
      } else refused = checked.reason;
      isLast = head.closes || !head.keepsAlive;
    },
    onData(chunk) {
      const request = refused === undefined ? requests.at(-1) : undefined;
      if (request) request.body += chunk.toString("latin1");
    },
    onEnd(trailers = [], closes) {
      isLast ||= closes;
      const request = refused === undefined ? requests.at(-1) : undefined;
      if (request) Object.assign(request, { trailers, isWhole: true });
    },
  });
  for (const piece of pieces) {
    for (let at = 0; at < piece.length;) {
      if (refused !== undefined || (isLast && !reader.isInBody)) return { requests, problem: refused, isAtEnd: false };
      at = reader.read(piece, at, piece.length);
      refused ??= reader.problem?.detail;
    }
  }
  return { requests, problem: refused, isAtEnd: refused === undefined && !reader.isInBody && !reader.isInHead };
}

/** As the listener's own; it never listens. */
const server = createServer({ insecureHTTPParser: false, maxHeaderSize: 32_768, requireHostHeader: false });
server.maxHeadersCount = 0;
let requests: Request[] = [];
let problem: string | undefined;
const collect = (message: IncomingMessage): void => {
  const { method = "", url: target = "", httpVersion: version, rawHeaders: headers } = message;
  const request: Request = { method, target, version, headers, body: "", trailers: [], isWhole: false };
  requests.push(request);
  message.on("data", (chunk: Buffer) => (request.body += chunk.toString("latin1")));
  message.on("end", () => Object.assign(request, { trailers: message.rawTrailers, isWhole: true }));
  message.on("error", () => {});
};
server.on("request", collect);
server.on("checkContinue", collect);
server.on("checkExpectation", collect);
server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
  // The end of the input is no mistake in it.
  if (error.code !== "HPE_INVALID_EOF_STATE") problem ??= error.code;
  // Not now: what was read before is told first.
  setImmediate(() => socket.destroy());
});

async function askNode(bytes: Buffer): Promise<Omit<Heard, "isAtEnd">> {
  requests = [];
  problem = undefined;
  const connection = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  connection.on("error", () => {});
  const closed = new Promise((resolve) => connection.once("close", resolve));
  server.emit("connection", connection);
  connection.push(bytes);
  // What was read is told in ticks of its own, and an end of the connection would take it away.
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  const heard = { requests: requests.map((each) => ({ ...each })), problem };
  connection.push(null);
  connection.destroy();
  await closed;
  return heard;
}
