/**
 * The canonical form of a request's host and path.
 *
 * Untrusted input: request target and Host. Promise: the result has one reading. Routing, policy, record and upstream
 * all see the same bytes, so they cannot disagree about the resource (the class of CVE-2019-9901 and CVE-2021-29492). A
 * target that frameworks read in several ways is rejected, not repaired.
 */
import { lowerAscii } from "../ascii.ts";

import { isUtf8 } from "node:buffer";

export type TargetRefusal =
  | "target-form"
  | "target-host-mismatch"
  | "target-character"
  | "path-encoding"
  | "path-encoded-separator"
  | "path-encoded-control"
  | "path-dot-segment"
  | "path-empty-segment"
  | "path-parameter"
  | "host-missing"
  | "host-invalid";

export type Target =
  | { readonly ok: true; readonly path: string; readonly query: string; readonly host: string }
  | { readonly ok: false; readonly reason: TargetRefusal };

export type PathResult =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly reason: TargetRefusal };

const PLAIN = 0;
/** "%" and bytes to encode: the path must be rewritten. */
const ENCODED = 1;
/** "/", "." and ";": plain, but with a meaning at the start of a segment. */
const STRUCTURE = 2;
const REFUSED = 3;
const SLASH = 47;
const PERCENT = 37;

/** Class of each byte of a path. */
const CLASS = new Uint8Array(256).fill(REFUSED);
const UNRESERVED = new Uint8Array(256);
const HEX = "0123456789ABCDEF";
for (const char of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") {
  CLASS[char.charCodeAt(0)] = PLAIN;
  UNRESERVED[char.charCodeAt(0)] = 1;
}
// sub-delims, ":" and "@" are allowed in a segment (RFC 3986 §3.3).
for (const char of "!$&'()*+,=:@") CLASS[char.charCodeAt(0)] = PLAIN;
// Not allowed in a path, but sent by browsers and hand-written clients; URL parsers agree on encoding them.
for (const char of '"<>`{}|^[]') CLASS[char.charCodeAt(0)] = ENCODED;
CLASS[PERCENT] = ENCODED;
for (const char of "/.;") CLASS[char.charCodeAt(0)] = STRUCTURE;

/**
 * @param target request target of the request line
 * @param host value of the one Host header, undefined when there was none
 * @param defaultPort port that is omitted from the host
 */
export function canonicalTarget(target: string, host: string | undefined, defaultPort: "80" | "443"): Target {
  if (host === undefined) return refuse("host-missing");
  const canonicalHost = knownAuthority(host, defaultPort);
  if (canonicalHost === undefined) return refuse("host-invalid");

  let origin = target;
  if (target.charCodeAt(0) !== SLASH) {
    // absolute-form must be accepted (RFC 9112 §3.2.2), but two different hosts in one request have two readings.
    const absolute = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target);
    if (!absolute) return refuse("target-form");
    if (canonicalAuthority(absolute[1] ?? "", defaultPort) !== canonicalHost) return refuse("target-host-mismatch");
    const rest = absolute[2] ?? "";
    origin = rest.charCodeAt(0) === SLASH ? rest : `/${rest}`;
  }

  const mark = origin.indexOf("?");
  const query = mark === -1 ? "" : origin.slice(mark);
  if (query !== "" && !isCleanQuery(query)) return refuse("target-character");
  const raw = mark === -1 ? origin : origin.slice(0, mark);
  let result = canonicalPath(raw);
  if (!result.ok && result.reason === "path-encoded-separator") result = registryPath(raw) ?? result;
  if (!result.ok) return result;
  return { ok: true, path: result.path, query, host: canonicalHost };
}

/** Hosts repeat: a Host that was valid once is valid again. By default port; bounded, since clients choose them. */
const knownHosts: Readonly<Record<string, Map<string, string>>> = { "80": new Map(), "443": new Map() };
const MAX_KNOWN_HOSTS = 1024;

interface KnownHost {
  readonly text: string;
  readonly defaultPort: string;
  readonly canonical: string;
}

