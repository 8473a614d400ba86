/** The portal's parts, over a store in memory: which cards a user gets, and what acts for them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Exchange } from "../../../runtime/http/exchange.ts";
import type { Principal } from "../../../runtime/identity/principal.ts";
import { createRecords, SESSIONS_TAG, userTag } from "../../../runtime/identity/identity-records.ts";
import { createPortal } from "../../../runtime/portal/portal.ts";
import { epochSeconds } from "../../../runtime/shared/clock.ts";
import type { UserId } from "../../../runtime/shared/user-id.ts";
import { openConsoleWorld, textOfMarkup, type ConsoleWorld } from "../../support/console-world.ts";
import { findForms } from "../../support/html-forms.ts";

const ALL = "policy: [{ allow: { and: [authenticated_user: true] } }]";
/** 1 pixel. */
const ICON =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const YAML = `
runtime_flags: { mcp: true }
authenticate_service_url: https://auth.example.com
routes:
  - name: tickets
    description: Support tickets <all regions>
    from: "https://mcp.example.com"
    prefix: /tickets
    to: "https://up.example.com"
    mcp: { server: {} }
    policy:
      - allow: { and: [{ groups: staff }] }
      - deny: { and: [{ mcp_tool: { starts_with: delete_ } }] }
  - { name: ledger, from: "https://mcp.example.com", prefix: /ledger, to: "https://up.example.com", mcp: { server: {} }, policy: [{ allow: { and: [groups: finance] } }] }
  - { name: wiki, title: Team wiki, icon: "${ICON}", documentation_url: "https://docs.example.com/wiki", contact: "mailto:wiki@example.com", description: Handbook, from: "https://wiki.example.com", to: "https://up.example.com", ${ALL} }
  - { name: hr, from: "https://hr.example.com", to: "https://up.example.com", policy: [{ allow: { and: [groups: hr] } }] }
  - { name: any, from: "https://*.apps.example.com", to: "https://up.example.com", ${ALL} }
  - { name: old, from: "https://old.example.com", redirect: { host_redirect: wiki.example.com }, ${ALL} }
${Array.from({ length: 70 }, (_, at) => `  - { name: m${at}, from: "https://many.example.com", prefix: /m${at}, to: "https://up.example.com", policy: [{ allow: { and: [groups: many] } }] }`).join("\n")}
`;
const HOST = "auth.example.com";

let world: ConsoleWorld;
let alice: UserId;
let state: "connected" | "disconnected" | "not-needed" = "not-needed";
let areAllTools = true;
const down: string[] = [];
beforeAll(async () => {
  world = await openConsoleWorld(YAML);
  alice = await world.addPerson("alice", { email: "alice@example.com" });
});
afterAll(() => world.close());

const principalOf = (id: UserId, groups: readonly string[]): Principal => ({
  kind: "session",
  user: { id, email: "alice@example.com", name: "Alice", groups, claims: {}, version: 1 },
  sid: "this",
  sessionId: "this",
  expiresAt: epochSeconds(world.clock) + 60,
  revocationKeys: [],
});

async function portal(query = "", groups: readonly string[] = ["staff"], id = alice): Promise<string> {
  const { store, clock, blocks } = world;
  const { revocations, log } = world.people;
  const made = createPortal({
    store,
    clock,
    blocks,
    revocations,
    log,
    browser: { principal: () => Promise.resolve({ ok: false, reason: "missing" }) },
    csrf: { token: () => "token", verify: () => false },
    serverState: (_principal, _snapshot, _host, route) =>
      Promise.resolve({
        state,
        connectUrl: "https://mcp.example.com/connect",
        disconnect: { action: "/.gateway/mcp/disconnect", route: route.key, csrfToken: "token" },
      }),
    knownTools: () => ({ names: ["list_tickets", "delete_ticket"], isComplete: areAllTools }),
    upstreams: () => down.map((route) => ({ route, healthy: false })),
  });
  const exchange = { query } as Exchange;
  return String(await made.userSection(principalOf(id, groups), world.snapshot, HOST, exchange));
}

const names = (markup: string): readonly string[] =>
  [...markup.matchAll(/<li class="card app">.*?<h3>([^<]*)<\/h3>/gs)].map(([, name = ""]) => name);

