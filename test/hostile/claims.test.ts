/** Unusual or user-chosen claims of a provider give no access. Whole gateway, real oidc-provider, real sockets. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type DemoUser, type IdentityProvider, startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { createServiceAccount } from "../../runtime/identity/tokens/service-accounts.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { createOperatorFetch, type OperatorFetch } from "../../runtime/http/fetch/operator-fetch.ts";
import { APP, startSessionBench } from "../support/session-bench.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { signInAt, TOOL } from "../support/provider-tokens.ts";
import { createBrowser, type Browser } from "../support/scripted-browser.ts";

const API = "https://api.example.com";

/** Values of a provider that does not verify an address. */
const UNVERIFIED: readonly (readonly [title: string, word: unknown])[] = [
  ["false", false],
  ["text false", "false"],
  ["zero", 0],
  ["one", 1],
  ["null", null],
  ["text False", "False"],
  ["text True", "True"],
  ["no", "no"],
  ["empty text", ""],
  ["a list", [false]],
  ["an object", {}],
];
const unverified = (title: string): string => `${title.replaceAll(" ", "-").toLowerCase()}.boss@example.com`;

let trap: Server;
let contacts = 0;
let upstream: EchoUpstream;
let provider: IdentityProvider;
let gateway: TestGateway;
let clock: TestClock;
let directory: string;
let yaml: string;
let port: number;

const user = (id: string, claims: DemoUser["claims"], changes: Partial<DemoUser> = {}): DemoUser => ({
  id,
  email: `${id}@example.com`,
  name: id,
  groups: [],
  ...(claims && { claims }),
  ...changes,
});

beforeAll(async () => {
  port = await freePort();
  clock = createTestClock(Date.now());
  upstream = await startEchoUpstream();
  trap = createServer((_request, response) => {
    contacts += 1;
    response.end("{}");
  });
  await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/groups`;
  const sources = { src1: { endpoint, access_token: "token-of-a-claim-source" } };
  provider = await startIdentityProvider({
    resources: [API],
    users: [
      ...UNVERIFIED.map(([title, word], index) =>
        user(`u-${index}`, { email_verified: word }, { email: unverified(title) }),
      ),
      user("silent", { email_verified: undefined }),
      user("vouched", {
        email_verified: "true",
        role: "lead",
        teams: ["a,b", "c"],
        sid: "forged",
        level: 5,
        staff: true,
      }),
      user("many", { groups: undefined, _claim_names: { groups: "src1" }, _claim_sources: sources }),
      user("implicit", { groups: undefined, hasgroups: true }),
      user("spelt", { groups: undefined, "groups:src1": endpoint }),
      user("contractor", undefined, { groups: ["contractors"] }),
      user("nobody-special", undefined),
      user("kelvin", undefined, { email: "kelvin@\u212Aelvin.example" }),
      user("hollow", undefined, { email: "@hollow.example" }),
      user("service-account:ci", undefined, { email: "machine@example.com" }),
    ],
    clients: [
      {
        client_id: "gateway",
        client_secret: "secret",
        redirect_uris: [`http://localhost:${port}/.gateway/callback`],
      },
      TOOL,
    ],
  });
  const route = (name: string, more: string): string =>
    `  - { name: ${name}, from: "{origin}", prefix: /${name}, to: "${upstream.origin}", ${more} }\n`;
  const anybody = "allow: { and: [{ authenticated_user: true }] }";
  yaml = `idp_provider_url: ${provider.issuer}
idp_client_id: gateway
idp_client_secret: secret
idp_access_token_allowed_audiences: [${API}]
jwt_claims_headers: { X-Mail: email, X-Groups: groups, X-Role: role, X-Teams: teams, X-Sid: sid }
routes:
${route("any", "allow_any_authenticated_user: true")}${route("domain", "allowed_domains: [example.com, kelvin.example, hollow.example]")}${route("mail", "policy: [{ allow: { or: [{ claim/email: silent@example.com }, " + UNVERIFIED.map(([title]) => `{ claim/email: ${unverified(title)} }`).join(", ") + "] } }]")}${route("ends", 'policy: [{ allow: { or: [{ email: { ends_with: "@example.com" } }, { email: { ends_with: "@hollow.example" } }] } }]')}${route("deny-group", `policy: [{ ${anybody}, deny: { or: [{ groups: contractors }] } }]`)}${route("not-group", "policy: [{ allow: { not: [{ groups: contractors }] } }]")}${route("deny-claim", `policy: [{ ${anybody}, deny: { or: [{ claim/groups: contractors }] } }]`)}${route("scalars", "policy: [{ allow: { and: [{ claim/level: 5 }, { claim/staff: true }], or: [] } }]")}${route("machines", 'allowed_users: ["service-account:ci"]')}${route("token", "allowed_domains: [example.com], bearer_token_format: idp_access_token")}${route("token-any", "allow_any_authenticated_user: true, bearer_token_format: idp_access_token")}${route("token-group", `policy: [{ ${anybody}, deny: { or: [{ groups: contractors }] } }], bearer_token_format: idp_access_token`)}`;
  directory = await mkdtemp(join(tmpdir(), "gateway-claims-"));
  gateway = await start();
});
afterAll(async () => {
  await gateway?.close();
  await rm(directory, { recursive: true, force: true });
  await provider?.close();
  await upstream?.close();
  trap?.close();
});

