/**
 * Groups that Entra omits from its tokens, requested from Microsoft Graph: whole gateway, real oidc-provider, and a
 * stand-in for Graph that accepts only documented requests.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { type DemoUser, type IdentityProvider, startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { MAX_CONFIRM_SECONDS, RETRY_GROUPS_SECONDS } from "../../runtime/identity/claims-record.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import {
  GRAPH_CLIENT,
  GRAPH_SECRET,
  send,
  startGraphServer,
  TENANT,
  type GraphServer,
} from "../support/graph-server.ts";
import { freePort } from "../support/ports.ts";
import { signInAt, TOOL } from "../support/provider-tokens.ts";
import { createBrowser, type Browser } from "../support/scripted-browser.ts";

const API = "https://api.example.com";
const ENGINEERS = "5f1c0a2e-0000-4000-8000-000000000001";
const CONTRACTORS = "5f1c0a2e-0000-4000-8000-000000000002";

let trap: Server;
let contacts = 0;
let graph: GraphServer;
let upstream: EchoUpstream;
let provider: IdentityProvider;
let gateway: TestGateway;
let clock: TestClock;

const NAMES = ["engineer", "contractor", "crowd", "late", "leaver", "program", "abroad", "nameless", "few"] as const;
type Name = (typeof NAMES)[number];
const emailOf = (name: Name): string => `${name}@example.com`;
const oidOf = (name: Name): string => `00000000-0000-4000-8000-${String(NAMES.indexOf(name)).padStart(12, "0")}`;
const group = (index: number): string => `6a000000-0000-4000-8000-${String(index).padStart(12, "0")}`;

function user(name: Name, endpoint: string): DemoUser {
  const overage = {
    _claim_names: { groups: "src1" },
    _claim_sources: { src1: { endpoint, access_token: "never-sent" } },
  };
  const claims: Record<string, unknown> = { tid: TENANT, oid: oidOf(name), groups: undefined, ...overage };
  if (name === "contractor") {
    for (const each of ["_claim_names", "_claim_sources"]) delete claims[each];
    claims["hasgroups"] = true;
  }
  if (name === "abroad") claims["tid"] = GRAPH_CLIENT;
  if (name === "nameless") claims["oid"] = undefined;
  const few = { groups: [ENGINEERS], claims: { tid: TENANT, oid: oidOf(name) } };
  return { id: `sub-${name}`, email: emailOf(name), name, groups: [], claims, ...(name === "few" ? few : {}) };
}

beforeAll(async () => {
  const port = await freePort();
  clock = createTestClock(Date.now());
  upstream = await startEchoUpstream();
  graph = await startGraphServer();
  trap = createServer((_request, response) => {
    contacts += 1;
    response.end("{}");
  });
  await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/users/x/getMemberObjects`;
  provider = await startIdentityProvider({
    resources: [API],
    users: NAMES.map((name) => user(name, endpoint)),
    clients: [
      { client_id: "gateway", client_secret: "secret", redirect_uris: [`http://localhost:${port}/.gateway/callback`] },
      TOOL,
    ],
  });
  const route = (name: string, more: string): string =>
    `  - { name: ${name}, from: "{origin}", prefix: /${name}, to: "${upstream.origin}", ${more} }\n`;
  const anybody = "allow: { and: [{ authenticated_user: true }] }";
  const yaml = `idp_provider_url: ${provider.issuer}
idp_client_id: gateway
idp_client_secret: secret
idp_access_token_allowed_audiences: [${API}]
idp_groups_resolver:
  entra:
    tenant: ${TENANT.toUpperCase()}
    client_id: ${GRAPH_CLIENT}
    client_secret: ${JSON.stringify(GRAPH_SECRET)}
    login_url: ${graph.origin}
    graph_url: ${graph.origin}
jwt_claims_headers: { X-Groups: groups }
routes:
${route("any", "allow_any_authenticated_user: true")}${route("engineers", `policy: [{ allow: { and: [{ groups: ${ENGINEERS} }] } }]`)}${route("deny", `policy: [{ ${anybody}, deny: { or: [{ groups: ${CONTRACTORS} }] } }]`)}${route("not", `policy: [{ allow: { not: [{ groups: ${CONTRACTORS} }] } }]`)}${route("claim", `policy: [{ ${anybody}, deny: { or: [{ claim/groups: ${CONTRACTORS} }] } }]`)}${route("token", `policy: [{ allow: { and: [{ groups: ${ENGINEERS} }] } }], bearer_token_format: idp_access_token`)}`;
  gateway = await startGateway({ port, clock, yaml });
});
afterAll(async () => {
  await gateway?.close();
  await provider?.close();
  await upstream?.close();
  await graph?.close();
  trap?.close();
});
afterEach(() => {
  graph.instead = undefined;
  // Whatever a test was about.
  expect(graph.wrong).toEqual([]);
  expect(contacts).toBe(0);
  for (const secret of [GRAPH_SECRET, "eyJ0", "never-sent"]) expect(gateway.log()).not.toContain(secret);
});

const browsers = new Map<Name, Browser>();

async function statusOf(name: Name, path: string): Promise<number> {
  let browser = browsers.get(name);
  if (!browser) {
    browser = createBrowser();
    browsers.set(name, browser);
    expect((await browser.signIn(`${gateway.origin}/any`, emailOf(name))).status).toBe(200);
  }
  return (await browser.open(gateway.origin + path)).status;
}
const statusesOf = async (name: Name): Promise<Record<string, number>> => ({
  engineers: await statusOf(name, "/engineers"),
  deny: await statusOf(name, "/deny"),
  not: await statusOf(name, "/not"),
});
const questionsOf = (name: Name): number => graph.questions.filter(({ user: asked }) => asked === oidOf(name)).length;
const refuseGroups = (): void => {
  graph.instead = (what, response) => {
    if (what === "groups") send(response, 403, { error: { code: "Authorization_RequestDenied", message: "no" } });
    return what === "groups";
  };
};
const causes = (name: Name): readonly string[] =>
  gateway
    .log()
    .split("\n")
    .filter((line) => line.includes("cannot resolve groups of user") && line.includes(`sub-${name}`));

/** The upstream's view of the last request. */
function seen(): { readonly headers: Readonly<Record<string, unknown>>; readonly claims: Record<string, unknown> } {
  const headers = upstream.seen.at(-1)?.headers ?? {};
  const payload = String(headers["x-gateway-assertion"]).split(".")[1] ?? "";
  return { headers, claims: JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown> };
}