/** The last host with each of these numbers: comparing it is cheaper than a look-up, for which V8 hashes the new text. */
const recentHosts: (KnownHost | undefined)[] = Array.from({ length: 256 }, () => undefined);

function knownAuthority(text: string, defaultPort: "80" | "443"): string | undefined {
  const middle = text.charCodeAt(text.length >> 1);
  const place = (Math.imul(text.length, 31) + text.charCodeAt(0) + Math.imul(middle, 7)) & (recentHosts.length - 1);
  const recent = recentHosts[place];
  if (recent !== undefined && recent.text === text && recent.defaultPort === defaultPort) return recent.canonical;
  const known = knownHosts[defaultPort];
  const canonical = known?.get(text) ?? canonicalAuthority(text, defaultPort);
  if (canonical === undefined || !known) return canonical;
  if (known.size < MAX_KNOWN_HOSTS) known.set(text, canonical);
  recentHosts[place] = { text, defaultPort, canonical };
  return canonical;
}

/** Lower case, default port removed; undefined unless it is a `host[:port]`. Names, IPv4 and bracketed IPv6. */
export function canonicalAuthority(text: string, defaultPort: string): string | undefined {
  const lower = lowerAscii(text);
  const match = /^([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?$/.exec(lower);
  if (!match || lower.length > 255) return undefined;
  const [, name = "", port] = match;
  if (name.includes("..")) return undefined;
  if (port === undefined) return name;
  if (Number(port) === 0 || Number(port) > 65_535) return undefined;
  return Number(port) === Number(defaultPort) ? name : `${name}:${Number(port)}`;
}

/** @param host canonical */
export function withoutPort(host: string): string {
  return host.replace(/:[0-9]+$/, "");
}

/**
 * One form per path: upper-case hex, unreserved characters decoded, the rest encoded (RFC 3986 §6.2.2). Escapes must
 * decode to UTF-8: upstreams disagree about overlong forms, surrogates and other encodings.
 */
export function canonicalPath(raw: string): PathResult {
  if (raw.charCodeAt(0) !== SLASH) return refuse("target-form");
  let needsRewrite = false;
  // Only segments that start with one of these, or are empty, may be a problem; most paths have none.
  let needsSegments = false;
  let previous = 0;
  for (let index = 0; index < raw.length; index += 1) {
    const code = raw.charCodeAt(index);
    const kind = CLASS[code] ?? REFUSED;
    if (kind !== PLAIN) {
      if (kind === REFUSED) return refuse("target-character");
      if (kind === ENCODED) needsRewrite = true;
      else if (previous === SLASH) needsSegments = true;
    }
    previous = code;
  }
  const path = needsRewrite ? rewrite(raw) : raw;
  if (typeof path !== "string") return path;
  const problem = needsRewrite || needsSegments ? segmentProblem(path) : undefined;
  return problem === undefined ? { ok: true, path } : refuse(problem);
}

/**
 * Names of servers in the MCP registry API have a slash, which clients escape. The only such path: it is an address of the
 * gateway itself, never forwarded, and has the same meaning with a plain slash.
 */
function registryPath(raw: string): PathResult | undefined {
  const escaped = /^(\/\.gateway\/registry\/v0\.1\/servers\/[A-Za-z0-9.-]+)%2[Ff]([A-Za-z0-9._-]+(?:\/.*)?)$/.exec(raw);
  return escaped ? canonicalPath(`${escaped[1]}/${escaped[2]}`) : undefined;
}

/** A server's reading of a path if it removes path parameters (`/admin;x`). */
export type PathReading = (path: string) => string;

/** Some servers look for ";" before decoding escapes, some after: to the first, "%3B" is part of the name. */
const READINGS: readonly PathReading[] = [
  (path) => cutSegments(path, /;.*$/),
  (path) => cutSegments(path, /(?:;|%3B).*$/),
];

/**
 * How servers read the path if they do not use it whole: routing, policy and rewriting check all readings.
 *
 * @returns empty where the path has one reading, as most do
 */
export function pathReadings(path: string): readonly PathReading[] {
  return path.includes(";") || path.includes("%3B") ? READINGS : NONE;
}

/** Each distinct reading of the path; undefined where it has only one. */
export function otherReadings(path: string): readonly string[] | undefined {
  const readings = pathReadings(path);
  if (readings.length === 0) return undefined;
  return [...new Set(readings.map((read) => read(path)))].filter((other) => other !== path);
}

const NONE: readonly never[] = [];

function cutSegments(path: string, parameters: RegExp): string {
  return path
    .split("/")
    .map((segment) => segment.replace(parameters, ""))
    .join("/");
}

function rewrite(raw: string): string | { readonly ok: false; readonly reason: TargetRefusal } {
  let path = "";
  let isAscii = true;
  for (let index = 0; index < raw.length; index += 1) {
    const code = raw.charCodeAt(index);
    if (CLASS[code] !== ENCODED) {
      path += raw[index];
      continue;
    }
    if (code !== PERCENT) {
      path += encodeByte(code);
      continue;
    }
    const pair = raw.slice(index + 1, index + 3);
    if (!/^[0-9A-Fa-f]{2}$/.test(pair)) return refuse("path-encoding");
    const byte = Number.parseInt(pair, 16);
    const reason = byteProblem(byte);
    if (reason !== undefined) return refuse(reason);
    if (byte >= 0x80) isAscii = false;
    path += UNRESERVED[byte] === 1 ? String.fromCharCode(byte) : encodeByte(byte);
    index += 2;
  }
  return isAscii || isUtf8(decoded(path)) ? path : refuse("path-encoding");
}

/** The bytes that a path with well-formed escapes represents. */
function decoded(path: string): Buffer {
  const bytes = Buffer.alloc(path.length);
  let length = 0;
  for (let index = 0; index < path.length; index += 1) {
    const isEscape = path.charCodeAt(index) === PERCENT;
    bytes[length] = isEscape ? Number.parseInt(path.slice(index + 1, index + 3), 16) : path.charCodeAt(index);
    length += 1;
    if (isEscape) index += 2;
  }
  return bytes.subarray(0, length);
}

function byteProblem(byte: number): TargetRefusal | undefined {
  // Decoded by the upstream, they would be separators unknown to the policy.
  if (byte === 0x2f || byte === 0x5c) return "path-encoded-separator";
  if (byte < 0x20 || byte === 0x7f) return "path-encoded-control";
  return undefined;
}

/**
 * Also matches for servers that decode escapes repeatedly, or that decode and then use a URL parser, which decodes
 * escaped dots.
 */
const DOT_SEGMENT = /^(?:\.|%25(?:25)*2[Ee]){1,2}(?:;|%(?:25)*3[Bb]|$)/;

/** Checks whole segments of a path whose unreserved characters are all decoded. */
function segmentProblem(path: string): TargetRefusal | undefined {
  let start = 1;
  while (start <= path.length) {
    let end = path.indexOf("/", start);
    if (end === -1) end = path.length;
    // A path with a trailing slash is a different path; some servers treat two slashes as one.
    if (end === start && end !== path.length) return "path-empty-segment";
    const first = path.charCodeAt(start);
    if ((first === 46 || first === PERCENT) && DOT_SEGMENT.test(path.slice(start, end))) return "path-dot-segment";
    // Servers that remove parameters read "/;x/admin" as "//admin".
    if ((first === 59 || first === PERCENT) && /^(?:;|%3B)/.test(path.slice(start, end))) return "path-parameter";
    start = end + 1;
  }
  return undefined;
}

/** Visible ASCII without "#": standard clients never send a fragment. */
function isCleanQuery(query: string): boolean {
  for (let index = 0; index < query.length; index += 1) {
    const code = query.charCodeAt(index);
    if (code <= 0x20 || code >= 0x7f || code === 35) return false;
  }
  return true;
}

function encodeByte(byte: number): string {
  return `%${HEX[byte >> 4]}${HEX[byte & 15]}`;
}

function refuse(reason: TargetRefusal): { readonly ok: false; readonly reason: TargetRefusal } {
  return { ok: false, reason };
}