const storageUrl = (): string => `sqlite:${join(directory, "gateway.db")}`;
const start = (): Promise<TestGateway> => startGateway({ port, clock, yaml, boot: { storage_url: storageUrl() } });
const browsers = new Map<string, Browser>();

/** A browser in which they are signed in. */
async function signedIn(email: string): Promise<Browser> {
  let browser = browsers.get(email);
  if (!browser) {
    browser = createBrowser();
    browsers.set(email, browser);
    const page = await browser.signIn(`${gateway.origin}/any`, email);
    expect(page.status).toBe(200);
  }
  return browser;
}

const statusOf = async (email: string, path: string): Promise<number> =>
  (await (await signedIn(email)).open(`${gateway.origin}${path}`)).status;
const lastRecord = async () => (await gateway.records()).at(-1);
const tokenOf = async (email: string): Promise<string> => (await signInAt(provider, TOOL, email, API)).access_token;
const withToken = (path: string, token: string): Promise<Response> =>
  fetch(gateway.origin + path, { redirect: "manual", headers: { authorization: `Bearer ${token}` } });

/** The latest request at the upstream: its headers, and the claims of the signed one. */
function seen(): {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
} {
  const headers = upstream.seen.at(-1)?.headers ?? {};
  const payload = String(headers["x-gateway-assertion"]).split(".")[1] ?? "";
  return { headers, claims: JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown> };
}