/** Until the identity is due and checked again: sessions are read again within a minute, and wait for the provider a while. */
const after = (seconds: number, look: () => Promise<unknown>) => {
  clock.advance(seconds * 1000);
  return expect.poll(
    () => {
      clock.advance(61_000);
      return look();
    },
    { interval: 50 },
  );
};

const UNKNOWN = { engineers: 403, deny: 403, not: 403 };

describe("groups that the provider omitted", () => {
  test("are Graph's: they allow, and they deny", async () => {
    graph.groups.set(oidOf("engineer"), [ENGINEERS]);
    graph.groups.set(oidOf("contractor"), [ENGINEERS, CONTRACTORS]);
    expect(await statusesOf("engineer")).toEqual({ engineers: 200, deny: 200, not: 200 });
    expect(await statusesOf("contractor")).toEqual({ engineers: 200, deny: 403, not: 403 });
    expect([questionsOf("engineer"), questionsOf("contractor"), graph.tokens]).toEqual([1, 1, 1]);
  });

  test("are not a claim: rules on the claim stay unknown", async () => {
    graph.groups.set(oidOf("engineer"), [ENGINEERS]);
    expect(await statusOf("engineer", "/claim")).toBe(403);
    expect((await gateway.records()).at(-1)).toMatchObject({ allow: false, "allow-why-false": ["claim-unknown"] });
  });

  test("are sent to upstreams as far as they fit", async () => {
    graph.groups.set(oidOf("engineer"), [ENGINEERS]);
    await statusOf("engineer", "/any");
    expect(seen().claims["groups"]).toEqual([ENGINEERS]);
    expect(seen().headers["x-groups"]).toBe(ENGINEERS);
    graph.groups.set(oidOf("crowd"), [ENGINEERS, ...Array.from({ length: 300 }, (_, index) => group(index))]);
    expect(await statusesOf("crowd")).toEqual({ engineers: 200, deny: 200, not: 200 });
    expect(seen().claims).toMatchObject({ email: emailOf("crowd") });
    expect(seen().claims).not.toHaveProperty("groups");
    expect(seen().headers).not.toHaveProperty("x-groups");
  });

  test("count for programs that show the provider's tokens", async () => {
    graph.groups.set(oidOf("program"), [ENGINEERS]);
    const { access_token: token } = await signInAt(provider, TOOL, emailOf("program"), API);
    const ask = () => fetch(`${gateway.origin}/token`, { headers: { authorization: `Bearer ${token}` } });
    expect((await ask()).status).toBe(200);
    refuseGroups();
    clock.advance(61_000);
    expect((await ask()).status).toBe(403);
    expect((await gateway.records()).at(-1)).toMatchObject({ allow: false, "allow-why-false": ["groups-unknown"] });
  });
});

