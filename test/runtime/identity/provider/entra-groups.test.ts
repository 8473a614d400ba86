/** Groups from Microsoft Graph: the two requests as Microsoft documents them, and every answer that is not whole. */
import type { ServerResponse } from "node:http";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { EntraSettings } from "../../../../runtime/features/sign-in/compiled.ts";
import { createOperatorFetch } from "../../../../runtime/http/fetch/operator-fetch.ts";
import { createEntraGroups, MAX_GROUPS } from "../../../../runtime/identity/provider/entra-groups.ts";
import type { AskGroups } from "../../../../runtime/identity/provider/groups-resolver.ts";
import { createTestClock, type TestClock } from "../../../support/clock.ts";
import {
  GRAPH_CLIENT,
  GRAPH_SECRET,
  send,
  startGraphServer,
  TENANT,
  type GraphServer,
} from "../../../support/graph-server.ts";

const OID = "00000000-0000-4000-8000-000000000001";
const group = (index: number): string => `5f1c0a2e-0000-4000-8000-${String(index).padStart(12, "0")}`;
const CLAIMS = { tid: TENANT, oid: OID };

let graph: GraphServer;
let clock: TestClock;
let ask: AskGroups;
let settings: EntraSettings;
beforeEach(async () => {
  graph = await startGraphServer();
  graph.groups.set(OID, [group(1), group(2)]);
  clock = createTestClock();
  settings = {
    tenant: TENANT,
    clientId: GRAPH_CLIENT,
    clientSecret: GRAPH_SECRET,
    securityEnabledOnly: true,
    loginUrl: graph.origin,
    graphUrl: graph.origin,
  };
  ask = createEntraGroups({ fetch: createOperatorFetch(), clock });
});
afterEach(() => graph.close());

/** The problem with which it is refused. */
const refused = (of = settings, claims: Parameters<AskGroups>[1] = CLAIMS): Promise<string> =>
  ask(of, claims).then(
    () => "it was answered",
    (error: Error) => error.message,
  );
const answerWith = (what: "token" | "groups", answer: (response: ServerResponse) => void): void => {
  graph.instead = (asked, response) => {
    if (asked === what) answer(response);
    return asked === what;
  };
};

