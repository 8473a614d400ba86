/**
 * Our authorization server and oidc-provider, configured alike, get the same few thousand generated requests. Where they
 * answer differently a named rule must say why; a difference that no rule explains is a failure.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Answer } from "../support/browser.ts";
import { DIFFERENCES, type Difference, type Endpoint, type Seen } from "../support/issuer-differences.ts";
import { ORIGIN, startIssuer, type TestIssuer } from "../support/issuer.ts";
import { startOracle, type Oracle } from "../support/issuer-oracle.ts";
import {
  authorizeRequests,
  CHALLENGE,
  CLIENT,
  CODE,
  REDIRECT,
  registrationRequests,
  RESOURCE,
  tokenRequests,
  WEB_REDIRECT,
  type Parameters,
} from "../support/issuer-requests.ts";

const SEED = 20_261_120;
const AUTHORIZE_REQUESTS = 1_500;
const TOKEN_REQUESTS = 600;
const REGISTRATION_REQUESTS = 600;
const TEST_CLIENT = {
  client_name: "Differential client",
  redirect_uris: [REDIRECT, WEB_REDIRECT],
  token_endpoint_auth_method: "none",
  application_type: "native",
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
};

let ours: TestIssuer;
let theirs: Oracle;
let ourClient: string;
let theirClient: string;

beforeAll(async () => {
  ours = await startIssuer();
  theirs = await startOracle(RESOURCE);
  ourClient = (await ours.oauth().register(TEST_CLIENT)).client_id;
  theirClient = String((await registerAtOracle(JSON.stringify(TEST_CLIENT))).json()["client_id"]);
});

afterAll(async () => {
  await ours?.close();
  await theirs?.close();
});

/** Fails with every unexplained difference, grouped. @returns names of the rules that explained one */
function explain(endpoint: Endpoint, seen: readonly Seen[]): ReadonlySet<string> {
  const used = new Set<string>();
  const unexplained = new Map<string, string[]>();
  for (const each of seen) {
    if (each.ours === each.theirs) continue;
    const rule = DIFFERENCES.find((difference) => difference.endpoint === endpoint && difference.explains(each));
    if (rule) used.add(rule.name);
    else {
      const key = `ours ${each.ours} | theirs ${each.theirs}`;
      unexplained.set(key, [...(unexplained.get(key) ?? []), each.bends.join("  &  ")]);
    }
  }
  const text = [...unexplained].map(([key, bends]) => `${key}\n    ${[...new Set(bends)].slice(0, 20).join("\n    ")}`);
  expect(text.join("\n")).toBe("");
  return used;
}

function expectAllUsed(endpoint: Endpoint, used: ReadonlySet<string>): void {
  const rules: readonly Difference[] = DIFFERENCES.filter((rule) => rule.endpoint === endpoint);
  expect(rules.filter(({ name }) => !used.has(name)).map(({ name }) => name)).toEqual([]);
}

const fill = (parameters: Parameters, values: Readonly<Record<string, string>>): string =>
  new URLSearchParams(
    parameters.map(([name, value]) => [
      name,
      value.replaceAll(CLIENT, values["client"] ?? "").replaceAll(CODE, values["code"] ?? ""),
    ]),
  ).toString();

