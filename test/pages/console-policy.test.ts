/**
 * The console's simulator and changes with a whole gateway: predictions are compared with actual decisions. In a real
 * browser: console/policy.ts and examples/console.
 */
import { readFile } from "node:fs/promises";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { loadSlices } from "../../runtime/config/load.ts";
import { createHttpTarget } from "../../runtime/terraform/publish/publish-http.ts";
import { createAdminClient, type AdminClient } from "../support/admin-client.ts";
import { startEchoUpstream, type EchoUpstream } from "../support/echo-upstream.ts";
import { signInClient } from "../support/oauth-client.ts";
import { type Browser, createBrowser, type Page } from "../support/scripted-browser.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

const USERS = [
  { id: "u-alice", email: "alice@example.com", name: "Alice", groups: ["engineering", "admins"] },
  { id: "u-bob", email: "bob@example.com", name: "Bob", groups: ["staff"] },
  { id: "u-carol", email: "carol@other.example", name: "Carol", groups: [] },
  { id: "u-vera", email: "vera@example.com", name: "Vera", groups: ["engineering"] },
];
const PATH = "/.gateway/console";
const HOSTILE = "<img src=x onerror=alert(1)>‮";

let upstream: EchoUpstream;
let world: SignInGateway;
let admin: AdminClient;
let origin: string;
let pages: string;

const slice = (owner: string, limit: object, text = "x"): string =>
  JSON.stringify({
    version: 1,
    owner,
    routes: {
      orders: {
        from: origin,
        prefix: `/${owner}`,
        to: upstream.origin,
        mcp: { server: { path: "/mcp" } },
        rate_limits: [{ name: "calls", requests: 1000, per: ["user"] }],
        policy: [
          { allow: { and: [{ groups: { has: "staff" } }] } },
          { allow: { and: [{ email: { is: "alice@example.com" } }, { mcp_tool: { not_in: ["list_notes", text] } }] } },
          { deny: { or: [{ mcp_tool_argument: limit }, { mcp_tool: { starts_with: "delete_" } }] } },
          { allow: { and: [{ user: { is: "u-carol" } }, { mcp_tool: { is: "search" } }] } },
          { approve: { and: [{ mcp_tool: { is: "merge" } }] } },
        ],
      },
    },
  });
const PAY = { tool: "pay", argument: "/amount", gt: 500 };

beforeAll(async () => {
  upstream = await startEchoUpstream();
  world = await startSignInGateway({
    pagesHost: "127.0.0.1",
    provider: { users: USERS },
    boot: {
      record_store: {},
      owners: Object.fromEntries(
        ["team-a", "team-b", "team-c"].map((owner) => [
          owner,
          { allow_local_upstreams: true, allowed_from: ["localhost"] },
        ]),
      ),
      console: {
        operator: [{ allow: { and: [{ groups: { has: "admins" } }] } }],
        viewer: [{ allow: { and: [{ email: { is: "vera@example.com" } }] } }],
        owners: { "team-a": { viewer: [{ allow: { and: [{ email: { is: "bob@example.com" } }] } }] } },
      },
    },
    yaml: `
routes:
  - name: wiki
    from: "{origin}"
    prefix: /wiki
    to: ${upstream.origin}
    set_request_headers: { Authorization: Basic c2VjcmV0 }
    policy: [{ allow: { and: [{ groups: { has: engineering } }, { http_path: { starts_with: /wiki/open } }] } }]
`,
  });
  const { gateway } = world;
  ({ origin } = gateway);
  pages = `http://127.0.0.1:${gateway.port}${PATH}`;
  admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
  // As the provider of Terraform publishes, and as a job does.
  const terraform = createHttpTarget({
    url: gateway.adminOrigin,
    owner: "team-a",
    token: async () => gateway.adminToken,
  });
  await terraform.write(slice("team-a", { ...PAY, gt: 400 }), null);
  await terraform.write(slice("team-a", PAY), (await publishedDigest("team-a")) ?? null);
  await publishAs("release-job/2", "team-b", slice("team-b", PAY), { "if-none-match": "*" });
  await publishAs("release-job/2", "team-b", slice("team-b", { ...PAY, gt: 100 }), { "if-match": "*" });
  await publishAs("release-job/2", "team-c", slice("team-c", PAY, HOSTILE), { "if-none-match": "*" });
});
afterAll(async () => {
  await world?.close();
  await upstream?.close();
});