describe("createEntraGroups()", () => {
  test("sends both requests as they are documented", async () => {
    expect(await ask(settings, CLAIMS)).toEqual([group(1), group(2)]);
    expect(graph.wrong).toEqual([]);
    expect(graph.questions).toEqual([{ user: OID, securityEnabledOnly: true }]);
  });

  test("requests all groups if configured", async () => {
    expect(await ask({ ...settings, securityEnabledOnly: false }, CLAIMS)).toEqual([
      group(1),
      group(2),
      ...graph.others,
    ]);
    expect(graph.questions).toEqual([{ user: OID, securityEnabledOnly: false }]);
  });

  test("takes ids in any case, and sends them in one", async () => {
    const claims = { tid: TENANT.toUpperCase(), oid: OID.toUpperCase() };
    expect(await ask(settings, claims)).toHaveLength(2);
  });

  test("uses a token for all users until shortly before its end", async () => {
    await Promise.all([ask(settings, CLAIMS), ask(settings, CLAIMS), ask(settings, CLAIMS)]);
    expect([graph.tokens, graph.questions.length]).toEqual([1, 3]);
    clock.advance((3599 - 61) * 1000);
    await ask(settings, CLAIMS);
    expect(graph.tokens).toBe(1);
    clock.advance(2000);
    await ask(settings, CLAIMS);
    expect(graph.tokens).toBe(2);
  });

  test("requests a new token once if Graph rejects the current one", async () => {
    await ask(settings, CLAIMS);
    graph.revokeTokens();
    expect(await ask(settings, CLAIMS)).toHaveLength(2);
    expect(graph.tokens).toBe(2);
    answerWith("groups", (response) => send(response, 401, { error: { code: "InvalidAuthenticationToken" } }));
    expect(await refused()).toBe("Cannot request the groups: the answer is 401 InvalidAuthenticationToken");
    expect(graph.tokens).toBe(3);
  });

  test.each<readonly [string, Record<string, string | null | string[]>, string]>([
    ["of another tenant", { tid: GRAPH_CLIENT, oid: OID }, '"tid" does not name the tenant'],
    ["without a tenant", { oid: OID }, '"tid" does not name the tenant'],
    ["with several tenants", { tid: [TENANT], oid: OID }, '"tid" does not name the tenant'],
    ["without an object id", { tid: TENANT }, '"oid" is not a GUID'],
    ["with null", { tid: TENANT, oid: null }, '"oid" is not a GUID'],
    ["that lead elsewhere", { tid: TENANT, oid: "../../organization" }, '"oid" is not a GUID'],
    ["with a query", { tid: TENANT, oid: `${OID}?$select=id` }, '"oid" is not a GUID'],
    ["with a name", { tid: TENANT, oid: "alice@example.com" }, '"oid" is not a GUID'],
    ["with a second line", { tid: TENANT, oid: `${OID}\n` }, '"oid" is not a GUID'],
  ])("sends nothing for claims %s", async (_, claims, problem) => {
    expect(await refused(settings, claims)).toContain(problem);
    expect([graph.tokens, graph.questions.length]).toEqual([0, 0]);
  });

  test.each<readonly [string, unknown]>([
    ["no list", { value: group(1) }],
    ["nothing", {}],
    ["null", null],
    ["no JSON object", [group(1)]],
    ["a list with something else", { value: [group(1), 7] }],
    ["a list with a name", { value: [group(1), "admins"] }],
    ["a page", { value: [group(1)], "@odata.nextLink": "https://graph.microsoft.com/v1.0/next" }],
    ["more than are kept", { value: Array.from({ length: MAX_GROUPS + 1 }, (_, index) => group(index)) }],
  ])("takes no part for the whole: %s", async (_, answer) => {
    answerWith("groups", (response) => send(response, 200, answer));
    expect(await refused()).toMatch(/^Cannot read the groups: /);
  });

  test("accepts the maximum number of groups, and none", async () => {
    graph.groups.set(
      OID,
      Array.from({ length: MAX_GROUPS }, (_, index) => group(index)),
    );
    expect(await ask(settings, CLAIMS)).toHaveLength(MAX_GROUPS);
    graph.groups.set(OID, []);
    expect(await ask(settings, CLAIMS)).toEqual([]);
  });

  test.each<readonly [string, (response: ServerResponse) => void, string]>([
    [
      "an error",
      (response) => send(response, 403, { error: { code: "Authorization_RequestDenied" } }),
      "403 Authorization_RequestDenied",
    ],
    [
      "an error of words",
      (response) => send(response, 400, { error: { code: "no word\u0007", message: "secret" } }),
      "the answer is 400",
    ],
    ["an error without JSON", (response) => response.writeHead(502).end("<html>"), "the answer is 502"],
    ["a success without JSON", (response) => response.writeHead(200).end("<html>"), "is not a list of IDs"],
    ["a redirect", (response) => response.writeHead(307, { location: "http://127.0.0.1:9/" }).end(), "it redirects"],
    ["too long an answer", (response) => send(response, 200, { value: "x".repeat(300_000) }), "more than 262144 bytes"],
    ["a cut connection", (response) => response.destroy(), "Cannot fetch from"],
  ])("is not answered by %s", async (_, answer, problem) => {
    answerWith("groups", answer);
    const text = await refused();
    expect(text).toContain(problem);
    for (const secret of [GRAPH_SECRET, "eyJ0"]) expect(text).not.toContain(secret);
    graph.instead = undefined;
    expect(await ask(settings, CLAIMS)).toHaveLength(2);
  });

  test("a server that never responds times out", async () => {
    answerWith("groups", () => {});
    ask = createEntraGroups({ fetch: createOperatorFetch(), clock, timeoutMs: 50 });
    // On a busy host the token may also be too late.
    expect(await refused()).toMatch(/^Cannot request (the groups|a token): /);
    answerWith("token", () => {});
    expect(await refused({ ...settings })).toMatch(/^Cannot request a token: Cannot fetch from/);
  });

  test("rejected credentials are not sent again for a while, but new ones are used immediately", async () => {
    const wrong = { ...settings, clientSecret: "wrong" };
    expect(await refused(wrong)).toMatch(
      /^Cannot request a token: the answer is 401 invalid_client: "AADSTS7000215: .*"; check client_id, client_secret and tenant of idp_groups_resolver$/,
    );
    expect(await refused(wrong)).toContain("not retried yet");
    expect(graph.wrong).toHaveLength(1);
    expect(await ask(settings, CLAIMS)).toHaveLength(2);
    clock.advance(30_000);
    expect(await refused(wrong)).toContain("invalid_client");
    expect(graph.wrong).toHaveLength(2);
  });

  test.each<readonly [string, Record<string, string>, number]>([
    ["as long as it says", { "retry-after": "12" }, 12],
    ["for a while where it says nothing", {}, 30],
    ["for a while where it says a date", { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }, 30],
    ["never for hours", { "retry-after": "999999" }, 300],
    ["a second at least", { "retry-after": "0" }, 1],
  ])("a server that has too much to do is left alone %s", async (_, headers, seconds) => {
    answerWith("groups", (response) => send(response, 429, { error: { code: "TooManyRequests" } }, headers));
    expect(await refused()).toContain("429 TooManyRequests");
    graph.instead = undefined;
    clock.advance(seconds * 1000 - 1);
    expect(await refused()).toContain("not retried yet");
    clock.advance(1);
    expect(await ask(settings, CLAIMS)).toHaveLength(2);
    expect(graph.questions).toHaveLength(2);
  });

  test.each<readonly [string, unknown]>([
    ["no token", { token_type: "Bearer", expires_in: 3599 }],
    ["a token that fits into no header", { token_type: "Bearer", expires_in: 3599, access_token: "a\r\nb: c" }],
    ["another type", { token_type: "pop", expires_in: 3599, access_token: "a" }],
    ["no end", { token_type: "Bearer", access_token: "a" }],
    ["an end in words", { token_type: "Bearer", expires_in: "3599", access_token: "a" }],
  ])("rejects a token response with %s", async (_, answer) => {
    answerWith("token", (response) => send(response, 200, answer));
    expect(await refused()).toBe("Cannot request a token: the response has no bearer token with an expiry");
    expect(graph.questions).toEqual([]);
  });

  test("limits the users queried at a time", async () => {
    const waiting: ServerResponse[] = [];
    answerWith("groups", (response) => void waiting.push(response));
    const running = Array.from({ length: 64 }, () => ask(settings, CLAIMS));
    expect(await refused()).toContain("64 lookups are in progress");
    await expect.poll(() => waiting.length).toBe(64);
    for (const response of waiting) send(response, 200, { value: [group(1)] });
    expect(await Promise.all(running)).toHaveLength(64);
    graph.instead = undefined;
    expect(await ask(settings, CLAIMS)).toHaveLength(2);
  });
});