describe("an unverified email address", () => {
  test.each(UNVERIFIED)("is no address, email_verified being %s", async (title) => {
    const email = unverified(title);
    for (const path of ["/domain", "/mail", "/ends"]) expect([path, await statusOf(email, path)]).toEqual([path, 403]);
    expect(await lastRecord()).toMatchObject({ allow: false, email: "" });
    expect(await statusOf(email, "/any")).toBe(200);
    expect(seen().headers["x-mail"]).toBe("");
    expect(seen().claims["email"]).toBe("");
    expect(JSON.stringify(seen())).not.toContain(email);
    for (const page of ["/.gateway/user", "/.gateway/"])
      expect((await (await signedIn(email)).open(gateway.origin + page)).text).not.toContain(email);
  });

  test("is also ignored in a provider token", async () => {
    const token = await tokenOf(unverified("zero"));
    expect((await withToken("/token", token)).status).toBe(403);
    expect((await withToken("/token-any", token)).status).toBe(200);
    expect(JSON.stringify(seen())).not.toContain(unverified("zero"));
  });

  test("counts without email_verified, unless the settings require it", async () => {
    expect(await statusOf("silent@example.com", "/domain")).toBe(200);
    expect(await statusOf("silent@example.com", "/mail")).toBe(200);
    const token = await tokenOf("silent@example.com");
    expect((await withToken("/token", token)).status).toBe(200);
    await gateway.reconfigure(`idp_require_email_verified: true\n${yaml}`);
    // Sessions and tokens from before are read again within this.
    clock.advance(61_000);
    expect(await statusOf("silent@example.com", "/domain")).toBe(403);
    expect(await statusOf("silent@example.com", "/mail")).toBe(403);
    expect((await withToken("/token", token)).status).toBe(403);
    browsers.delete("silent@example.com");
    expect(await statusOf("silent@example.com", "/domain")).toBe(403);
    expect(await statusOf("vouched@example.com", "/domain")).toBe(200);
    await gateway.reconfigure(yaml);
    clock.advance(61_000);
    browsers.delete("silent@example.com");
    expect(await statusOf("silent@example.com", "/domain")).toBe(200);
  });
});

describe("groups that the provider omitted because there are too many", () => {
  const LEFT_OUT = ["many@example.com", "implicit@example.com", "spelt@example.com"];

  test.each(LEFT_OUT)("are neither there nor not there for %s", async (email) => {
    expect(await statusOf(email, "/any")).toBe(200);
    for (const path of ["/deny-group", "/not-group", "/deny-claim"])
      expect([path, await statusOf(email, path)]).toEqual([path, 403]);
    expect(await lastRecord()).toMatchObject({ allow: false, deny: false, "allow-why-false": ["claim-unknown"] });
    await statusOf(email, "/deny-group");
    expect(await lastRecord()).toMatchObject({ allow: false, deny: false, "allow-why-false": ["groups-unknown"] });
    expect(gateway.log()).toContain("claims omitted by identity provider");
  });

  test.each(LEFT_OUT)("are not sent to upstreams as an empty list for %s", async (email) => {
    expect(await statusOf(email, "/any")).toBe(200);
    expect(seen().claims).not.toHaveProperty("groups");
    expect(seen().headers).not.toHaveProperty("x-groups");
    expect(JSON.stringify(seen())).not.toContain("token-of-a-claim-source");
    const browser = await signedIn(email);
    const shown = JSON.parse((await browser.open(`${gateway.origin}/.gateway/user`)).text) as Record<string, unknown>;
    expect(shown).not.toHaveProperty("groups");
    expect(JSON.stringify(shown)).not.toContain("token-of-a-claim-source");
    expect((await browser.open(`${gateway.origin}/.gateway/`)).text).toContain(
      "unknown: too many, omitted by the identity provider",
    );
  });

  test("are unknown in a provider token, and its URLs are never requested", async () => {
    expect((await withToken("/token-group", await tokenOf("many@example.com"))).status).toBe(403);
    expect((await withToken("/token-any", await tokenOf("many@example.com"))).status).toBe(200);
    expect((await withToken("/token-group", await tokenOf("nobody-special@example.com"))).status).toBe(200);
    expect(contacts).toBe(0);
  });

  test("rules on other facts work as usual", async () => {
    for (const path of ["/deny-group", "/not-group", "/deny-claim"]) {
      expect([path, await statusOf("contractor@example.com", path)]).toEqual([path, 403]);
      expect([path, await statusOf("nobody-special@example.com", path)]).toEqual([path, 200]);
    }
  });

  test("stay unknown over a restart", async () => {
    await signedIn("many@example.com");
    await gateway.close();
    gateway = await start();
    expect(await statusOf("many@example.com", "/any")).toBe(200);
    expect(await statusOf("many@example.com", "/deny-group")).toBe(403);
    expect(await statusOf("nobody-special@example.com", "/deny-group")).toBe(200);
  });
});

