/** MCP servers that do not respond while a user decides about a client: the page comes in time and names them. */
import { expect, test } from "vitest";

import type { SafeAnswer, SafeFetch } from "../../../../runtime/http/fetch/safe-fetch.ts";
import { ORIGIN, useIssuers, type TestIssuer } from "../../../support/issuer.ts";
import { type AuthorizeOutcome, createPkce, REDIRECT_URI } from "../../../support/oauth-client.ts";

const start = useIssuers();
const HANGING = Array.from({ length: 20 }, (_, at) => `hangs${at}`);
const NAMES = ["works", "redirects", ...HANGING];

const yaml = `
runtime_flags: { mcp: true }
mcp_allowed_as_metadata_domains: ["*.up.example"]
routes:
${NAMES.map(
  (name) =>
    `  - { name: ${name}, from: "${ORIGIN}", prefix: /${name}, to: "https://${name}.up.example", policy: [{ allow: { and: [authenticated_user: true] } }], mcp: { server: {} } }`,
).join("\n")}
`;

interface World {
  readonly gateway: TestIssuer;
  /** Requested hosts, once per request. */
  readonly asked: string[];
  /** Requests that have no response yet. */
  readonly open: (() => void)[];
}

/** Servers that never respond: the bound must not be that of a request. */
async function world(lookMs: number): Promise<World> {
  const asked: string[] = [];
  const open: (() => void)[] = [];
  const failed = (reason: "redirect" | "timeout"): SafeAnswer => ({ ok: false, reason, detail: "" });
  const upstreamFetch: SafeFetch = ({ url }) => {
    const { hostname } = new URL(url);
    asked.push(hostname);
    if (hostname.startsWith("hangs"))
      return new Promise<SafeAnswer>((resolve) => open.push(() => resolve(failed("timeout"))));
    if (hostname.startsWith("redirects")) return Promise.resolve(failed("redirect"));
    return Promise.resolve({ ok: true, status: 404, headers: {}, body: Buffer.alloc(0) });
  };
  return { gateway: await start({ yaml, upstreamFetch, lookMs }), asked, open };
}

async function request({ gateway }: World) {
  const oauth = gateway.oauth({ resource: `${ORIGIN}/works` });
  const { client_id: clientId } = await oauth.register();
  return { oauth, options: { clientId, redirectUri: REDIRECT_URI, challenge: createPkce().challenge } };
}

/** Names that the page marks. */
function silentOn(outcome: AuthorizeOutcome): ReadonlySet<string | undefined> {
  const text = outcome.at === "page" ? outcome.page.text : "";
  expect(text.includes("You can allow access now.")).toBe(text.includes("did not answer</strong>"));
  const found = text.matchAll(/<li>\s*(\w+) <span[^>]*>[^<]*<\/span> <strong>did not answer<\/strong>/g);
  return new Set([...found].map(([, name]) => name));
}

const ALL = { parameters: { resource: undefined } };
const HOUR_MS = 3_600_000;

test("the consent page comes in time though no server responds, names them, and allowing waits for none again", async () => {
  const there = await world(100);
  const { oauth, options } = await request(there);
  const outcome = await oauth.authorize({ ...options, ...ALL, decision: "look" });
  expect(silentOn(outcome)).toEqual(new Set(HANGING));
  const before = there.asked.length;
  expect((await oauth.authorize({ ...options, ...ALL })).at).toBe("client");
  expect(there.asked.length).toBe(before);
});

test("all servers of a host are probed at the same time", async () => {
  const there = await world(HOUR_MS);
  const { oauth, options } = await request(there);
  const looking = oauth.authorize({ ...options, ...ALL, decision: "look" });
  // Each with a ping and a document, before the first timeout.
  await expect.poll(() => there.open.length).toBe(2 * HANGING.length);
  const released = setInterval(() => there.open.splice(0).forEach((release) => release()), 1);
  expect(silentOn(await looking)).toEqual(new Set(HANGING));
  clearInterval(released);
});

test("only servers that do not respond are marked", async () => {
  const { oauth, options } = await request(await world(HOUR_MS));
  const outcome = await oauth.authorize({ ...options, decision: "look" });
  expect(outcome.at === "page" && outcome.page.text).toContain(`${ORIGIN}/works`);
  expect(silentOn(outcome)).toEqual(new Set());
});
