/** Small parts of identity/, separately. */
import { array, assert, constantFrom, property, tuple } from "fast-check";
import { describe, expect, it } from "vitest";

import type { Exchange } from "../../../runtime/http/exchange.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { BoundedCache } from "../../../runtime/shared/cache.ts";
import { createCookies, isOwnCookieName, stepCookieName } from "../../../runtime/identity/cookie.ts";
import { createCsrf, isFromOwnForm, isFromOwnOrigin } from "../../../runtime/identity/csrf.ts";
import type { Principal } from "../../../runtime/identity/principal.ts";
import { findSite, isLocalPath } from "../../../runtime/identity/sites.ts";
import { isLoopbackHost } from "../../../runtime/settings/values.ts";
import { createTestClock } from "../../support/clock.ts";
import { snapshotFrom } from "../../support/config.ts";

const clock = createTestClock();
const keys = createKeys([Buffer.alloc(32, 1)]);
const allow = "policy: [{ allow: { or: [{ accept: true }] } }]";
const snapshot = snapshotFrom(`
authenticate_service_url: https://auth.example.com
routes:
  - { name: a, from: https://a.example.com, to: "http://127.0.0.1:9", ${allow} }
  - { name: port, from: "https://a.example.com:8443", to: "http://127.0.0.1:9", ${allow} }
  - { name: local, from: "http://localhost:8080", to: "http://127.0.0.1:9", ${allow} }
`);
const site = (host: string) => findSite(snapshot, host) ?? expect.unreachable();
const settings = snapshot.settings.cookie;

describe("findSite()", () => {
  it("knows routes and the authenticate host, each by its exact host", () => {
    expect(site("a.example.com")).toMatchObject({
      origin: "https://a.example.com",
      authenticates: false,
      secure: true,
    });
    expect(site("a.example.com:8443")).toMatchObject({
      origin: "https://a.example.com:8443",
      hostname: "a.example.com",
    });
    expect(site("auth.example.com")).toMatchObject({ authenticates: true, secure: true });
    expect(site("localhost:8080")).toMatchObject({ secure: false, authenticateOrigin: "https://auth.example.com" });
    for (const host of ["b.example.com", "example.com", "a.example.com:443", "A.example.com", "", "__proto__"]) {
      expect(findSite(snapshot, host)).toBeUndefined();
    }
  });

  it("lets every host authenticate where no authenticate service is set", () => {
    const alone = snapshotFrom(
      `routes: [{ name: a, from: https://a.example.com, to: "http://127.0.0.1:9", ${allow} }]`,
    );
    expect(findSite(alone, "a.example.com")).toMatchObject({
      authenticates: true,
      authenticateOrigin: "https://a.example.com",
    });
  });
});

it("a route of the plain listener is not a site", () => {
  const both = snapshotFrom(`
insecure_server: false
certificates: [{ certificate_file: /tls.crt, certificate_key_file: /tls.key }]
http_redirect_address: ":80"
routes:
  - { name: a, from: https://a.example.com, to: "http://127.0.0.1:9", ${allow} }
  - { name: plain, from: "http://a.example.com:80", to: "http://127.0.0.1:9", allow_public_unauthenticated_access: true }
`);
  expect(findSite(both, "a.example.com")).toMatchObject({ origin: "https://a.example.com", secure: true });
  expect(findSite(both, "a.example.com:80")).toBeUndefined();
});

describe("isLocalPath()", () => {
  it.each(["/", "/a", "/a/b?c=d&e=%20", "/a//b", "/.gateway/", "/?x=//y", "/a?u=https://b.example"])(
    "takes %j",
    (path) => {
      expect(isLocalPath(path)).toBe(true);
      expect(new URL(path, "https://a.example.com").origin).toBe("https://a.example.com");
    },
  );
  it.each(["", "a", "//b", "/\\b", "\\b", "/\tb", "/ b", "/a\\b", "/a\nb", "/ä", "https://b", "?a", "/a\u0000"])(
    "refuses %j",
    (path) => {
      expect(isLocalPath(path)).toBe(false);
    },
  );
});

describe("isLocalPath(), for any text", () => {
  it("accepts no text that a browser would read as another host", () => {
    const pieces = constantFrom(
      "/",
      "\\",
      "\t",
      "\n",
      "@",
      ":",
      "evil.example",
      "https:",
      "?",
      "#",
      "%2f",
      ".",
      "a",
      " ",
      "[",
    );
    assert(
      property(array(pieces, { maxLength: 8 }), (parts) => {
        const path = parts.join("");
        return !isLocalPath(path) || new URL(path, "https://a.example.com/x/").origin === "https://a.example.com";
      }),
      { numRuns: 2000 },
    );
  });
});

