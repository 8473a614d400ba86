/** Codes of requests that are rejected before their route is known. */
import type { CodeEntry } from "./entry.ts";

export const REQUEST_CODES = {
  "request.malformed": {
    status: [400, 408, 431],
    cause: "Invalid HTTP/1.1 request, or its headers are too large or too slow",
    fix: "Check the client, or the proxy in front of the gateway. HTTP to an HTTPS port has the same result",
  },
  "request.overloaded": {
    status: 503,
    cause:
      "The process is overloaded: this request waited for `queue_timeout`, or 500 ms during an overload; or memory is short",
    fix: "See [Overload](../operations/capacity.md#overload)",
  },
  "request.target-too-long": {
    status: 414,
    cause: "The URL has more than 8,192 characters",
    fix: "Shorten the query",
  },
  "request.too-many-headers": {
    status: 431,
    cause: "The request has more than 200 headers",
    fix: "Find the proxy or browser that adds headers or cookies in a loop",
  },
  "request.method": {
    status: [405, 501],
    cause: "The method is TRACE, CONNECT or unknown",
    fix: "",
  },
  "request.expectation": {
    status: 417,
    cause: "`Expect` has a value other than `100-continue`",
    fix: "",
  },
  "request.duplicate-header": {
    status: 400,
    cause: "A single-value header appears more than once",
    fix: "Check the client, or a proxy that adds the header again",
  },
  "request.transfer-encoding": {
    status: 400,
    cause: "`Transfer-Encoding` has a value other than `chunked`, or the request is HTTP/1.0",
    fix: "",
  },
  "request.target-form": {
    status: 400,
    cause: "The request target is not a path",
    fix: "Remove the gateway from `HTTP_PROXY`: it is not a forward proxy",
  },
  "request.target-host-mismatch": {
    status: 400,
    cause: "The request target and `Host` name different hosts",
    fix: "",
  },
  "request.target-character": {
    status: 400,
    cause: "The URL has characters that must be percent-encoded",
    fix: "Encode them in the client",
  },
  "request.path-encoding": {
    status: 400,
    cause: "The path has an invalid percent-encoding",
    fix: "Encode the path in the client",
  },
  "request.path-encoded-separator": {
    status: 400,
    cause: "The path has an encoded slash or backslash, which servers interpret differently",
    fix: "Send such values in the query",
  },
  "request.path-encoded-control": {
    status: 400,
    cause: "The path has an encoded control character",
    fix: "",
  },
  "request.path-dot-segment": {
    status: 400,
    cause: "The path has `.` or `..` as a segment",
    fix: "Normalize the path in the client",
  },
  "request.path-empty-segment": {
    status: 400,
    cause: "The path has two slashes in a row",
    fix: "Check for a base URL that ends with a slash",
  },
  "request.path-parameter": {
    status: 400,
    cause: "A path segment starts with `;`, which servers interpret differently",
    fix: "",
  },
  "request.host-missing": {
    status: 400,
    cause: "The request has no host",
    fix: "Let health checks of load balancers send `Host`, or check `/healthz` of the admin listener",
  },
  "request.host-invalid": {
    status: 400,
    cause: "`Host` is not a host name or address",
    fix: "",
  },
  "request.scheme": {
    status: 400,
    cause: "HTTP/2: `:scheme` does not match the connection",
    fix: "Check the proxy in front of the gateway",
  },
  "request.authority-mismatch": {
    status: 400,
    cause: "HTTP/2: `:authority` and `Host` differ",
    fix: "Check the proxy in front of the gateway",
  },
  "request.protocol": {
    status: [400, 501],
    cause: "HTTP/2: extended CONNECT for a protocol other than WebSocket",
    fix: "",
  },
  "request.websocket-version": {
    status: [400, 426],
    cause: "The WebSocket handshake has a version other than 13",
    fix: "Update the client",
  },
  "request.websocket-key": {
    status: 400,
    cause: "The WebSocket handshake has no valid key",
    fix: "Fix the client",
  },
  "request.grpc-timeout": {
    status: 400,
    cause: "`grpc-timeout` of the call is invalid",
    fix: "Fix the client",
  },
  "request.deadline": {
    status: 504,
    cause: "The gRPC client's deadline has passed",
    fix: "Check `gateway_upstream_duration_seconds`; raise the client's deadline",
  },
  "request.path-too-long": {
    status: 414,
    cause: "The path has more than 2,048 characters, too long for a `regex`",
    fix: "Shorten the path, or use `prefix` or `path` for these routes",
  },
  "request.ambiguous-path": {
    status: 400,
    cause: "The path can be read in several ways that lead to different routes",
    fix: "Send the path without needless encoding",
  },
  "request.rewritten-path": {
    status: 400,
    cause: "`prefix_rewrite` or `regex_rewrite_pattern` results in an invalid path",
    fix: "Fix the rewrite of the route",
  },
  "host.unknown": {
    status: [404, 421],
    cause: "No route has this host in `from`. 421: the client opened its TLS connection for another host",
    fix: "Compare `from` of the routes with the `Host` that the load balancer sends. List the routes in the files with `gateway check`",
  },
  "route.not-found": {
    status: 404,
    cause: "A route has this host, but none has this path",
    fix: "Check `prefix`, `path` and `regex` of the host's routes",
  },
  "endpoint.not-found": {
    status: 404,
    cause: "The gateway has no such address below `/.gateway/` or `/.well-known/`",
    fix: "Use other paths for applications: these belong to the gateway",
  },
  "endpoint.method": {
    status: 405,
    cause: "This address of the gateway does not accept the method",
    fix: "",
  },
  internal: {
    status: 500,
    cause: "A bug in the gateway",
    fix: "Find `request failed` or `endpoint failed` with this request ID in the log, and report it",
  },
} as const satisfies Readonly<Record<string, CodeEntry>>;
