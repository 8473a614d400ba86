/**
 * Header names that settings may name, and the reasons for rejecting others.
 *
 * Decided only here; settings.ts applies it at load, so that the hot path never has to.
 */
import { isHeaderName } from "../../shared/http/header-syntax.ts";
import { HOP_BY_HOP } from "../../shared/http/header-traits.ts";

/**
 * The only connection header that settings may name: the gateway's replaces the upstream's, which is never passed on.
 */
const OPEN_TO_SETTINGS = "proxy-authentication-info";

/** Both names of the identity header; a request may also try their form with `_`. */
export const ASSERTION_HEADERS: ReadonlySet<string> = new Set(["x-gateway-assertion", "x-gateway-jwt-assertion"]);

/** Problem if `set_request_headers` must not set this name. */
export function setRequestHeaderProblem(name: string): string | undefined {
  const lower = name.toLowerCase();
  return (
    commonProblem(name, lower) ??
    (ASSERTION_HEADERS.has(lower.replaceAll("_", "-"))
      ? "is an identity header, only the gateway may set it"
      : lower.startsWith("content-")
        ? "describes the body, which is forwarded unchanged"
        : lower.startsWith("mcp-")
          ? "mirrors the MCP message, which is forwarded unchanged"
          : lower === "expect"
            ? "steers how the body is sent, which the gateway decides"
            : undefined)
  );
}

/** Problem if `add_request_headers` must not name this header: one of these has a single value. */
export function addRequestHeaderProblem(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (lower === "authorization" || lower === "cookie") return 'has one value, use "set_request_headers"';
  return setRequestHeaderProblem(name);
}

/** Problem if `remove_request_headers` must not name this header. */
export function removeRequestHeaderProblem(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (lower === "content-length" || lower === "transfer-encoding") return "frames the message and cannot be removed";
  // Other connection headers never go upstream; naming them is harmless.
  return isOfConnection(lower) ? undefined : commonProblem(name, lower);
}

/** Problem if a response header setting must not name this header. */
export function responseHeaderProblem(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (lower === "content-length") return "frames the message, which only the upstream may do";
  if (lower === "content-encoding") return "describes the body, which is passed on unchanged";
  if (lower.startsWith("mcp-")) return "belongs to the MCP session, which the gateway seals";
  if (lower === "host") return undefined;
  return commonProblem(name, lower);
}

/** Problem if `host_rewrite_header` cannot read the host from this header. */
export function hostSourceProblem(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (!isHeaderName(name)) return "must be a header name";
  if (lower === "host")
    return 'names Host itself, must be another header; to keep the incoming Host set "preserve_host_header"';
  if (isOfConnection(lower)) return "is a header of one connection, never passed on";
  return undefined;
}

function commonProblem(name: string, lower: string): string | undefined {
  if (name.startsWith(":"))
    return "is a pseudo-header; Host is chosen with the host settings, the path is never set here";
  if (!isHeaderName(name)) return "is not a header name";
  if (lower === "host") {
    return 'cannot be changed here; use "preserve_host_header", "host_rewrite", "host_rewrite_header" or "host_path_regex_rewrite_pattern"';
  }
  if (isOfConnection(lower)) return "belongs to one connection, which the gateway manages";
  return undefined;
}

function isOfConnection(lower: string): boolean {
  return HOP_BY_HOP.has(lower) && lower !== OPEN_TO_SETTINGS;
}