async function publishedDigest(owner: string): Promise<string | undefined> {
  const { slices } = (await admin.get("/config/slices")).body as { slices: { owner: string; digest: string }[] };
  return slices.find((each) => each.owner === owner)?.digest;
}

async function publishAs(
  agent: string,
  owner: string,
  text: string,
  precondition: Record<string, string>,
): Promise<void> {
  const answer = await admin.ask(
    "PUT",
    `/config/slices/${owner}`,
    { "user-agent": agent, ...precondition, authorization: `Bearer ${world.gateway.adminToken}` },
    text,
  );
  if (answer.status !== 200) throw new Error(answer.text);
}

const browsers = new Map<string, Promise<Browser>>();
/** Signs in once per user. */
function as(user: string): Promise<Browser> {
  const known = browsers.get(user);
  if (known) return known;
  const browser = createBrowser();
  const signedIn = browser.signIn(`${pages}/simulator`, user).then(() => browser);
  browsers.set(user, signedIn);
  return signedIn;
}

const [ALICE, BOB, CAROL, VERA] = USERS.map(({ email }) => email) as [string, string, string, string];

async function ask(user: string, query: Record<string, string>): Promise<Page> {
  return (await as(user)).open(`${pages}/simulator?${new URLSearchParams(query).toString()}`);
}

const textOf = ({ text }: Page): string =>
  text
    .replace(/^[^]*<main/, "<main")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replaceAll(/\s+/g, " ");
/** Verdicts of all cards. */
const verdicts = (page: Page): string[] =>
  [...page.text.matchAll(/<p class="verdict-title">([^<]*)<\/p>/g)].map(([, verdict = ""]) => verdict);

