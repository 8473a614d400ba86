/** The exchanges of the fault injection, and what their clients get where nothing throws. */
import type { Asked, Open, Seen } from "./fault-clients.ts";
import { BIG, EVENTS, SHORT, TOOLS } from "./fault-upstream.ts";

export interface Scenario {
  readonly asked: Omit<Asked, "origin" | "host" | "path"> & { readonly path: string; readonly host?: string };
  readonly open?: (asked: Asked) => Open;
  /** Result of a client if nothing throws. Absent: it does not wait for it. */
  readonly gets?: Omit<Seen, "isWhole">;
  /** Acts while it is open. */
  readonly act?: (open: Open) => Promise<void>;
}

export const HANDSHAKE = {
  connection: "upgrade",
  upgrade: "websocket",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
};
export const TUNNEL = { ":protocol": "websocket", "sec-websocket-version": "13" };
export const GRPC = { "content-type": "application/grpc", te: "trailers" };
export const LATE = "late.localhost";
/** An MCP server, whose callers show the token of the fault gateway. */
export const MCP = "mcp.localhost";
const good = (body: string): Omit<Seen, "isWhole"> => ({ status: 200, body });
const bad = (status: number): Omit<Seen, "isWhole"> => ({ status, body: "" });
/** Says something, waits until it is back, and ends. */
export const talk = async (open: Open): Promise<void> => {
  open.write("hello");
  await open.contains("hello");
  open.end();
};

const BOTH: Readonly<Record<string, Scenario>> = {
  "an answer in pieces": { asked: { path: "/chunks" }, gets: good(SHORT) },
  "a large answer": { asked: { path: "/big" }, gets: good(BIG) },
  "a stream of events": {
    asked: { path: "/sse", headers: { accept: "text/event-stream" } },
    gets: good(EVENTS.join("")),
  },
  "a body": { asked: { path: "/echo", method: "POST", body: BIG }, gets: good(BIG) },
  "an upstream that resets": { asked: { path: "/reset", method: "POST", body: SHORT }, gets: bad(502) },
  "an upstream that breaks off": { asked: { path: "/half" } },
  "an upstream that says nothing": { asked: { path: "/never", host: LATE }, gets: bad(504) },
  "a client that leaves": { asked: { path: "/big", leaves: true } },
  "a list of MCP": {
    asked: {
      path: "/tools",
      host: MCP,
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    },
    gets: good(TOOLS),
  },
};
const GRPC_CALL: Omit<Scenario["asked"], "host"> = { path: "/call", method: "POST", headers: GRPC, body: SHORT };
export const OVER_HTTP1: Readonly<Record<string, Scenario>> = {
  ...BOTH,
  "a WebSocket": { asked: { path: "/socket", headers: HANDSHAKE }, gets: { status: 101, body: "hello" }, act: talk },
  "a WebSocket that is refused": { asked: { path: "/no", headers: HANDSHAKE }, gets: { status: 403, body: "no" } },
  "a WebSocket that nobody answers": { asked: { path: "/never", headers: HANDSHAKE, host: LATE }, gets: bad(504) },
};
export const OVER_HTTP2: Readonly<Record<string, Scenario>> = {
  ...BOTH,
  "a WebSocket": {
    asked: { path: "/socket", method: "CONNECT", headers: TUNNEL },
    gets: { status: 200, body: "hello" },
    act: talk,
  },
  "a WebSocket that is refused": {
    asked: { path: "/no", method: "CONNECT", headers: TUNNEL },
    gets: { status: 403, body: "no" },
  },
  "a call of gRPC": {
    asked: { ...GRPC_CALL, host: "grpc.localhost" },
    gets: good(SHORT),
  },
  "a call of gRPC that is reset": {
    asked: { path: "/reset", method: "POST", host: "grpc.localhost", headers: GRPC, body: SHORT },
  },
};

/** Over TLS to the upstream, on connections of their own. */
const SECURE: Scenario = { asked: { path: "/big", host: "secure.localhost" }, gets: good(BIG) };
const SECURE_GRPC: Scenario = { asked: { ...GRPC_CALL, host: "securegrpc.localhost" }, gets: good(SHORT) };
/** Is asked to send the message, and leaves. */
const LEAVES_MESSAGE: Scenario = {
  asked: {
    path: "/tools",
    host: MCP,
    method: "POST",
    headers: { "content-type": "application/json", "content-length": "100", expect: "100-continue" },
    leaves: true,
  },
};
export const PLAIN: Scenario = { asked: { path: "/chunks" }, gets: good(SHORT) };
/**
 * Guards of connections, which run when the exchange is over, or not in each exchange: it is repeated until they have thrown.
 * By the kind of gateway that has them.
 */
export const REPEATED: Readonly<
  Record<Kind, readonly (readonly [name: string, protocol: string, scenario: Scenario])[]>
> = {
  clear: [
    ["http/body.ts onAborted", "HTTP/1.1", LEAVES_MESSAGE],
    ["upstreams/http1/open-socket.ts once secureConnect", "HTTP/1.1", SECURE],
    ["upstreams/http1/open-socket.ts on data", "HTTP/1.1", SECURE],
    ["upstreams/http2/session.ts once ready", "HTTP/2", SECURE_GRPC],
    ["upstreams/http2/session.ts once connect", "HTTP/2", SECURE_GRPC],
    ["upstreams/http2/session.ts once goaway", "HTTP/2", SECURE_GRPC],
    ["upstreams/http2/session.ts once close", "HTTP/2", SECURE_GRPC],
    ["upstreams/http2/session.ts once close #3", "HTTP/2", SECURE_GRPC],
    ["http/listener/proxied-connections.ts on connection", "HTTP/1.1", PLAIN],
    ["http/listener/proxied-connections.ts settle", "HTTP/1.1", PLAIN],
    ["http/listener/proxied-connections.ts onData", "HTTP/1.1", PLAIN],
    ["http/listener/proxied-connections.ts once close", "HTTP/1.1", PLAIN],
  ],
  TLS: [],
};
export const ALL_REPEATED: ReadonlySet<string> = new Set(
  Object.values(REPEATED).flatMap((each) => each.map(([name]) => name)),
);

/** "clear": behind a proxy that reports its clients. */
export type Kind = "clear" | "TLS";
