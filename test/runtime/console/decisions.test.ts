/** The screen of decisions on real sockets: what is found, who sees what of it, one decision by itself, files, and what comes new. */
import { request, type IncomingMessage } from "node:http";

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { createConsole, type Console } from "../../../runtime/console/module.ts";
import { compileConsole } from "../../../runtime/features/access/console.ts";
import type { Browser, Page } from "../../support/scripted-browser.ts";
import { createMemoryReader, keptDecision, type MemoryReader } from "../../support/record-reader.ts";
import { APP, AUTH, benchConfig, startSessionBench, type SessionBench } from "../../support/session-bench.ts";

const HOME = `${AUTH}/.gateway/console/decisions`;
const ALICE = "alice@example.com";
const COOKIE = "__Host-gateway_session";
const BOB = "bob@example.com";
const CAROL = "carol@other.example";

const settings = compileConsole({
  auditor: { allow: { and: [{ groups: { has: "admins" } }] } },
  owners: {
    "team-a": { viewer: { allow: { and: [{ email: { is: BOB } }] } } },
    default: { viewer: { allow: { and: [{ email: { is: CAROL } }] } } },
  },
});

const reader: MemoryReader = createMemoryReader();
/** Tells that something more is blocked. */
let block = (): void => {};
let shown: Console;
let bench: SessionBench;
beforeAll(async () => {
  bench = await startSessionBench({
    endpoints: ({ session, snapshots, keys, clock, log, store }) => {
      const deps = { ...session, settings, keys, clock, log, snapshots, reader, store };
      shown = createConsole({
        ...deps,
        deviceProofs: { addressOf: () => undefined },
        blocks: {
          subscribe(listener) {
            block = listener;
            return () => {};
          },
        },
        recordAction: () => {},
      });
      return shown.endpoints;
    },
  });
});
afterAll(async () => {
  await shown?.close();
  await bench?.close();
});
beforeEach(() => {
  reader.records.length = 0;
  reader.asked.length = 0;
  reader.isAway = false;
  bench.clock.advance(20_000);
});

async function signedIn(user: string, url = HOME): Promise<{ browser: Browser; page: Page }> {
  const browser = bench.browser();
  return { browser, page: await browser.signIn(url, user) };
}

const rowsOf = ({ text }: Page): readonly string[] =>
  [...text.matchAll(/<tr data-id="([\w-]+)"/g)].map(([, id = ""]) => id);
const linkOf = ({ text }: Page, name: string): string =>
  new URL(
    (new RegExp(`<a[^>]*href="([^"]*)"[^>]*>${name}</a>`).exec(text)?.[1] ?? "none").replaceAll("&#38;", "&"),
    AUTH,
  ).href;

function add(...given: Parameters<typeof keptDecision>[0][]): readonly string[] {
  const made = given.map((each, index) => keptDecision({ timeMs: bench.clock.now() + index, ...each }));
  reader.records.push(...made);
  return made.map(({ id }) => id);
}