describe("isLoopbackHost()", () => {
  it.each(["localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]"])("takes %s", (name) => {
    expect(isLoopbackHost(name)).toBe(true);
  });
  it.each(["localhost.example.com", "127.0.0.1.example.com", "128.0.0.1", "notlocalhost", "0.0.0.0", "[::2]"])(
    "refuses %s",
    (name) => {
      expect(isLoopbackHost(name)).toBe(false);
    },
  );
});

describe("Cookies", () => {
  const cookies = createCookies({ keys, clock });
  const valueOf = (line: string): string => /=([^;]*)/.exec(line)?.[1] ?? "";
  const handle = { sessionId: "s1", userId: "a user", expiresAt: clock.now() / 1000 + 60 };

  it("open on the host name they were made for, on any port, until their end", () => {
    const value = valueOf(cookies.setSession(handle, site("a.example.com"), settings));
    expect(cookies.openSession(value, site("a.example.com"), settings)).toEqual(handle);
    expect(cookies.openSession(value, site("a.example.com:8443"), settings)).toEqual(handle);
    expect(cookies.openSession(value, site("auth.example.com"), settings)).toBeUndefined();
    clock.advance(60_000);
    expect(cookies.openSession(value, site("a.example.com"), settings)).toBeUndefined();
  });

  it("open under the name and as the kind they were made for, and no other", () => {
    const here = site("a.example.com");
    const renamed = { ...settings, name: "renamed" };
    const value = valueOf(cookies.setSession(handle, here, settings));
    expect(cookies.openSession(value, here, renamed)).toBeUndefined();
    const proof = valueOf(cookies.setBegun(here, settings, "sign_in", "id"));
    expect(cookies.openSession(proof, here, settings)).toBeUndefined();
    const holding = (name: string, shown: string): Exchange =>
      ({ headerValues: () => [`${name}=${shown}`] }) as unknown as Exchange;
    const renamedTo = holding(stepCookieName(here, renamed, "sign_in", "id"), proof);
    expect(cookies.isBegun(renamedTo, here, renamed, "sign_in", "id")).toBe(false);
    const asProof = holding(stepCookieName(here, settings, "sign_in", "id"), value);
    expect(cookies.isBegun(asProof, here, settings, "sign_in", "id")).toBe(false);
  });

  it("use the configured SameSite, but sign-in cookies are always lax, and none requires Secure", () => {
    const strict = { ...settings, sameSite: "strict" as const };
    const none = { ...settings, sameSite: "none" as const };
    expect(cookies.setSession(handle, site("a.example.com"), strict)).toContain("SameSite=Strict");
    expect(cookies.setSession(handle, site("a.example.com"), none)).toContain("Secure; SameSite=None");
    expect(cookies.setSession(handle, site("localhost:8080"), none)).toMatch(
      /^gateway_session=.*HttpOnly; SameSite=Lax$/,
    );
    expect(cookies.setBegun(site("a.example.com"), strict, "sign_in", "id")).toContain("SameSite=Lax");
  });

  it("of the oldest sign-ins never finished are dropped once all are more than requests should carry", () => {
    const here = site("a.example.com");
    const holding = (count: number): Exchange => {
      const pairs = Array.from({ length: count }, (_, index) => {
        const id = String(index).padStart(8, "0");
        return cookies.setBegun(here, settings, "sign_in", id).split(";")[0] ?? "";
      });
      const header = [...pairs, "theirs=1"].join("; ");
      return { headerValues: () => [header] } as unknown as Exchange;
    };
    expect(cookies.trimPile(holding(80), here, settings)).toEqual([]);
    const dropped = cookies.trimPile(holding(120), here, settings).filter((line) => line !== "set-cookie");
    expect(dropped.length).toBeLessThan(40);
    for (const [index, line] of dropped.entries())
      expect(line).toMatch(
        new RegExp(`^__Host-gateway_session_sign_in_${String(index).padStart(8, "0")}=; .*Max-Age=0`),
      );
    // Ones of an earlier version, long as they are, go first too.
    const long = `__Host-gateway_session_sign_in_xxxxxxxx=${"x".repeat(6000)}`;
    const mixed = { headerValues: () => [`${long}; ${holding(1).headerValues("cookie")[0]}`] } as unknown as Exchange;
    expect(cookies.trimPile(mixed, here, settings)).toHaveLength(2);
  });

  it("of one step prove that step, id and host only", () => {
    const here = site("a.example.com");
    const line = cookies.setBegun(here, settings, "sign_in", "id-of-one");
    expect(line).toContain("Max-Age=600;");
    const value = valueOf(line);
    const name = stepCookieName(here, settings, "sign_in", "id-of-one");
    const holding = (of: string, proof = value): Exchange =>
      ({ headerValues: () => [`${of}=${proof}`] }) as unknown as Exchange;
    expect(cookies.isBegun(holding(name), here, settings, "sign_in", "id-of-one")).toBe(true);
    // The same first letters, and so the same name.
    expect(cookies.isBegun(holding(name), here, settings, "sign_in", "id-of-oneself")).toBe(false);
    const atProvider = stepCookieName(here, settings, "provider", "id-of-one");
    expect(cookies.isBegun(holding(atProvider), here, settings, "provider", "id-of-one")).toBe(false);
    expect(cookies.isBegun(holding(name), site("auth.example.com"), settings, "sign_in", "id-of-one")).toBe(false);
    for (const forged of ["", "x", value.slice(1), `${value}AA`, "A".repeat(value.length)])
      expect(cookies.isBegun(holding(name, forged), here, settings, "sign_in", "id-of-one")).toBe(false);
    const others = createCookies({ keys: createKeys([Buffer.alloc(32, 77)]), clock });
    expect(others.isBegun(holding(name), here, settings, "sign_in", "id-of-one")).toBe(false);
    const rotated = createCookies({ keys: createKeys([Buffer.alloc(32, 77), Buffer.alloc(32, 1)]), clock });
    expect(rotated.isBegun(holding(name), here, settings, "sign_in", "id-of-one")).toBe(true);
  });

  it("are recognised under every name they can have", () => {
    const names = [
      "gateway_session",
      "__Host-gateway_session",
      "__Host-gateway_session_sign_in_abc",
      "gateway_session_sign_in_x",
      "__Host-gateway_session_provider_x",
    ];
    expect(names.map((name) => isOwnCookieName(name, settings))).toEqual([true, true, true, true, true]);
    const foreign = ["gateway", "gateway_session2", "session", "__Host-session", "__Secure-gateway_session"];
    expect(foreign.map((name) => isOwnCookieName(name, settings))).toEqual([false, false, false, false, false]);
  });
});