describe("cards", () => {
  test("are of routes that the policy could let this user in, and that have one address", async () => {
    expect(names(await portal())).toEqual(["tickets", "Team wiki"]);
    expect(names(await portal("", ["finance", "hr"]))).toEqual(["hr", "ledger", "Team wiki"]);
  });

  test("say what a route is for, its state, and how many of its tools the user can call", async () => {
    const text = textOfMarkup(await portal());
    expect(text).toContain("tickets Support tickets <all regions> MCP server · 1 tool Ready");
    state = "disconnected";
    expect(textOfMarkup(await portal())).toMatch(/sign in to the service once Not connected Connect tickets/);
    state = "connected";
    const connected = await portal();
    expect(findForms(connected).map(({ action }) => action)).toContain("/.gateway/mcp/disconnect");
    state = "not-needed";
    down.push("default/tickets");
    expect(textOfMarkup(await portal())).toContain("MCP server · 1 tool Not available");
    down.length = 0;
  });

  test("are found by name, description, address and tool, by kind, and are bounded", async () => {
    expect(names(await portal("?q=HANDBOOK"))).toEqual(["Team wiki"]);
    expect(names(await portal("?q=list_tick"))).toEqual(["tickets"]);
    expect(names(await portal("?q=delete_ticket"))).toEqual([]);
    expect(textOfMarkup(await portal("?q=<none>"))).toContain("Nothing matches “ <none> ”");
    expect(names(await portal("?type=app"))).toEqual(["Team wiki"]);
    const many = await portal("", ["many"]);
    expect(names(many)).toHaveLength(60);
    expect(textOfMarkup(many)).toContain("Showing the first 60.");
    expect(Buffer.byteLength(many)).toBeLessThan(110_000);
  });

  test("show title, icon, documentation and contact of a route", async () => {
    const markup = await portal();
    expect(markup).toMatch(/<img class="tile l" src="\/\.gateway\/icons\/[0-9a-f]{32}" alt=""/);
    expect(markup).toContain('<a href="https://docs.example.com/wiki" rel="noreferrer noopener">Documentation');
    expect(markup).toContain('<a href="mailto:wiki@example.com" rel="noreferrer noopener">Contact');
    expect(names(await portal("?q=team+wiki"))).toEqual(["Team wiki"]);
  });

  test("open the set-up of a client, for servers of this user only", async () => {
    const markup = await portal("?setup=default/tickets");
    expect(markup).toContain("claude mcp add --transport http tickets https://mcp.example.com/tickets");
    const link = /href="(vscode:mcp\/install\?[^"]*)"/.exec(markup)?.[1] ?? "";
    expect(JSON.parse(decodeURIComponent(link.split("?")[1] ?? ""))).toEqual({
      name: "tickets",
      type: "http",
      url: "https://mcp.example.com/tickets",
    });
    expect(markup).toContain("cursor://anysphere.cursor-deeplink/mcp/install?name=tickets&#38;config=");
    expect(textOfMarkup(markup)).toContain("1 tool that you can call list_tickets");
    areAllTools = false;
    const partly = textOfMarkup(await portal("?setup=default/tickets"));
    areAllTools = true;
    expect(partly).toContain("Some of the tools that you can call list_tickets");
    expect(partly).toContain("tickets Support tickets <all regions> MCP server Ready");
    expect(await portal("?setup=default/ledger")).not.toContain('id="setup"');
  });
});

test("what acts for the user comes from the kinds: browsers with their use, applications, consents, devices", async () => {
  const now = epochSeconds(world.clock);
  await world.addSession(alice, "this", ["dev_1"]);
  await createRecords(world.store).sessions.put(
    "other",
    { userId: alice, createdAt: now - 600, used: { at: now - 60, ip: "10.1.2.3", browser: "Firefox on Linux" } },
    { expiresAt: now + 3600, tags: [SESSIONS_TAG, userTag(alice)] },
  );
  await world.addGrant(alice, "grant-1", "gwc_aaaaaaaaaaaaaaaaaaaaaa", "An <app>\u202e");
  await world.addDevice(alice, "dev_1", "Laptop");
  const bob = await world.addPerson("bob");
  await world.addSession(bob, "bobs");
  const markup = await portal();
  const text = textOfMarkup(markup);
  expect(text).toMatch(/This browser Signed in .* Firefox on Linux 10\.1\.2\.3 · Signed in/);
  expect(text).toContain("An <app>\\u202e Unverified name · https://mcp.example.com/a , since");
  expect(text).toContain("dev_1 , built in, not approved, verified in this session");
  const forms = findForms(markup).filter(({ action }) => action === "/.gateway/own");
  expect(forms.map(({ values }) => `${values["kind"]} ${values["id"]}`)).toEqual([
    "grant grant-1",
    "session other",
    "consent consent:grant-1-consent",
    "device dev_1",
  ]);
});
