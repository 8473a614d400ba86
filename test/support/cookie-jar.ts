/** Cookies as a strict browser keeps them (RFC 6265bis): by host name without port, with prefixes, Secure and SameSite. */

export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly hostname: string;
  readonly path: string;
  readonly secure: boolean;
  readonly httpOnly: boolean;
  readonly sameSite: "strict" | "lax" | "none";
  readonly expiresAtMs: number | undefined;
}

export interface Jar {
  /** Takes a Set-Cookie line as if it came from `url`, with the browser's rules for rejecting it. */
  set(line: string, url: URL): void;
  header(url: URL, context: { readonly crossSite: boolean; readonly topLevelGet: boolean }): string | undefined;
  get(hostname: string, name: string): Cookie | undefined;
  all(): readonly Cookie[];
  clear(): void;
}

/** Chromium's: per registrable domain, and of name and value together. */
const MAX_COOKIES = 180;
const MAX_COOKIE_CHARACTERS = 4096;

export function createJar(): Jar {
  /** The one that was set longest ago comes first. */
  const cookies = new Map<string, Cookie>();
  const keyOf = (hostname: string, name: string, path: string): string => `${hostname} ${path} ${name}`;
  const alive = (): Cookie[] =>
    [...cookies.values()].filter(({ expiresAtMs }) => expiresAtMs === undefined || expiresAtMs > Date.now());

  return {
    set(line, url) {
      const cookie = parseSetCookie(line, url);
      if (!cookie) return;
      const key = keyOf(cookie.hostname, cookie.name, cookie.path);
      if (cookie.name.length + cookie.value.length > MAX_COOKIE_CHARACTERS) return;
      if (cookie.expiresAtMs !== undefined && cookie.expiresAtMs <= Date.now()) cookies.delete(key);
      else cookies.set(key, cookie);
      const domain = domainOf(cookie.hostname);
      const kept = [...cookies].filter(([, { hostname }]) => domainOf(hostname) === domain);
      if (kept.length > MAX_COOKIES) cookies.delete(kept[0]?.[0] ?? "");
    },
    header(url, context) {
      const sent = alive().filter(
        (cookie) =>
          cookie.hostname === url.hostname &&
          (!cookie.secure || url.protocol === "https:") &&
          pathMatches(url.pathname, cookie.path) &&
          (!context.crossSite || cookie.sameSite === "none" || (cookie.sameSite === "lax" && context.topLevelGet)),
      );
      return sent.length === 0 ? undefined : sent.map(({ name, value }) => `${name}=${value}`).join("; ");
    },
    get: (hostname, name) => alive().find((cookie) => cookie.hostname === hostname && cookie.name === name),
    all: alive,
    clear: () => cookies.clear(),
  };
}

function parseSetCookie(line: string, url: URL): Cookie | undefined {
  const [pair = "", ...rest] = line.split(";");
  const equals = pair.indexOf("=");
  if (equals < 1) return undefined;
  const name = pair.slice(0, equals).trim();
  const value = pair.slice(equals + 1).trim();
  const attributes = new Map(
    rest.map((part) => {
      const [attribute = "", ...text] = part.split("=");
      return [attribute.trim().toLowerCase(), text.join("=").trim()] as const;
    }),
  );
  const secure = attributes.has("secure");
  const path = attributes.get("path") ?? "/";
  const sameSite = (attributes.get("samesite") ?? "lax").toLowerCase() as Cookie["sameSite"];
  if (secure && url.protocol !== "https:") return undefined;
  if (name.startsWith("__Host-") && (!secure || path !== "/" || attributes.has("domain"))) return undefined;
  if (name.startsWith("__Secure-") && !secure) return undefined;
  if (sameSite === "none" && !secure) return undefined;
  // The gateway never sets Domain; a test that meets one should know.
  if (attributes.has("domain")) throw new Error(`unexpected Domain attribute: ${name}`);
  const maxAge = attributes.get("max-age");
  const expires = attributes.get("expires");
  const expiresAtMs =
    maxAge !== undefined ? Date.now() + Number(maxAge) * 1000 : expires !== undefined ? Date.parse(expires) : undefined;
  return {
    name,
    value,
    hostname: url.hostname,
    path,
    secure,
    httpOnly: attributes.has("httponly"),
    sameSite,
    expiresAtMs,
  };
}

function domainOf(hostname: string): string {
  return hostname.split(".").slice(-2).join(".");
}

function pathMatches(path: string, cookiePath: string): boolean {
  return path === cookiePath || path.startsWith(cookiePath.endsWith("/") ? cookiePath : `${cookiePath}/`);
}