describe("Csrf", () => {
  const csrf = createCsrf({ keys });
  const who = (sid: string): Principal => ({ sid }) as Principal;

  it("binds a token to session and form", () => {
    const token = csrf.token(who("s1"), "consent");
    expect(csrf.verify(who("s1"), "consent", token)).toBe(true);
    expect(csrf.verify(who("s2"), "consent", token)).toBe(false);
    expect(csrf.verify(who("s1"), "sign-out", token)).toBe(false);
    for (const bad of ["", "x", token.slice(1), `${token}A`])
      expect(csrf.verify(who("s1"), "consent", bad)).toBe(false);
  });

  it("takes tokens made before shared_secret changed", () => {
    const token = csrf.token(who("s1"), "f");
    const rotated = createCsrf({ keys: createKeys([Buffer.alloc(32, 2), Buffer.alloc(32, 1)]) });
    expect(rotated.verify(who("s1"), "f", token)).toBe(true);
    expect(createCsrf({ keys: createKeys([Buffer.alloc(32, 2)]) }).verify(who("s1"), "f", token)).toBe(false);
  });
});

describe("isFromOwnOrigin()", () => {
  const ORIGIN = "https://a.example.com";
  it.each<[boolean, Record<string, string[]>]>([
    [true, { origin: [ORIGIN], "sec-fetch-site": ["same-origin"] }],
    [true, { origin: [ORIGIN] }],
    [true, { "sec-fetch-site": ["same-origin"] }],
    [false, {}],
    [false, { origin: ["null"] }],
    [false, { origin: [`${ORIGIN}.evil.example`] }],
    [false, { origin: ["http://a.example.com"] }],
    [false, { origin: [`${ORIGIN}:444`] }],
    [false, { origin: [ORIGIN, "https://evil.example"] }],
    [false, { origin: [ORIGIN], "sec-fetch-site": ["same-site"] }],
    [false, { origin: [ORIGIN], "sec-fetch-site": ["cross-site"] }],
    [false, { origin: [ORIGIN], "sec-fetch-site": ["none"] }],
  ])("is %s for %j", (expected, headers) => {
    const exchange = {
      header: (name: string) => headers[name]?.[0],
      headerValues: (name: string) => headers[name] ?? [],
    };
    expect(isFromOwnOrigin(exchange as unknown as Exchange, ORIGIN)).toBe(expected);
  });
});