describe("the list", () => {
  it("has the newest first, page after page, with the filters in the address", async () => {
    const ids = add(...Array.from({ length: 60 }, (_, index) => ({ tool: index % 2 === 0 ? "get" : "delete" })));
    const { browser, page } = await signedIn(ALICE);
    expect(rowsOf(page)).toEqual(ids.toReversed().slice(0, 50));
    const second = await browser.open(linkOf(page, "Older"));
    expect(rowsOf(second)).toEqual(ids.toReversed().slice(50));
    expect(second.text).not.toContain('id="live"');
    const deletes = await browser.open(`${HOME}?tool=delete&user=alice%40example.com`);
    expect(rowsOf(deletes)).toHaveLength(30);
    expect(linkOf(deletes, "Download CSV")).toBe(`${HOME}/decisions.csv?user=alice%40example.com&tool=delete`);
    expect(rowsOf(await browser.open(`${HOME}?since=2100-01-01T00:00`))).toEqual([]);
  });

  it("says what is wrong with what is looked for, and when the store is away", async () => {
    add({});
    const { browser } = await signedIn(ALICE);
    // The second is a time, of the server's zone.
    for (const time of ["yesterday", "2026-11-23%2009:30", "2026-13-01"])
      expect((await browser.open(`${HOME}?since=${time}`)).text).toContain("Enter a time such as");
    expect((await browser.open(`${HOME}?cursor=nonsense`)).text).toContain("Open the first page");
    reader.isAway = true;
    const away = await browser.open(HOME);
    expect([away.status, away.text.includes("The record store is unavailable")]).toEqual([200, true]);
    expect((await browser.open(`${HOME}/r1`)).status).toBe(503);
    const file = await browser.open(`${HOME}/decisions.csv`);
    expect([file.status, file.headers["content-disposition"]]).toEqual([503, undefined]);
    expect(file.text).toContain("The record store is unavailable");
    reader.isAway = false;
    for (const path of ["/stream?after=none", "/decisions.xml", "/r1/r2", "/stream/x"])
      expect((await browser.open(HOME + path)).status, path).toBe(404);
  });

  it("narrows by chips, forms and values in rows, each of which keeps the other filters", async () => {
    const [get] = add({ tool: "get" }, { tool: "delete", outcome: "denied" });
    const { browser, page } = await signedIn(ALICE, `${HOME}?tool=get&last=1h`);
    expect(page.text).toMatch(/class="chip"\s*><span>Last <b>1 hour<\/b>/);
    expect(page.text).toContain(`href="/.gateway/console/decisions?tool=get" aria-label="Remove filter: Last"`);
    expect(page.text).toContain(
      `href="/.gateway/console/decisions?user=alice%40example.com&#38;tool=get&#38;last=1h">alice@example.com<`,
    );
    const added = await browser.open(`${HOME}?tool=get&add=outcome&value=not+allowed`);
    expect([added.url, rowsOf(added)]).toEqual([`${HOME}?tool=get&outcome=not-allowed`, []]);
    const request = String(reader.records[0]?.value["request-id"]);
    expect(rowsOf(await browser.open(`${HOME}?add=request&value=${request}`))).toEqual([get]);
    expect((await browser.open(`${HOME}?last=1y`)).text).toContain("Unknown time range.");
  });

  it("saves views of a user as tabs, twenty at most, and deletes them", async () => {
    const { browser, page } = await signedIn(BOB, `${HOME}?outcome=denied&tool=pay`);
    const saved = await browser.submit(page, { button: "Save view", values: { name: " Refunds & co " } });
    expect(saved.url).toBe(`${HOME}?tool=pay&outcome=denied`);
    expect(saved.text).toContain("View Refunds &#38; co saved.");
    expect(linkOf(await browser.open(HOME), "Refunds &#38; co")).toBe(`${HOME}?tool=pay&outcome=denied`);
    expect((await signedIn(ALICE)).page.text).not.toContain("Refunds");
    for (let more = 1; more < 20; more += 1) {
      bench.clock.advance(20_000);
      const form = await browser.open(`${HOME}?tool=t${more}`);
      await browser.submit(form, { button: "Save view", values: { name: `view ${more}` } });
    }
    bench.clock.advance(20_000);
    const full = await browser.submit(await browser.open(`${HOME}?tool=more`), {
      button: "Save view",
      values: { name: "more" },
    });
    expect([full.status, full.text.includes("you have 20")]).toEqual([409, true]);
    const long = await browser.submit(await browser.open(`${HOME}?tool=more`), {
      button: "Save view",
      values: { name: "x".repeat(41) },
    });
    expect(long.status).toBe(409);
    const left = await browser.submit(await browser.open(saved.url), { button: "Delete view" });
    expect([left.url, left.text.includes(">Refunds")]).toEqual([HOME, false]);
    expect(left.text).toContain(">view 19<");
  });

  it("shows requests that were allowed and failed apart from requests that were not allowed", async () => {
    const ids = add({ outcome: "denied" }, { outcome: "limited" }, { outcome: "waiting" }, { outcome: "error" });
    const { browser, page } = await signedIn(ALICE, `${HOME}?outcome=not-allowed`);
    expect(rowsOf(page).toSorted()).toEqual(ids.slice(0, 3).toSorted());
    expect(page.text).toMatch(/<h2 id="columns-head">Not allowed, per/);
    expect(rowsOf(await browser.open(`${HOME}?outcome=error`))).toEqual(ids.slice(3));
    expect(rowsOf(await browser.open(`${HOME}?outcome=others`)).toSorted()).toEqual(ids.toSorted());
  });

  it("shows callers who are asked to sign in apart from denials", async () => {
    const [denied, asked] = add({ outcome: "denied" }, { outcome: "sign-in", value: { route: "team-a/tools" } });
    const { browser, page } = await signedIn(ALICE, `${HOME}?outcome=others`);
    expect(rowsOf(page)).toEqual([denied]);
    expect(rowsOf(await browser.open(`${HOME}?outcome=sign-in`))).toEqual([asked]);
    expect((await browser.open(HOME)).text).toMatch(/class="out quiet sign-in">[^]{0,80}Sign-in</);
  });

  it("counts what was not allowed over time, with a link for each column", async () => {
    const timeMs = Math.floor(bench.clock.now() / 60_000) * 60_000 - 30 * 60_000;
    add({ timeMs, outcome: "denied" }, { timeMs, outcome: "limited" }, { timeMs }, { timeMs, outcome: "sign-in" });
    const { browser, page } = await signedIn(ALICE, `${HOME}?last=1h`);
    expect(page.text).toContain("Not allowed or failed, per minute");
    const [, href = ""] = /<th scope=row><a href="([^"]*since=[^"]*)">(?:(?!<tr)[^])*<td>1</.exec(page.text) ?? [];
    const narrowed = await browser.open(new URL(href.replaceAll("&#38;", "&"), AUTH).href);
    expect(rowsOf(narrowed)).toHaveLength(4);
    expect(narrowed.text).toMatch(/Remove filter: From[^]*Remove filter: To/);
    reader.isAway = true;
    expect((await browser.open(HOME)).text).toContain("The chart is unavailable");
  });

  it("has one decision next to the list, and a way back to its row", async () => {
    const [id] = add({ outcome: "denied" });
    const { browser, page } = await signedIn(ALICE, `${HOME}?outcome=denied&open=r0`);
    expect(page.status).toBe(404);
    const open = await browser.open(`${HOME}?outcome=denied&open=${id}`);
    expect(rowsOf(open)).toEqual([id]);
    expect(open.text).toContain(`id="d-${id}" class="denied" aria-current="true"`);
    expect(open.text).toContain(`id="panel-close" href="/.gateway/console/decisions?outcome=denied#d-${id}"`);
    expect(open.text).toContain("The groups did not match.");
  });

  it("shows denied first where that is asked for", async () => {
    const [allowed, denied, limited] = add({}, { outcome: "denied" }, { outcome: "limited" });
    const { page } = await signedIn(ALICE, `${HOME}?view=denied-first`);
    expect(rowsOf(page)).toEqual([limited, denied, allowed]);
  });

  it("has texts of strangers inert, visible and cut", async () => {
    add({
      tool: "<img src=x onerror=alert(1)>",
      clientId: `evil\u202Egnp.exe`,
      value: { "user-agent": "x".repeat(8192) },
    });
    const { page, browser } = await signedIn(ALICE);
    expect(page.text).toContain("&#60;img src=x onerror=alert(1)&#62;");
    expect(page.text).toContain("evil\\u202egnp.exe");
    const one = await browser.open(`${HOME}/${rowsOf(page)[0]}`);
    expect(one.text).toContain("… (4192 more characters)");
    expect(page.text + one.text).not.toMatch(/<img|\u202e/);
  });
});

