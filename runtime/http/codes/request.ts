/** Codes of requests that are refused before anything is known of a route. */
import type { CodeEntry } from "./entry.ts";

export const REQUEST_CODES = {
  "request.malformed": {
    status: [400, 408, 431],
    means: "The bytes are no HTTP/1.1 request, its head took too long, or its head is too large",
    remedy: "Look at the client, or at the proxy before the gateway; HTTP to an HTTPS port gives this too",
  },
  "request.overloaded": {
    status: 503,
    means:
      "More requests come than the process can serve: this one waited for `queue_timeout`, or for 500 ms in an overload; or memory is short",
    remedy: "See [Overload](../operations/capacity.md#overload)",
  },
  "request.target-too-long": {
    status: 414,
    means: "The address has more than 8,192 characters",
    remedy: "Send less in the query",
  },
  "request.too-many-headers": {
    status: 431,
    means: "The request has more than 200 headers",
    remedy: "Look for a proxy or browser that adds headers or cookies in a loop",
  },
  "request.method": {
    status: [405, 501],
    means: "The method is TRACE or CONNECT, or none that is known",
    remedy: "",
  },
  "request.expectation": {
    status: 417,
    means: "`Expect` has another value than `100-continue`",
    remedy: "",
  },
  "request.duplicate-header": {
    status: 400,
    means: "A header that may stand once stands twice",
    remedy: "Look at the client, or at a proxy that adds the header again",
  },
  "request.transfer-encoding": {
    status: 400,
    means: "`Transfer-Encoding` is another one than `chunked`, or the request is HTTP/1.0",
    remedy: "",
  },
  "request.target-form": {
    status: 400,
    means: "The address of the request is no path",
    remedy: "The gateway is no forward proxy: do not name it in `HTTP_PROXY`",
  },
  "request.target-host-mismatch": {
    status: 400,
    means: "Address and `Host` name different hosts",
    remedy: "",
  },
  "request.target-character": {
    status: 400,
    means: "The address has characters that must be percent-encoded",
    remedy: "Encode them in the client",
  },
  "request.path-encoding": {
    status: 400,
    means: "A percent sign in the path begins no valid encoding",
    remedy: "Encode the path in the client",
  },
  "request.path-encoded-separator": {
    status: 400,
    means: "The path has an encoded slash or backslash, which servers read in different ways",
    remedy: "Send such values in the query",
  },
  "request.path-encoded-control": {
    status: 400,
    means: "The path has an encoded control character",
    remedy: "",
  },
  "request.path-dot-segment": {
    status: 400,
    means: "The path has `.` or `..` as a segment",
    remedy: "Normalize the path in the client",
  },
  "request.path-empty-segment": {
    status: 400,
    means: "The path has two slashes in a row",
    remedy: "Look for a base address that ends with a slash",
  },
  "request.path-parameter": {
    status: 400,
    means: "A segment of the path begins with `;`, which servers read in different ways",
    remedy: "",
  },
  "request.host-missing": {
    status: 400,
    means: "The request names no host",
    remedy: "Let health checks of load balancers send `Host`, or ask `/healthz` of the admin listener",
  },
  "request.host-invalid": {
    status: 400,
    means: "`Host` is no host name or address",
    remedy: "",
  },
  "request.scheme": {
    status: 400,
    means: "HTTP/2: `:scheme` does not fit the connection",
    remedy: "Look at the proxy before the gateway",
  },
  "request.authority-mismatch": {
    status: 400,
    means: "HTTP/2: `:authority` and `Host` differ",
    remedy: "Look at the proxy before the gateway",
  },
  "request.protocol": {
    status: [400, 501],
    means: "HTTP/2: extended CONNECT for another protocol than WebSocket",
    remedy: "",
  },
  "request.websocket-version": {
    status: [400, 426],
    means: "The WebSocket handshake has another version than 13",
    remedy: "Update the client",
  },
  "request.websocket-key": {
    status: 400,
    means: "The WebSocket handshake has no valid key",
    remedy: "Look at the client",
  },
  "request.grpc-timeout": {
    status: 400,
    means: "`grpc-timeout` of the call cannot be read",
    remedy: "Look at the client",
  },
  "request.deadline": {
    status: 504,
    means: "The deadline that the gRPC client set has passed",
    remedy: "See `gateway_upstream_duration_seconds`; give the client more time",
  },
  "request.path-too-long": {
    status: 414,
    means: "The path has more than 2,048 characters, and patterns would have to match it",
    remedy: "Send less in the path, or use `prefix` or `path` for these routes",
  },
  "request.ambiguous-path": {
    status: 400,
    means: "The path has several readings, which lead to different routes",
    remedy: "Send the path as the application writes it, without needless encoding",
  },
  "request.rewritten-path": {
    status: 400,
    means: "`prefix_rewrite` or `regex_rewrite_pattern` gives no valid path for this request",
    remedy: "Correct the rewrite of the route",
  },
  "host.unknown": {
    status: 421,
    means: "No route has this host in `from`",
    remedy:
      "Compare `from` of the routes with the `Host` that the load balancer sends; `gateway check` shows what is in the files",
  },
  "route.not-found": {
    status: 404,
    means: "The host is known, no route of it has this path",
    remedy: "Look at `prefix`, `path` and `regex` of the host's routes",
  },
  "endpoint.not-found": {
    status: 404,
    means: "There is nothing at this address below `/.gateway/` or `/.well-known/`",
    remedy: "These paths are the gateway's own: an application behind it cannot use them",
  },
  "endpoint.method": {
    status: 405,
    means: "This address of the gateway does not take the method",
    remedy: "",
  },
  internal: {
    status: 500,
    means: "The gateway failed: a bug",
    remedy: "Find `request failed` or `endpoint failed` with this request id in the log, and report it",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