describe("isFromOwnForm()", () => {
  const window = { origin: ["https://a.example.com"], "sec-fetch-mode": ["navigate"], "sec-fetch-dest": ["document"] };
  it.each<[boolean, Record<string, string[]>]>([
    [true, window],
    [true, { origin: window.origin }],
    [true, { ...window, "sec-fetch-dest": [] }],
    [false, { ...window, "sec-fetch-mode": ["cors"], "sec-fetch-dest": ["empty"] }],
    [false, { ...window, "sec-fetch-mode": ["same-origin"] }],
    [false, { ...window, "sec-fetch-mode": ["navigate", "cors"] }],
    [false, { ...window, "sec-fetch-mode": [""] }],
    [false, { ...window, "sec-fetch-dest": ["iframe"] }],
    [false, { ...window, "sec-fetch-dest": ["embed"] }],
    [false, { ...window, origin: ["https://evil.example"] }],
    [false, { ...window, "sec-fetch-site": ["cross-site"] }],
  ])("is %s for %j", (expected, headers) => {
    const exchange = {
      header: (name: string) => headers[name]?.[0],
      headerValues: (name: string) => headers[name] ?? [],
    };
    expect(isFromOwnForm(exchange as unknown as Exchange, "https://a.example.com")).toBe(expected);
  });
});

describe("BoundedCache", () => {
  const entry = () => ({ visited: false });

  it("never holds more than its capacity, and keeps what is used", () => {
    const cache = new BoundedCache<{ visited: boolean }>(3);
    for (const key of ["a", "b", "c"]) cache.set(key, entry());
    cache.get("a");
    cache.set("d", entry());
    cache.set("e", entry());
    expect(cache.size).toBe(3);
    expect(["a", "b", "c", "d", "e"].map((key) => cache.get(key) !== undefined)).toEqual([
      true,
      false,
      false,
      true,
      true,
    ]);
  });

  it("finds room when everything was used", () => {
    const cache = new BoundedCache<{ visited: boolean }>(2);
    for (const key of ["a", "b"]) cache.set(key, { visited: true });
    cache.set("c", entry());
    expect(cache.size).toBe(2);
    expect(cache.get("c")).toBeDefined();
  });

  it("replaces without evicting", () => {
    const cache = new BoundedCache<{ visited: boolean }>(2);
    for (const key of ["a", "b", "b", "a"]) cache.set(key, entry());
    expect(cache.get("a") && cache.get("b")).toBeDefined();
    cache.deleteWhere(() => true);
    expect(cache.size).toBe(0);
  });

  it("evicts the same entries as a second-chance list, after any history", () => {
    const keys = constantFrom("a", "b", "c", "d", "e", "f", "g", "h");
    const step = tuple(constantFrom("set", "set", "get", "delete", "deleteWhere"), keys);
    assert(
      property(array(step, { maxLength: 60 }), (steps) => {
        const cache = new BoundedCache<{ visited: boolean; readonly key: string }>(4);
        let list: { visited: boolean; readonly key: string }[] = [];
        for (const [does, key] of steps) {
          const listed = list.find((each) => each.key === key);
          if (does === "get") {
            expect(cache.get(key)?.key).toBe(listed?.key);
            if (listed) listed.visited = true;
          } else if (does === "delete") {
            cache.delete(key);
            list = list.filter((each) => each.key !== key);
          } else if (does === "deleteWhere") {
            cache.deleteWhere((value) => value.key <= key);
            list = list.filter((each) => each.key > key);
          } else if (listed) {
            cache.set(key, { visited: false, key });
            listed.visited = false;
          } else {
            while (list.length >= 4) {
              const oldest = list.shift();
              if (oldest?.visited === true) list.push({ visited: false, key: oldest.key });
            }
            cache.set(key, { visited: false, key });
            list.push({ visited: false, key });
          }
          expect(cache.size).toBe(list.length);
        }
      }),
    );
  });
});