describe("who sees what", () => {
  it("of one owner that owner's records alone, however they are asked for", async () => {
    const [own, others, none] = add({}, { route: "team-b/tools" }, { route: "team-ab/tools" });
    const { browser, page } = await signedIn(BOB);
    expect(rowsOf(page)).toEqual([own]);
    expect(rowsOf(await browser.open(`${HOME}?route=team-b/tools`))).toEqual([]);
    expect((await browser.open(`${HOME}/${own}`)).status).toBe(200);
    for (const id of [others, none]) expect((await browser.open(`${HOME}/${id}`)).status).toBe(404);
    const file = await browser.open(`${HOME}/decisions.ndjson`);
    expect(
      file.text
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { id: string }).id),
    ).toEqual([own]);
  });

  it("arguments as an auditor alone", async () => {
    const [id = ""] = add({ tool: "pay", value: { "mcp-tool-parameters": { amount: 5000 }, replay: { x: 5000 } } });
    const auditor = (await signedIn(ALICE)).browser;
    const viewer = (await signedIn(BOB)).browser;
    for (const path of [`/${id}`, "/decisions.ndjson"]) {
      expect((await auditor.open(HOME + path)).text).toContain("5000");
      expect((await viewer.open(HOME + path)).text).not.toContain("5000");
    }
    const page = await viewer.open(`${HOME}/${id}`);
    expect(page.text).toContain("Arguments: auditors only.");
    expect(new URL(linkOf(page, "Simulate without arguments")).searchParams.get("arguments")).toBeNull();
    const asked = new URL(linkOf(await auditor.open(`${HOME}/${id}`), "Simulate")).searchParams;
    expect([...asked.keys()]).toEqual(["load"]);
  });
});

