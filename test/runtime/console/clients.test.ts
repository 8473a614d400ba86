import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { addressOfId, idOfPath, placeIn } from "../../../runtime/console/addresses.ts";
import { clientsScreen } from "../../../runtime/console/clients/clients.ts";
import type { Screen } from "../../../runtime/console/screen.ts";
import { createServiceAccount } from "../../../runtime/identity/tokens/service-accounts.ts";
import { createMintedTokens } from "../../../runtime/admin-listener/minted-tokens.ts";
import {
  act,
  openConsoleWorld,
  OPERATOR,
  rightsTo,
  shown,
  textOfMarkup,
  VIEWER,
  visitTo,
  type ConsoleWorld,
} from "../../support/console-world.ts";
import { keptDecision } from "../../support/record-reader.ts";
import { findForms, findLinks } from "../../support/html-forms.ts";

const ID = (letter: string): string => `gwc_${letter.repeat(22)}`;
const DOCUMENT = "https://client.example/oauth/id.json";

let world: ConsoleWorld;
let screen: Screen;
let tokens: ReturnType<typeof createMintedTokens>;
beforeAll(async () => {
  world = await openConsoleWorld("routes: []");
  screen = clientsScreen(world.clients);
  tokens = createMintedTokens(world);
  const alice = await world.addPerson("alice", { email: "alice@example.com" });
  await world.addClient(ID("a"), "Evil\u202e <script>", {
    redirectUris: ["https://evil.example/a", "https://evil.example/b", "cursor://anysphere/cb", "http://127.0.0.1:9/x"],
  });
  await world.addClient(ID("b"), "Ours", { preRegistered: true });
  for (let at = 0; at < 30; at += 1) await world.addClient(`gwc_m${String(at).padStart(21, "0")}`, `Many ${at}`);
  await world.addGrant(alice, "g1", ID("a"), "Evil\u202e <script>");
  await world.addGrant(alice, "g2", DOCUMENT, "Documented");
  await world.addDevice(alice, "dev_1", "Phone");
});
afterAll(() => world.close());

const show = async (address: string, rights = VIEWER) => shown(screen, visitTo(world, address, rights));
const done = (address: string, action: string, form: Readonly<Record<string, string>>) =>
  act(screen, visitTo(world, address), action, form);

describe("the list of clients", () => {
  test("marks what clients say of themselves, and never links to their addresses", async () => {
    const body = (await show("?q=evil")) ?? "";
    const text = textOfMarkup(body);
    expect(text).toContain("Evil\\u202e <script> unverified");
    expect(text).toContain("evil.example, cursor://anysphere, 127.0.0.1:9");
    expect(body).not.toContain("<script>");
    const own = (href: string): boolean => href.startsWith("/.gateway/console/");
    for (const address of ["", "?q=evil", `client/${ID("a")}`, "accounts", "devices"])
      expect(findLinks((await show(address)) ?? "").every(({ href }) => own(href))).toBe(true);
    expect(textOfMarkup(await show("?q=ours"))).toContain("Ours verified by an administrator");
  });

  test("is read page by page, and finds one by its whole address", async () => {
    const first = (await show("")) ?? "";
    const next = findLinks(first).find(({ text }) => text === "More clients")?.href ?? "";
    const all = [first, (await show(next.slice(next.indexOf("?")))) ?? ""].flatMap(
      (page) => textOfMarkup(page).match(/gwc_\w{22} /g) ?? [],
    );
    expect([all.length, new Set(all).size]).toEqual([32, 32]);
    expect(textOfMarkup(await show(`?q=${encodeURIComponent(DOCUMENT)}`))).toContain(
      "Documented verified by client.example",
    );
    expect(textOfMarkup(await show("?q=https://nobody.example/id"))).toContain("No matching clients");
  });

  test("names clients of decisions, registered or not, with the age of their oldest grant", async () => {
    world.records.push(
      keptDecision({ clientId: DOCUMENT, timeMs: 1_800_000_060_000 }),
      keptDecision({ clientId: "<i>job" }),
      keptDecision({ clientId: ID("b") }),
    );
    const body = (await show("")) ?? "";
    const text = textOfMarkup(body);
    expect(text).toMatch(/Clients of the newest 3 decisions/);
    expect(text).toMatch(/https:\/\/client\.example\/oauth\/id\.json 2027-01-15 08:01 UTC alice@example\.com \d{4}-/);
    expect(text).toMatch(/<i>job 2027-01-15 08:00 UTC/);
    expect(text).toContain(`${ID("b")} Ours (verified by an administrator) 2027-`);
    expect(body).not.toContain("<i>job");
    world.records.length = 0;
  });

  test("is nobody's who may see one owner's things only", async () => {
    for (const address of ["", "accounts", "tokens", "devices", `client/${ID("a")}`])
      expect(await show(address, rightsTo([], { "team-a": ["viewer", "operator"] }))).toBeUndefined();
  });
});