/** The same numbers in each run. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe("the simulator", () => {
  test("predicts the gateway's decisions for 50 random calls", async () => {
    const next = random(20_261_123);
    const pick = <T>(items: readonly T[]): T => items[next(items.length)] as T;
    const tokens = new Map<string, string>();
    for (const user of [ALICE, BOB, CAROL]) {
      for (const owner of ["team-a", "team-b"]) {
        const resource = `${origin}/${owner}/mcp`;
        const { tokens: own } = await signInClient({ resource, user });
        tokens.set(`${user} ${owner}`, own.access_token);
      }
    }
    const cases = Array.from({ length: 50 }, () => ({
      user: pick([ALICE, BOB, CAROL]),
      owner: pick(["team-a", "team-b"]),
      tool: pick(["pay", "pay", "pay", "list_notes", "delete_all", "merge", "PAY", "search"]),
      arguments: pick([
        '{"amount":500}',
        '{"amount":501}',
        '{"amount":100}',
        '{"amount":"5"}',
        "{}",
        '{"amount":1e3}',
        '{"amount":1,"amount":1}',
        '{"AMOUNT":9}',
      ]),
    }));
    const answered: string[] = [];
    for (const each of cases) {
      const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${each.tool}","arguments":${each.arguments}}}`;
      const answer = await fetch(`${origin}/${each.owner}/mcp`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${tokens.get(`${each.user} ${each.owner}`)}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: call,
      });
      const body = await answer.text();
      const { error } = JSON.parse(body) as { error?: { message?: string; data?: { reason?: string } } };
      answered.push(
        answer.status === 400
          ? (error?.message ?? body)
          : error === undefined
            ? "allowed"
            : /approv/i.test(body)
              ? "approval"
              : "denied",
      );
    }
    const said: string[] = [];
    for (const [at, { owner, user, tool, ...given }] of cases.entries()) {
      const page = await ask(at % 2 === 0 ? VERA : ALICE, {
        route: `${owner}/orders`,
        who: "known",
        person: user,
        message: "tool",
        name: tool,
        arguments: given.arguments,
      });
      const [verdict] = verdicts(page);
      const words = { Allowed: "allowed", Denied: "denied", "Requires approval": "approval" }[verdict ?? ""];
      said.push(
        words ??
          /refuses the message with 400, whatever its policy: (.*?) \(mcp/.exec(textOf(page))?.[1] ??
          textOf(page),
      );
    }
    expect(said).toEqual(answered);
    expect(new Set(said)).toEqual(
      new Set(["allowed", "denied", "approval", "The message has a key twice in one object"]),
    );
  });
});

describe("questions", () => {
  test("by email, for a hypothetical user, with everything that acts in addition to the policy", async () => {
    const wiki = await ask(ALICE, { address: `${origin}/wiki/open/page`, groups: "engineering", method: "POST" });
    expect(verdicts(wiki)).toEqual(["Allowed"]);
    expect(textOf(wiki)).toContain('True: the path starts with "/wiki/open" (actual: "/wiki/open/page" )');
    expect(wiki.text).not.toContain("c2VjcmV0");
    const pay = await ask(ALICE, {
      route: "team-a/orders",
      groups: "staff",
      message: "tool",
      name: "pay",
      arguments: '{"amount":1}',
    });
    expect(textOf(pay)).toContain("calls: 1000 in 60 s for each user");
    expect(verdicts(await ask(ALICE, { address: `${origin}/wiki/open`, who: "anonymous" }))).toEqual(["Denied"]);
  });

  test("are loaded from a decision by its request ID, and compared with a draft", async () => {
    const { tokens } = await signInClient({ resource: `${origin}/team-a/mcp`, user: BOB });
    const headers = { authorization: `Bearer ${tokens.access_token}`, accept: "application/json, text/event-stream" };
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"loaded","arguments":{}}}';
    await fetch(`${origin}/team-a/mcp`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
    });
    let request = "";
    // Seldom: the console answers a user's 60 requests at once, then 3 a second.
    const poll = { interval: 500 };
    await expect
      .poll(async () => {
        const file = await (await as(ALICE)).open(`${pages}/decisions/decisions.ndjson?tool=loaded`);
        const [line = ""] = file.text.split("\n");
        request = line === "" ? "" : String((JSON.parse(line) as Record<string, unknown>)["request-id"]);
        return request;
      }, poll)
      .not.toBe("");
    const loaded = await ask(ALICE, { load: request });
    // What was recorded fills the form; the address keeps the ID alone, since addresses are shared and logged.
    expect(Object.fromEntries(new URL(loaded.url).searchParams)).toEqual({ load: request });
    const valueOf = (name: string): unknown => new RegExp(`name="${name}"\\s+value="([^"]*)"`).exec(loaded.text)?.[1];
    expect(["route", "person", "name"].map(valueOf)).toEqual(["team-a/orders", "u-bob", "loaded"]);
    for (const chosen of ["who-known", "message-tool"])
      expect(loaded.text).toMatch(new RegExp(`id="${chosen}"[^>]*checked`));
    expect(verdicts(loaded)).toEqual(["Allowed"]);
    expect(loaded.text).toMatch(/<datalist id="simulator-tools">[^]*"delete_|<option value="merge">/);
    // An owner's viewer asks about a hypothetical user.
    const ofOwner = (await ask(BOB, { load: request })).text;
    expect(ofOwner).toMatch(/id="who-imagined"[^>]*checked/);
    expect(ofOwner).not.toMatch(/id="who-known"|name="person" value="[^"]/);
    expect(textOf(await ask(ALICE, { load: "none" }))).toContain("No decision with this request ID");
  });

  test.each([
    [{ route: "team-a/gone" }, "No route that you can view matches"],
    [{ address: "ftp://localhost/" }, "The address must start with https://"],
    [{ route: "team-a/orders", message: "tool", name: "pay", arguments: "[]" }, "the arguments must be a JSON object"],
    [{ route: "team-a/orders", who: "known", person: "nobody@example.com" }, "Unknown user"],
    [{ route: "default/wiki", message: "tool", name: "x" }, "it is not an MCP server route"],
    [{ route: "default/wiki", ip: "somewhere" }, '"somewhere" is not an IP address'],
    [{ route: HOSTILE }, "No route that you can view"],
  ])("that make no sense get an error: %j", async (query, words) => {
    const page = await ask(ALICE, query);
    expect(page.status).toBe(200);
    expect(textOf(page)).toContain(words);
    expect(page.text).not.toContain("<img");
    expect(verdicts(page)).toEqual([]);
  });

  test("with arguments too long for a URL use a form, which stores nothing", async () => {
    const browser = await as(ALICE);
    const asked = await ask(ALICE, { route: "team-a/orders", groups: "staff", message: "tool", name: "pay" });
    const long = JSON.stringify({ amount: 501, note: "x".repeat(60_000) });
    const page = await browser.submit(asked, { button: "Simulate with these", values: { arguments: long } });
    expect([page.status, new URL(page.url).search]).toEqual([200, ""]);
    expect(verdicts(page)).toEqual(["Denied"]);
    const forged = await browser.open(`${pages}/simulator`, {
      method: "POST",
      body: "action=ask&route=team-a%2Forders",
    });
    expect(forged.status).toBe(403);
  });

  test("about others' routes and users are not answered for a viewer of one owner", async () => {
    expect(
      verdicts(await ask(BOB, { route: "team-a/orders", groups: "staff", message: "tool", name: "list" })),
    ).toEqual(["Allowed"]);
    for (const query of [{ route: "team-b/orders" }, { route: "default/wiki" }, { address: `${origin}/wiki` }]) {
      const page = await ask(BOB, query);
      expect(textOf(page)).toContain("No route that you can view matches");
      expect(page.text).not.toMatch(/engineering|team-b\/orders<|Existing user/);
    }
    const known = await ask(BOB, { route: "team-a/orders", who: "known", person: ALICE });
    expect(textOf(known)).toContain("Your role allows hypothetical users only");
    const carol = await (await as(CAROL)).open(`${pages}/simulator`);
    expect(carol.status).toBe(403);
    expect(carol.text).not.toContain("team-a");
  });
});

describe("drafts", () => {
  const change = async (user: string, place: string, values: Record<string, string>): Promise<Page> => {
    const browser = await as(user);
    return browser.submit(await browser.open(`${pages}/simulator/draft${place}`), { button: "Preview draft", values });
  };
  /** The policy of the route as the form has it. */
  const current = async (user: string): Promise<string> => {
    const page = await (await as(user)).open(`${pages}/simulator/draft?route=team-a%2Forders`);
    const written = /<textarea id="draft-text"[^>]*>([^]*?)<\/textarea>/.exec(page.text)?.[1] ?? "";
    return written.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
  };
  const generation = async (): Promise<unknown> => (await admin.get("/config/slices")).body["generation"];

  test("of one rule: lost access, tested, exported, without effect on traffic", async () => {
    const before = [
      await generation(),
      world.gateway.runtime.current().digest,
      await readFile(world.gateway.configFile, "utf8"),
    ];
    const written = await current(BOB);
    expect(written).toContain("gt: 500");
    const page = await change(BOB, "?route=team-a%2Forders", { text: written.replace("gt: 500", "gte: 500") });
    expect(page.status).toBe(200);
    const text = textOf(page);
    expect(text).toContain("Draft saved for 24 hours");
    expect(text).toContain("Valid");
    expect(text).toMatch(/loses? some calls of the tool pay, such as with \{"amount":500\}/);
    expect(text).not.toMatch(/team-b|wiki/);

    const browser = await as(BOB);
    const tried = await browser.click(page, "Try group");
    expect(verdicts(tried)).toEqual(["Allowed", "Denied"]);

    const exported = async (format: string): Promise<Page> => browser.open(`${page.url}/export?as=${format}`);
    const yaml = await exported("yaml");
    expect(yaml.headers["content-disposition"]).toBe('attachment; filename="team-a.yaml"');
    expect(yaml.text).toContain('# Draft of owner "team-a", route "team-a/orders" alone');
    expect(yaml.text).toContain("gateway_bundle of Terraform");
    const boot = { file: "gateway.yaml", text: before[2] as string, boot: true };
    const { problems } = loadSlices([boot, { file: "team-a.yaml", text: yaml.text, boot: false }]);
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
    expect((await exported("hcl")).text).toContain('resource "gateway_bundle" "team-a"');
    expect((await exported("typescript")).text).toContain("new McpServerRoute(");
    expect((await exported("exe")).status).toBe(404);

    expect([
      await generation(),
      world.gateway.runtime.current().digest,
      await readFile(world.gateway.configFile, "utf8"),
    ]).toEqual(before);
  });

  test("are visible only to users who can see their owner", async () => {
    const mine = await change(ALICE, "?route=team-b%2Forders", { text: "[]" });
    expect(textOf(mine)).toMatch(/group "staff" loses connecting and listing/);
    expect((await (await as(VERA)).open(mine.url)).status).toBe(200);
    expect((await (await as(BOB)).open(mine.url)).status).toBe(404);
    expect((await (await as(BOB)).open(`${mine.url}/export?as=yaml`)).status).toBe(404);
    expect((await (await as(BOB)).open(`${pages}/simulator/draft?route=team-b%2Forders`)).status).toBe(404);
    const own = await (await as(ALICE)).open(`${pages}/simulator/drafts`);
    expect(textOf(own)).toContain("Draft of the policy of team-b/orders");
    const gone = await (await as(ALICE)).submit(mine, { button: "Delete draft" });
    expect(textOf(gone)).toContain("Draft deleted");
    expect((await (await as(ALICE)).open(mine.url)).status).toBe(404);
  });

  test.each([
    ["of somebody else's owner", { owner: "team-b", text: "{}" }, 403, "requires the role viewer for owner team-b"],
    ["of nobody's", { owner: "", text: "{}" }, 403, "No changes were made"],
    ["that are too long", { owner: "team-a", text: "x".repeat(600_000) }, 409, "longer than 512 KiB"],
    ["without a text", { owner: "team-a", text: " " }, 409, "Enter an owner and a configuration"],
  ])("%s are refused", async (_, values, status, words) => {
    const page = await change(BOB, "", values);
    expect(page.status).toBe(status);
    expect(textOf(page)).toContain(words);
  });

  test("that are hostile are rejected with an error", async () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from(
      { length: 30 },
      (_, at) =>
        `a${at}: &a${at} [${Array(9)
          .fill(at === 0 ? "*a" : `*a${at - 1}`)
          .join()}]`,
    ).join("\n")}`;
    const page = await change(BOB, "", { owner: "team-a", text: bomb });
    expect(page.status).toBe(200);
    expect(textOf(page)).toContain("Invalid");
    const strange = await change(BOB, "", {
      owner: "team-a",
      text: JSON.stringify({ version: 1, owner: "team-a", routes: { [HOSTILE]: {} } }),
    });
    expect(strange.text).not.toContain("<img");
    expect(textOf(strange)).toContain("\\u202e");
  });
});

describe("changes", () => {
  const generations = (page: Page): string[] =>
    [...page.text.matchAll(/<tr[^>]*>([^]*?)<\/tr>/g)].map(([, row = ""]) =>
      row
        .replaceAll(/<[^>]*>/g, " ")
        .replaceAll(/\s+/g, " ")
        .trim(),
    );
  const open = async (user: string, place = ""): Promise<Page> => (await as(user)).open(`${pages}/changes${place}`);
  const textInForce = async (owner: string): Promise<string> => (await admin.get(`/config/slices/${owner}`)).text;

  test("show publisher and changes", async () => {
    const rows = generations(await open(ALICE));
    expect(rows.find((row) => row.includes("team-a"))).toMatch(
      /^2 of team-a .* team-a published active admin_token gateform-terraform [0-9a-f]{12}$/,
    );
    expect(rows.filter((row) => row.includes("team-b"))[1]).toMatch(/team-b published admin_token release-job/);
    const one = textOf(await open(ALICE, "/4"));
    expect(one).toMatch(/lose some calls of the tool pay, such as with \{"amount":500\}/);
    expect(one).not.toContain("team-a/orders");
    expect((await open(ALICE, "/99")).status).toBe(404);
  });

  test("show a viewer of one owner this owner's alone", async () => {
    const page = await open(BOB);
    expect(page.text).toContain("team-a");
    expect(page.text).not.toMatch(/team-b|team-c/);
    expect((await open(BOB, "/4")).status).toBe(404);
    expect(textOf(await open(BOB, "?owner=team-b"))).toContain("No publications");
  });

  test("go back by a command alone where Terraform publishes, whatever a form says", async () => {
    const page = await open(ALICE, "/2");
    expect(textOf(page)).toContain("gateway rollback --config <its configuration> --owner team-a --to 1");
    expect(page.text).not.toContain("/rollback?");
    expect((await open(ALICE, "/rollback?owner=team-a&to=1&from=2")).status).toBe(404);
    const before = await textInForce("team-a");
    const other = await open(ALICE, "/rollback?owner=team-b&to=3&from=4");
    const forged = { ...other, text: other.text.replace('name="owner" value="team-b"', 'name="owner" value="team-a"') };
    const refused = await (await as(ALICE)).submit(forged, { button: "Roll back", values: { reason: "because" } });
    expect(refused.status).toBe(409);
    expect(textOf(refused)).toContain("This slice is managed by Terraform");
    expect(await textInForce("team-a")).toBe(before);
  });

  test("can be rolled back by a button unless a publisher repeats them, by operators with a reason", async () => {
    expect((await open(VERA, "/4")).text).not.toContain("/rollback?");
    expect((await open(VERA, "/rollback?owner=team-b&to=3&from=4")).status).toBe(404);
    const browser = await as(ALICE);
    const asked = await browser.click(await open(ALICE, "/4"), "Roll back to generation");
    expect((await browser.submit(asked, { button: "Roll back", values: { reason: " " } })).status).toBe(409);
    const done = await browser.submit(asked, { button: "Roll back", values: { reason: "limits were too low" } });
    expect(textOf(done)).toContain("Generation 6: active on all processes.");
    expect(await textInForce("team-b")).toBe(slice("team-b", PAY));
    // Works once: the version on the form is no longer current.
    const again = await browser.submit(asked, { button: "Roll back", values: { reason: "again" } });
    expect(textOf(again)).toContain("The slice changed. Review the new version");
    await expect
      .poll(async () => (await world.gateway.records()).filter(({ action }) => action === "rollback"))
      .toMatchObject([{ by: "u-alice", target: "slice team-b", reason: "limits were too low" }]);
    await expect
      .poll(async () => textOf(await open(VERA)))
      .toMatch(/u-alice rollback slice team-b [0-9a-f]{12} → [0-9a-f]{12} limits were too low/);
    const own = textOf(await open(BOB));
    expect(own).toContain("publish slice team-a");
    expect(own).not.toMatch(/team-b|limits were/);
  });
});