describe("one decision", () => {
  it("says why, by the policy that decided or by the one in force", async () => {
    const digest = bench.snapshot().digest;
    const [now = "", before = "", gone = ""] = add(
      { route: "default/app", value: { "bundle-digest": digest } },
      { route: "default/app", outcome: "denied", value: { "bundle-digest": "0".repeat(64) } },
      { route: "default/nowhere", outcome: "denied" },
    );
    const { browser } = await signedIn(ALICE);
    const first = await browser.open(`${HOME}/${now}`);
    expect(first.text).toContain("Evaluated with the original configuration.");
    expect(first.text).toMatch(
      /1\. Allow if the user is signed in<[^]*>matched<[^]*True: <\/span\s*>the user is signed in/,
    );
    const second = await browser.open(`${HOME}/${before}`);
    expect(second.text).toContain(
      "Original configuration unavailable; evaluated with the active one, with a different result: allowed.",
    );
    expect((await browser.open(`${HOME}/${gone}`)).text).toContain("No policy: no route matched");
  });

  it("has the verdicts of a guardrail about call and result", async () => {
    const [id = ""] = add({
      tool: "send",
      value: { guardrail: { verdict: "mutate", reason: "<1> removed", shadow: true } },
      result: { status: 200, durationMs: 1, guardrail: { verdict: "deny", reason: "private" } },
    });
    const { text } = await (await signedIn(ALICE)).browser.open(`${HOME}/${id}`);
    expect(text).toMatch(/Guardrail<[^]*?>changed: &#60;1&#62; removed \(in shadow\)</);
    expect(text).toMatch(/Guardrail, result<[^]*?>denied: private</);
  });

  it("names the rule that decided by an argument, which the trace no longer knows", async () => {
    const policy = `[{ allow: { and: [{ authenticated_user: true }] } }, { deny: { or: [{ mcp_tool: drop }], and: [{ mcp_tool_argument: { tool: pay, argument: /env, is: prod } }] } }]`;
    bench.configure(
      benchConfig(bench.idp.issuer).replace(
        "routes:",
        `routes:
  - { name: tools, from: "https://tools.example.com", to: "http://127.0.0.1:9", mcp: { server: {} }, policy: ${policy} }`,
      ),
    );
    const value = { "bundle-digest": bench.snapshot().digest, "mcp-method": "tools/call", "mcp-tool": "pay" };
    const of = { route: "default/tools", tool: "pay", userId: "u-alice", outcome: "denied" as const };
    const [id, old] = add({ ...of, value: { ...value, rule: "/1/deny/and" } }, { ...of, value });
    const { browser } = await signedIn(ALICE);
    const { text } = await browser.open(`${HOME}/${id}`);
    expect(text.match(/>Decides</g)).toHaveLength(1);
    const rule = "the tool is &#34;pay&#34; and its argument &#34;env&#34; is &#34;prod&#34;";
    expect(text).toContain(`Denied by rule 1 of default/tools: ${rule}.`);
    expect(text).toMatch(/<details class="rule decides bad" open>\s*<summary>[^]{0,200}1\. Deny if the tool is/);
    expect((await browser.open(HOME)).text).toContain(`>Deny rule 1: ${rule}<`);
    expect((await browser.open(`${HOME}/${old}`)).text).not.toContain(">Decides<");
    // With the value for auditors, who see arguments; not where it is a digest, and not for others.
    const given = { ...value, rule: "/1/deny/and", "mcp-tool-parameters": { env: "prod", note: "hmac:x" } };
    const redacted = { key: "k", digest: ["/note"], omit: [] };
    const [met, digest] = add(
      { ...of, value: { ...given, "mcp-tool-parameters-redacted": redacted } },
      { ...of, value: { ...given, "mcp-tool-parameters-redacted": { ...redacted, digest: ["/env", "/note"] } } },
    );
    const shown = (await browser.open(`${HOME}/${met}`)).text;
    expect(shown).toContain("Denied by rule 1 of default/tools: env &#34;prod&#34; is &#34;prod&#34;.");
    expect(shown).toMatch(/<dt>env<\/dt>\s*<dd><mark>&#34;prod&#34;<\/mark>/);
    expect(shown).toMatch(/<dt>note<\/dt>\s*<dd>\(recorded as a digest\)/);
    expect((await browser.open(`${HOME}/${digest}`)).text).toContain(`Denied by rule 1 of default/tools: ${rule}.`);
    const other = await (await signedIn(CAROL)).browser.open(`${HOME}/${met}`);
    expect(other.text).toContain(`Denied by rule 1 of default/tools: ${rule}.`);
    expect(other.text).not.toContain("hmac:x");
  });

  it("shows what people are beside the rules to who sees all of them alone", async () => {
    const policy = `[{ allow: { and: [{ groups: { has: secret-project } }, { claim/level: { is: "9" } }] } }]`;
    bench.configure(
      benchConfig(bench.idp.issuer).replace(
        "routes:",
        `routes:
  - { name: team, from: "https://team.example.com", to: "http://127.0.0.1:9", policy: ${policy} }`,
      ),
    );
    const [id] = add({ route: "default/team", userId: "u-alice", outcome: "denied" });
    const { browser } = await signedIn(ALICE);
    expect((await browser.open(`${HOME}/${id}`)).text).toMatch(/secret-project[^]*?\(actual: <code>[^<]*admins/);
    const owner = (await signedIn(CAROL)).browser;
    const page = await owner.open(`${HOME}/${id}`);
    // A viewer who can ask about hypothetical users only is led to a question that they may ask.
    expect(new URL(linkOf(page, "Simulate")).searchParams.get("who")).toBe("imagined");
    expect([page.status, page.text.includes("secret-project")]).toEqual([200, true]);
    expect(page.text).not.toMatch(/actual: <code>[^<]*admins/);
  });

  it("leads to the same question elsewhere", async () => {
    const [id] = add({ tool: "delete_repo", value: { ip: "192.0.2.1" } });
    const { browser } = await signedIn(ALICE);
    const page = await browser.open(`${HOME}/${id}`);
    const asked = new URL(linkOf(page, "Simulate without arguments")).searchParams;
    expect(Object.fromEntries(asked)).toEqual({
      route: "team-a/tools",
      who: "known",
      person: "u-alice",
      message: "tool",
      name: "delete_repo",
      ip: "192.0.2.1",
    });
    expect(rowsOf(await browser.open(linkOf(page, "Similar calls")))).toEqual([id]);
  });
});

describe("files", () => {
  it("have all that the filter finds, one line each", async () => {
    const ids = add(...Array.from({ length: 450 }, () => ({ outcome: "denied" as const })), {});
    const { browser } = await signedIn(ALICE);
    const json = await browser.open(`${HOME}/decisions.ndjson?outcome=denied`);
    expect(json.headers["content-disposition"]).toBe('attachment; filename="decisions.ndjson"');
    const lines = json.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: string; outcome: string });
    expect(lines.map(({ id }) => id)).toEqual(ids.slice(0, 450).toReversed());
    const csv = await browser.open(`${HOME}/decisions.csv?outcome=denied`);
    expect(csv.text.trimEnd().split("\r\n")).toHaveLength(451);
  });

  it("have no formulas", async () => {
    add({ tool: '=HYPERLINK("x")', email: "+1@example.com", clientId: "\uff1d1" });
    const { browser } = await signedIn(ALICE);
    const [, line = ""] = (await browser.open(`${HOME}/decisions.csv`)).text.split("\r\n");
    expect(line).toContain(",'+1@example.com,'\uff1d1,");
    expect(line).toContain('"tools/call =HYPERLINK(""x"")"');
  });
});

describe("what comes new", () => {
  /** A stream, event by event. */
  function openStream(
    browser: Browser,
    path: string,
  ): Promise<{ next(): Promise<string>; isOver: Promise<void>; status: number }> {
    const cookie = `${COOKIE}=${browser.jar.get(new URL(AUTH).hostname, COOKIE)?.value}`;
    return new Promise((resolve, reject) => {
      const headers = {
        host: new URL(AUTH).host,
        cookie,
        "sec-fetch-site": "same-origin",
        "sec-fetch-mode": "cors",
        accept: "text/event-stream",
      };
      request({ host: "127.0.0.1", port: bench.firstPort, path, headers, agent: false }, (answer: IncomingMessage) => {
        let text = "";
        let wake = (): void => {};
        answer.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
          wake();
        });
        const isOver = new Promise<void>((done) => answer.once("close", done));
        const next = async (): Promise<string> => {
          for (;;) {
            const end = text.indexOf("\n\n");
            if (end !== -1) {
              const event = text.slice(0, end);
              text = text.slice(end + 2);
              if (event.startsWith("retry:") || event === ":") continue;
              return event;
            }
            await new Promise<void>((done) => (wake = done));
          }
        };
        resolve({ next, isOver, status: answer.statusCode ?? 0 });
      })
        .on("error", reject)
        .end();
    });
  }

  it("comes as a row of the page's own markup, resumed after the last one, and ends with the session", async () => {
    const [first] = add({});
    const { browser, page } = await signedIn(ALICE);
    const address = /data-stream="([^"]*)"/.exec(page.text)?.[1]?.replaceAll("&#38;", "&") ?? "";
    expect(address).toBe(`/.gateway/console/decisions/stream?after=${first}`);
    // Made after the page and before the stream.
    const [second] = add({ outcome: "denied", timeMs: bench.clock.now() + 5 });
    const stream = await openStream(browser, address);
    const event = await stream.next();
    expect(event).toContain(`id: ${second}\nevent: row\n`);
    expect(event).toContain(String.raw`<tr data-id=\"${second}\"`);
    const [third] = add({ timeMs: bench.clock.now() + 6 });
    // The poll sees what is there; each once.
    const later = [await stream.next(), await stream.next(), await stream.next()].join("\n");
    expect(later).toContain(`id: ${third}\n`);
    const { sid } = JSON.parse((await browser.open(`${APP}/`)).text) as { sid: string };
    await bench.session.revocations.revoke(`session:${sid}`);
    await stream.isOver;
  });

  it("comes for all windows of a browser in one stream, and for each what it shows", async () => {
    const [first] = add({ tool: "get" });
    const { browser } = await signedIn(ALICE);
    const windows = encodeURIComponent(JSON.stringify([`tool=get&after=${first}`, `tool=set&after=${first}`]));
    const [get, set] = add(
      { tool: "get", timeMs: bench.clock.now() + 5 },
      { tool: "set", timeMs: bench.clock.now() + 6 },
    );
    const stream = await openStream(browser, `/.gateway/console/decisions/stream?windows=${windows}`);
    const events = [await stream.next(), await stream.next()];
    const data = events.map(
      (event) => JSON.parse(event.slice(event.indexOf("data: ") + 6)) as { id: string; of: number },
    );
    expect(data.map(({ id, of }) => [id, of])).toEqual([
      [get, 0],
      [set, 1],
    ]);
    // Links of a row keep the filters of its own window.
    expect(events[1]).toContain("?tool=set&#38;open=");
    for (const wrong of ["x", "[]", "{}", '["since=x"]', JSON.stringify(Array(9).fill(""))])
      expect((await browser.open(`${HOME}/stream?windows=${encodeURIComponent(wrong)}`)).status).toBe(404);
  });

  it("ends as soon as its reader may be blocked, and is", async () => {
    const { browser } = await signedIn(ALICE);
    const bob = (await signedIn(BOB)).browser;
    const address = "/.gateway/console/decisions/stream";
    const [kept, ended] = await Promise.all([openStream(browser, address), openStream(bob, address)]);
    const { sid } = JSON.parse((await bob.open(`${APP}/`)).text) as { sid: string };
    await bench.store.store.delete(`session:${sid}`);
    block();
    await ended.isOver;
    const [id] = add({ outcome: "denied" });
    expect(await kept.next()).toContain(`id: ${id}\n`);
    const other = JSON.parse((await browser.open(`${APP}/`)).text) as { sid: string };
    await bench.session.revocations.revoke(`session:${other.sid}`);
    await kept.isOver;
  });

  it("is not for who has no right to it, and bounded", async () => {
    const { browser } = await signedIn(BOB);
    const streams = await Promise.all(
      Array.from({ length: 7 }, () => openStream(browser, "/.gateway/console/decisions/stream")),
    );
    expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => 200));
    // The oldest window of a user gives way.
    let over = 0;
    for (const { isOver } of streams) void isOver.then(() => (over += 1));
    await expect.poll(() => over).toBe(1);
    shown.drain();
    await Promise.all(streams.map(({ isOver }) => isOver));
  });
});