describe("one client", () => {
  test("has what it says of itself, and the people who let it act", async () => {
    const text = textOfMarkup(await show(`client/${ID("a")}`));
    expect(text).toContain("https://evil.example/a, https://evil.example/b");
    expect(text).toContain("none (public client)");
    expect(text).toContain("alice@example.com https://mcp.example.com/a mcp");
    const document = addressOfId("clients/client", DOCUMENT);
    expect(textOfMarkup(await show(document.slice("/.gateway/console/clients/".length)))).toContain("Documented");
    expect(await show(`client/${ID("z")}`)).toBeUndefined();
  });

  test("is ended with all under it, after a second look, with a reason", async () => {
    expect(await show(`client/${ID("a")}?do=end-client`)).toBeUndefined();
    const [form] = findForms((await show(`client/${ID("a")}?do=end-client`, OPERATOR)) ?? "");
    expect(form?.values).toMatchObject({ action: "end-client", of: ID("a"), csrf_token: "token-for-end-client" });
    expect(await done(`client/${ID("a")}`, "end-client", { of: ID("a"), reason: " " })).toHaveProperty("refused");
    expect(await done(`client/${ID("a")}`, "end-client", { of: ID("a"), reason: "phishing" })).toHaveProperty("to");
    expect(await world.store.get("grant:g1")).toBeUndefined();
    expect(await world.store.get("grant:g2")).toBeDefined();
    expect(world.actions.splice(0)).toEqual([
      {
        action: "revoke",
        by: "admin",
        target: `client ${ID("a")}`,
        before: expect.stringMatching(/^[\w-]{40,}/),
        after: null,
        reason: "phishing",
      },
    ]);
    expect(await done("", "end-client", { of: ID("a"), reason: "again" })).toHaveProperty("refused");
    // One that is identified by its address has no record, only grants.
    expect(await done("", "end-client", { of: DOCUMENT, reason: "r" })).toHaveProperty("to");
    expect(await world.store.get("grant:g2")).toBeUndefined();
    expect(await done("", "end-client", { of: DOCUMENT, reason: "r" })).toHaveProperty("refused");
    world.actions.splice(0);
  });
});

describe("machines", () => {
  test("service accounts are shown and ended, and the next one has the focus", async () => {
    const made = await Promise.all(
      ["ci", "cron"].map((name) =>
        createServiceAccount(world, { name, email: "", groups: ["bots"], owner: "Team <a>", audience: "every" }),
      ),
    );
    const ids = made.map((each) => (each.ok ? each.id : "")).toSorted();
    const text = textOfMarkup(await show("accounts", OPERATOR));
    expect(text).toMatch(/ci Team <a> Not used yet .*bots every/);
    const [first = "", second = ""] = ids;
    expect(await done("accounts", "end-account", { of: first, reason: "unused" })).toMatchObject({
      to: `/.gateway/console/clients/accounts#end-${second}`,
    });
    expect(await show("accounts", OPERATOR)).toContain(`id="end-${second}"`);
    expect(await done("accounts", "end-account", { of: first, reason: "unused" })).toHaveProperty("refused");
    expect(world.actions.splice(0)).toMatchObject([{ action: "revoke", reason: "unused" }]);
  });

  test("publish tokens are shown by their ids and ended", async () => {
    const minted = await tokens.mint({ owner: "team-a", by: "x", lifetimeSeconds: 60 });
    if (!minted) throw new Error("nothing was minted");
    const body = (await show("tokens", OPERATOR)) ?? "";
    expect(textOfMarkup(body)).toContain(`${minted.id} team-a`);
    expect(body).not.toContain(minted.token);
    expect(textOfMarkup(await show(`tokens?do=end&of=${minted.id}`, OPERATOR))).toContain("valid for owner team-a");
    expect(await done("tokens", "end-token", { of: minted.id, reason: "leaked" })).toHaveProperty("to");
    expect(await tokens.find(minted.token)).toBeUndefined();
    expect(await done("tokens", "end-token", { of: minted.id, reason: "leaked" })).toHaveProperty("refused");
    expect(world.actions.splice(0)).toMatchObject([{ target: `publish token ${minted.id} of team-a` }]);
  });

  test("devices of all people are shown with whom they belong to", async () => {
    const body = (await show("devices", OPERATOR)) ?? "";
    expect(textOfMarkup(body)).toMatch(/alice@example\.com Phone dev_1 built in no/);
    expect(findLinks(body).map(({ href }) => href)).toContain(
      "/.gateway/console/people/alice?do=approve-device&of=dev_1#reason",
    );
  });
});

describe("addresses", () => {
  test.each([
    "alice",
    "issuer:corp/a.b@c",
    "../a",
    "a/../b",
    "a//b",
    "a/",
    "~x",
    "https://a.example/x?y#z",
    "ä ö",
    "%2F",
    ".",
  ])("an id comes back from its address: %s", (id) => {
    const path = new URL(addressOfId("people", id), "https://a.example").pathname.slice(
      "/.gateway/console/people/".length,
    );
    expect(path).not.toMatch(/%/);
    expect(idOfPath(path.split("/").map(decodeURIComponent))).toBe(id);
  });

  test("a place in a list is a key of its kind, or none", () => {
    expect(placeIn("grant:", "grant:a")).toBe("grant:a");
    for (const place of ["session:a", "grant:\ud800", "grant:\0", `grant:${"a".repeat(1100)}`, undefined, ""])
      expect(placeIn("grant:", place)).toBeUndefined();
  });
});