describe("names that look like others", () => {
  test("a Kelvin sign is no k", async () => {
    expect(await statusOf("kelvin@\u212Aelvin.example", "/domain")).toBe(403);
  });

  test("an address with an empty local part is in no domain", async () => {
    for (const path of ["/domain", "/ends"]) expect(await statusOf("@hollow.example", path)).toBe(403);
  });

  test("a subject that reads like a service account is not signed in, by browser and by token", async () => {
    const store = await openRecords(storageUrl(), { clock, log: silentLog() });
    const account = {
      name: "ci",
      email: "",
      groups: [],
      audience: "*",
      expiresAt: Math.floor(clock.now() / 1000) + 3600,
    };
    expect(await createServiceAccount({ store, clock }, account)).toMatchObject({ ok: true });
    await store.close();
    const browser = createBrowser();
    const page = await browser.signIn(`${gateway.origin}/machines`, "machine@example.com");
    expect([page.status, page.url.startsWith(`${gateway.origin}/.gateway/callback`)]).toEqual([403, true]);
    const before = upstream.seen.length;
    expect((await browser.open(`${gateway.origin}/machines`)).status).toBe(403);
    expect(upstream.seen).toHaveLength(before);
    expect((await withToken("/token-any", await tokenOf("machine@example.com"))).status).toBe(401);
  });
});

describe("claims for upstreams", () => {
  test("an element with a comma stays out of the header, and in the signed claims", async () => {
    expect(await statusOf("vouched@example.com", "/any")).toBe(200);
    const { headers, claims } = seen();
    expect(headers["x-teams"]).toBe("c");
    expect(claims["teams"]).toEqual(["a,b", "c"]);
  });

  test("claims named by headers are in the signed header, and never replace the gateway's own", async () => {
    expect(await statusOf("vouched@example.com", "/any")).toBe(200);
    const { headers, claims } = seen();
    expect(headers["x-role"]).toBe("lead");
    expect(claims).toMatchObject({ role: "lead", sub: "vouched", email: "vouched@example.com", groups: [] });
    expect(claims["sid"]).not.toBe("forged");
    expect(claims).not.toHaveProperty("level");
  });

  test("numbers and flags match rules that are written as such", async () => {
    expect(await statusOf("vouched@example.com", "/scalars")).toBe(200);
    expect(await statusOf("nobody-special@example.com", "/scalars")).toBe(403);
  });
});

describe("a refresh that brings no ID token", () => {
  /** The second response has fewer claims: none of those that only the ID token had. */
  const thinning = (): OperatorFetch => {
    const fetch = createOperatorFetch({ timeoutMs: 5000 });
    let refreshed = false;
    return async (url, init) => {
      const answer = await fetch(url, init);
      refreshed ||= new URLSearchParams((init?.body ?? "") as string).get("grant_type") === "refresh_token";
      if (!refreshed || !answer.headers.get("content-type")?.includes("json")) return answer;
      const {
        id_token: _,
        email_verified: _verified,
        hasgroups: _has,
        ...rest
      } = (await answer.json()) as Record<string, unknown>;
      return Response.json(rest, { status: answer.status });
    };
  };

  test("keeps the address unverified, and omitted groups unknown", async () => {
    const users = [user("doubted", { email_verified: false, groups: undefined, hasgroups: true })];
    const bench = await startSessionBench({ idp: { users }, fetch: thinning() });
    try {
      await bench.browser().signIn(`${APP}/`, "doubted@example.com");
      for (let count = 0; count < 2; count += 1) {
        const refreshed = await bench.session.identities.refresh("doubted");
        expect(refreshed).toMatchObject({ ok: true, user: { email: "", leftOut: { groups: true } } });
        expect(refreshed).not.toHaveProperty("user.claims.email");
      }
    } finally {
      await bench.close();
    }
  });
});