/** Case 23 of the research: requests to the URL in the token are counted after each test. */
describe("groups that cannot be had", () => {
  test("are unknown, neither allow nor bypass a deny rule, and are requested again within a minute or two", async () => {
    graph.groups.set(oidOf("late"), [ENGINEERS]);
    refuseGroups();
    expect(await statusesOf("late")).toEqual(UNKNOWN);
    expect((await gateway.records()).at(-1)).toMatchObject({
      allow: false,
      deny: false,
      user: "sub-late",
      "allow-why-false": ["groups-unknown"],
    });
    expect(causes("late")[0]).toContain("the answer is 403 Authorization_RequestDenied");
    await statusOf("late", "/any");
    expect(seen().claims).not.toHaveProperty("groups");
    const asked = questionsOf("late");
    // Not with every request.
    await statusOf("late", "/any");
    expect(questionsOf("late")).toBe(asked);

    graph.instead = undefined;
    await after(RETRY_GROUPS_SECONDS, () => statusesOf("late")).toEqual({ engineers: 200, deny: 200, not: 200 });
  });

  test.each(["abroad", "nameless"] as const)("are not requested for users unknown to Graph: %s", async (name) => {
    graph.groups.set(oidOf(name), [ENGINEERS]);
    expect(await statusesOf(name)).toEqual(UNKNOWN);
    expect(questionsOf(name)).toBe(0);
    expect(causes(name)[0]).toMatch(/the claim \\"(tid|oid)\\"/);
  });

  test("of a user with known groups become unknown, and do not keep their old value", async () => {
    graph.groups.set(oidOf("leaver"), [ENGINEERS]);
    expect(await statusesOf("leaver")).toEqual({ engineers: 200, deny: 200, not: 200 });
    graph.groups.set(oidOf("leaver"), [CONTRACTORS]);
    await after(MAX_CONFIRM_SECONDS, () => statusesOf("leaver")).toEqual({ engineers: 403, deny: 403, not: 403 });
    graph.groups.set(oidOf("leaver"), []);
    await after(MAX_CONFIRM_SECONDS, () => statusesOf("leaver")).toEqual({ engineers: 403, deny: 200, not: 200 });
    refuseGroups();
    await after(MAX_CONFIRM_SECONDS, () => statusesOf("leaver")).toEqual(UNKNOWN);
  });
});

test("groups that the provider sends are not requested", async () => {
  graph.groups.set(oidOf("few"), [CONTRACTORS]);
  expect(await statusesOf("few")).toEqual({ engineers: 200, deny: 200, not: 200 });
  expect(questionsOf("few")).toBe(0);
});