describe("differences between our authorization server and oidc-provider", () => {
  test("authorization requests: every difference is explained by a named rule", async () => {
    const seen: Seen[] = [];
    const targets: string[] = [];
    for (const { request, bends } of authorizeRequests(AUTHORIZE_REQUESTS, SEED)) {
      const [our, their] = await Promise.all([
        ours.send({
          method: "GET",
          url: `${ORIGIN}/.gateway/mcp/authorize?${fill(request, { client: ourClient })}`,
          headers: { accept: "text/html" },
        }),
        theirs.send({
          method: "GET",
          url: `${theirs.origin}/auth?${fill(request, { client: theirClient })}`,
          headers: { accept: "text/html" },
        }),
      ]);
      targets.push(our.headers["location"] ?? "");
      seen.push({
        bends,
        ours: authorizeClass(our, `${ORIGIN}/.gateway/mcp/consent?`),
        theirs: authorizeClass(their, "/interaction/"),
      });
    }
    expectAllUsed("authorize", explain("authorize", seen));
    // Whatever the request, redirects only lead to the next step or to the client's own addresses.
    const allowed =
      /^$|^https:\/\/mcp\.example\.com\/\.gateway\/mcp\/consent\?|^http:\/\/127\.0\.0\.1(:\d+)?\/callback\?|^https:\/\/app\.example\.com\/callback\?fixed=1&/;
    expect(targets.filter((target) => !allowed.test(target))).toEqual([]);
  });

  test("token requests: every difference is explained by a named rule", async () => {
    const seen: Seen[] = [];
    for (const { request, bends } of tokenRequests(TOKEN_REQUESTS, SEED)) {
      const needsCode = request.form.some(([, value]) => value.includes(CODE));
      const [ourCode, theirCode] = needsCode ? await mintCodes() : ["", ""];
      const send = (client: string, code: string) => ({
        method: "POST",
        headers: {
          "content-type": request.contentType ?? "application/x-www-form-urlencoded",
          ...(request.authorization === undefined
            ? {}
            : {
                authorization: request.authorization.replace("{basic}", Buffer.from(`${client}:`).toString("base64")),
              }),
        },
        body: fill(request.form, { client, code }),
      });
      const [our, their] = await Promise.all([
        ours.send({ url: `${ORIGIN}/.gateway/mcp/token`, ...send(ourClient, ourCode) }),
        theirs.send({ url: `${theirs.origin}/token`, ...send(theirClient, theirCode) }),
      ]);
      expect(our.headers["cache-control"]).toBe("no-store");
      seen.push({ bends, ours: tokenClass(our), theirs: tokenClass(their) });
    }
    expectAllUsed("token", explain("token", seen));
  });

  test("registrations: every difference is explained by a named rule", async () => {
    const seen: Seen[] = [];
    for (const { request, bends } of registrationRequests(REGISTRATION_REQUESTS, SEED)) {
      // Registrations are limited per peer and time.
      ours.clock.advance(10_000);
      const [our, their] = await Promise.all([
        ours.send({
          method: "POST",
          url: `${ORIGIN}/.gateway/mcp/register`,
          headers: { "content-type": "application/json" },
          body: request,
        }),
        registerAtOracle(request),
      ]);
      seen.push({ bends, ours: registrationClass(our), theirs: registrationClass(their) });
    }
    expectAllUsed("register", explain("register", seen));
  });
});

async function registerAtOracle(body: string): Promise<Answer> {
  return theirs.send({
    method: "POST",
    url: `${theirs.origin}/reg`,
    headers: { "content-type": "application/json" },
    body,
  });
}

/** The same grant at both, fresh. */
async function mintCodes(): Promise<readonly [ours: string, theirs: string]> {
  const [outcome, theirCode] = await Promise.all([
    ours.oauth().authorize({ clientId: ourClient, redirectUri: REDIRECT, challenge: CHALLENGE }),
    theirs.mintCode({ clientId: theirClient, redirectUri: REDIRECT, challenge: CHALLENGE }),
  ]);
  const code = outcome.at === "client" ? outcome.parameters["code"] : undefined;
  if (code === undefined) throw new Error("no code");
  return [code, theirCode];
}

/** "goes on", "page 400", "page, then client <error>" by a link, or "client <error>" with the members missing in the response. */
function authorizeClass(answer: Answer, onward: string): string {
  const { location } = answer.headers;
  if (location === undefined) {
    const linked = /href="[^"]*[?;]error=(\w+)/.exec(answer.text)?.[1];
    return linked === undefined ? `page ${answer.status}` : `page, then client ${linked}`;
  }
  if (location.startsWith(onward)) return "goes on";
  const url = new URL(location);
  const parameters = new URLSearchParams(url.search || url.hash.slice(1));
  const lacks = parameters.has("iss") ? "" : " without iss";
  return `client ${parameters.get("error") ?? "without error"}${lacks}`;
}

function tokenClass(answer: Answer): string {
  if (answer.status !== 200) return `${answer.status} ${String(answer.json()["error"])}`;
  const { token_type: type, refresh_token: refresh, scope } = answer.json();
  return `200 ${String(type)}, scope ${String(scope)}${refresh === undefined ? ", no refresh token" : ""}`;
}

function registrationClass(answer: Answer): string {
  const json = answer.json();
  if (answer.status !== 201) return `${answer.status} ${String(json["error"])}`;
  const secret = json["client_secret"] === undefined ? "" : ", secret";
  return `201 ${JSON.stringify(json["redirect_uris"])} ${String(json["token_endpoint_auth_method"])} ${JSON.stringify(json["grant_types"])}${secret}`;
}
