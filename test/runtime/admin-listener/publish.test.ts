/** Publishing over http to a whole gateway in this process. */
import { connect } from "node:net";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { publishScope, scopedOutcome } from "../../../runtime/admin-listener/publish-scope.ts";
import { createAdminClient, type AdminAnswer, type AdminClient } from "../../support/admin-client.ts";
import { sliceFile } from "../../support/bundle-files.ts";
import { startGateway, type TestGateway } from "../../support/gateway.ts";

const OWNERS = {
  team: {
    allow_local_upstreams: true,
    allowed_from: ["*.example.com"],
    allowed_settings: ["*"],
    allowed_refs: ["env:TEAM_*"],
  },
  other: { allowed_from: ["*.example.com"] },
  strict: { allowed_from: ["*.strict.example.com"], allowed_settings: ["authorize_log_fields"] },
};

let gateway: TestGateway;
let admin: AdminClient;
beforeAll(async () => {
  process.env["TEAM_SECRET"] = "a-secret-of-the-team";
  process.env["BOOT_SECRET"] = "a-secret-of-the-operator";
  gateway = await startGateway({
    yaml: "routes: [{ from: http://file.example.com, to: http://127.0.0.1:1, policy: [{ allow: { or: [{ accept: true }] } }] }]\n",
    boot: { owners: OWNERS },
  });
  admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
});
afterAll(async () => {
  await gateway.close();
  delete process.env["TEAM_SECRET"];
  delete process.env["BOOT_SECRET"];
});
// Each test begins with nothing published.
afterEach(async () => {
  for (const owner of Object.keys(OWNERS)) await admin.remove(owner);
});

const slice = (mark: string, owner = "team", routes = 1): string => sliceFile(owner, mark, routes);
const edited = (change: (document: Record<string, unknown>) => void): string => {
  const document = JSON.parse(slice("1")) as Record<string, unknown>;
  change(document);
  return JSON.stringify(document);
};
const route = (more: object): string =>
  edited((document) => {
    const routes = document["routes"] as Record<string, object>;
    routes["r0"] = { ...routes["r0"], ...more };
  });
const digestOf = (answer: AdminAnswer): string => String(answer.body["digest"]);
const problems = ({ body }: AdminAnswer): string[] =>
  (body["problems"] as { severity: string; path: string; message: string; source?: string }[])
    .filter(({ severity }) => severity === "error")
    .map(({ path, message, source }) => `${source === undefined ? "" : `${source} `}${path} ${message}`);

describe("PUT /config/slices/<owner>", () => {
  test("responds when the slice is active", async () => {
    const before = gateway.runtime.current().digest;
    const answer = await admin.publish("team", slice("1"));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ owner: "team", changed: true, live: true, replicas: 1, laggards: [] });
    expect(answer.headers["etag"]).toBe(`"${digestOf(answer)}"`);
    expect(gateway.runtime.current().digest).not.toBe(before);
    const status = (await admin.get("/status")).body["bundle"] as { slices: { owner: string; file: string }[] };
    expect(status.slices).toContainEqual({ owner: "team", file: "published:team", ok: true, problems: [] });
  });

  test("forty owners publish at the same time, and all are served", async () => {
    const many = await startGateway({ yaml: "routes: []\n" });
    try {
      const client = createAdminClient(many.adminOrigin, many.adminToken);
      const owners = Array.from({ length: 40 }, (_, index) => `owner-${index}`);
      const answers = await Promise.all(owners.map((owner) => client.publish(owner, slice("1", owner))));
      expect(answers.map(({ status, text }) => (status === 200 ? "" : `${status} ${text}`)).join("")).toBe("");
      expect(new Set(answers.map(({ body }) => body["generation"])).size).toBe(40);
    } finally {
      await many.close();
    }
  });

  test("stores which resource published a slice, and removes it for no other resource", async () => {
    const publish = (claim: string): Promise<AdminAnswer> =>
      admin.ask("PUT", "/config/slices/team", { "if-none-match": "*", "gateway-claim": claim }, slice("1"));
    const remove = (headers: Record<string, string>): Promise<AdminAnswer> =>
      admin.ask("DELETE", "/config/slices/team", { "if-match": "*", ...headers });
    const first = await publish("one");
    expect((await admin.get("/config/slices/team")).headers["gateway-claim"]).toBe("one");
    const second = await publish("two");
    expect(second.body).toMatchObject({ changed: false, generation: first.body["generation"] });
    expect((await admin.get("/config/slices/team")).headers["gateway-claim"]).toBe("two");
    expect(await remove({ "gateway-claim": "one" })).toMatchObject({ status: 409, body: { error: "claimed" } });
    expect((await remove({ "gateway-claim": "not one" })).status).toBe(400);
    expect((await admin.get("/config/slices/team")).status).toBe(200);
    expect((await remove({ "gateway-claim": "two" })).status).toBe(200);
    await publish("three");
    // Whoever names no claim removes what it has seen.
    expect((await remove({})).status).toBe(200);
  });

  test("a rollback brings back the slice, and leaves its claim", async () => {
    const publish = (mark: string, claim: string): Promise<AdminAnswer> =>
      admin.ask("PUT", "/config/slices/team", { "if-match": "*", "gateway-claim": claim }, slice(mark));
    await admin.publish("team", slice("1"));
    await publish("2", "two");
    await admin.ask("POST", "/config/rollback", {}, '{"owner":"team"}');
    expect((await admin.get("/config/slices/team")).headers["gateway-claim"]).toBe("two");
  });

  test("gives back exactly what was published, with its digest", async () => {
    const answer = await admin.publish("team", slice("1"));
    const got = await admin.get("/config/slices/team");
    expect(got.text).toBe(slice("1"));
    expect(got.headers).toMatchObject({
      etag: `"${digestOf(answer)}"`,
      "gateway-live": "true",
      "content-type": "application/json",
    });
  });

  test("replaces the slice that the publisher has seen", async () => {
    const first = await admin.publish("team", slice("1"));
    const second = await admin.publish("team", slice("2"), digestOf(first));
    expect(second.status).toBe(200);
    expect(Number(second.body["generation"])).toBe(Number(first.body["generation"]) + 1);
    expect((await admin.get("/config/slices/team")).text).toBe(slice("2"));
  });

  test("rejects replacing a slice that was changed meanwhile, and names the fix (412)", async () => {
    const first = await admin.publish("team", slice("1"));
    const foreign = await admin.publish("team", slice("2"), digestOf(first));
    const answer = await admin.publish("team", slice("3"), digestOf(first));
    expect(answer.status).toBe(412);
    expect(answer.body).toMatchObject({ error: "changed", digest: digestOf(foreign) });
    expect(answer.body["message"]).toContain("another publication changed it: read the published slice");
    expect((await admin.get("/config/slices/team")).text).toBe(slice("2"));
  });

  test("refuses to create a slice over another one (412)", async () => {
    await admin.publish("team", slice("1"));
    expect(await admin.publish("team", slice("2"))).toMatchObject({ status: 412 });
  });

  test("refuses to replace a slice that is not there (412)", async () => {
    const answer = await admin.publish("team", slice("1"), "0".repeat(64));
    expect(answer.status).toBe(412);
    expect(answer.body).toMatchObject({ digest: null, message: expect.stringContaining("publish it as a new slice") });
  });

  test("accepts the same content again as done, whatever was expected", async () => {
    const first = await admin.publish("team", slice("1"));
    const again = await admin.publish("team", slice("1"), "0".repeat(64));
    expect(again.body).toMatchObject({ changed: false, generation: first.body["generation"], live: true });
    expect((await admin.publish("team", slice("1"))).status).toBe(200);
  });

  test.each([
    ["no precondition", {}, 428],
    ["If-None-Match of a digest", { "if-none-match": `"${"0".repeat(64)}"` }, 400],
    ["If-Match of no digest", { "if-match": '"abc"' }, 400],
    ["a weak If-Match", { "if-match": `W/"${"0".repeat(64)}"` }, 400],
    ["both preconditions", { "if-match": "*", "if-none-match": "*" }, 400],
  ])("refuses %s", async (_name, headers, status) => {
    const answer = await admin.ask("PUT", "/config/slices/team", headers, slice("1"));
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ error: "precondition" });
    expect((await admin.get("/config/slices/team")).status).toBe(404);
  });

  test("validates the slice together with all others: a route whose host another owner has", async () => {
    await admin.publish("team", slice("1"));
    const stolen = slice("2", "other").replace("other-0.example.com", "team-0.example.com");
    const answer = await admin.publish("other", stolen);
    expect(answer.status).toBe(422);
    // Reported at the newcomer, though its name sorts before.
    expect(problems(answer)).toEqual([
      expect.stringMatching(/^routes\.r0\.from leads to the same requests as .*published:team/),
    ]);
    const [problem] = answer.body["problems"] as readonly { message: string; rivals: unknown }[];
    const [before, after] = problem!.message.split('"routes.r0" in published:team');
    expect(problem!.rivals).toEqual([{ file: "published:team", path: "routes.r0", around: [before, after] }]);
    // A token of one owner shows that another owner is in the way, and not which.
    const scoped = scopedOutcome(
      {
        ok: false,
        reason: "invalid",
        problems: [
          {
            severity: "error",
            file: "published:other",
            path: ["routes"],
            message: problem!.message,
            rivals: [{ file: "published:team", path: [] }],
          },
        ],
      },
      publishScope("other"),
    );
    expect(JSON.stringify(scoped)).not.toContain("team");
    expect(JSON.stringify(scoped)).toContain("conflicts with another owner's configuration");
    const file = await admin.publish("other", slice("2", "other").replace("other-0.example.com", "file.example.com"));
    expect(problems(file)).toEqual([expect.stringContaining("leads to the same requests as")]);
    expect((await admin.get("/config/slices/other")).status).toBe(404);
  });

  test.each([
    [
      "boot settings",
      edited((document) => (document["settings"] = { admin_token: "a-token-of-my-own-making", address: ":1" })),
      [
        /^settings\.admin_token belongs in the file given to `gateway run`/,
        /^settings\.address belongs in the file given to `gateway run`/,
      ],
    ],
    [
      "hosts of others",
      route({ from: "http://app.example.org" }),
      [/^routes\.r0\.from is "http:\/\/app\.example\.org", which owner "team" may not serve/],
    ],
    [
      "references that are not the owner's",
      oauth({ client_secret_ref: "env:BOOT_SECRET" }),
      [/client_secret_ref is "env:BOOT_SECRET", must be allowed by "owners\.team\.allowed_refs"/],
    ],
    [
      "files that are not the owner's",
      oauth({ client_secret_ref: "file:/etc/shadow" }),
      [/client_secret_ref is "file:\/etc\/shadow", must be allowed/],
    ],
    [
      "references that lead nowhere",
      oauth({ client_secret_ref: "env:TEAM_MISSING" }),
      [/client_secret_ref cannot be read by the gateway: the environment variable is not set/],
    ],
    [
      "seals of another gateway",
      oauth({ client_secret_sealed: "e30.e30.e30.e30.e30" }),
      [/client_secret_sealed cannot be read by the gateway: it was not sealed to this gateway's key/],
    ],
    ["misspelt settings", route({ timout: "1s" }), [/^routes\.r0\.timout .*did you mean "timeout"/]],
  ] as const)(
    "rejects %s with all problems, and leaves the active configuration unchanged",
    async (_name, text, expected) => {
      await admin.publish("team", slice("1"));
      const { digest } = gateway.runtime.current();
      const answer = await admin.publish("team", text, "*");
      expect(answer.status).toBe(422);
      expect(problems(answer)).toHaveLength(expected.length);
      for (const pattern of expected) expect(problems(answer)).toContainEqual(expect.stringMatching(pattern));
      expect(answer.text).not.toContain("a-secret-of");
      expect(gateway.runtime.current().digest).toBe(digest);
      expect((await admin.get("/config/slices/team")).text).toBe(slice("1"));
    },
  );

  test("rejects settings that the main configuration file does not allow to the owner", async () => {
    const document = { version: 1, owner: "strict", settings: { cookie_name: "mine" }, routes: {} };
    expect(problems(await admin.publish("strict", JSON.stringify(document)))).toEqual([
      expect.stringMatching(/^settings\.cookie_name is a setting that owner "strict" may not write; it holds for/),
    ]);
    const allowed = { ...document, settings: { authorize_log_fields: ["user"] } };
    expect((await admin.publish("strict", JSON.stringify(allowed))).status).toBe(200);
  });

  test("rejects owners that the main configuration file does not name", async () => {
    expect(problems(await admin.publish("nobody", slice("1", "nobody")))).toEqual([
      'owner is "nobody", which is not in "owners" of the main configuration file',
    ]);
  });

  test("warns of secrets in plain text, without repeating them", async () => {
    const answer = await admin.publish("team", oauth({ client_secret: "hunter2-hunter2" }));
    expect(answer.status).toBe(200);
    expect(answer.body["warnings"]).toContainEqual(
      expect.objectContaining({
        severity: "warning",
        message: expect.stringContaining("is plain text in a published slice"),
      }),
    );
    expect(answer.text).not.toContain("hunter2");
    expect(gateway.log()).not.toContain("hunter2");
  });

  test.each([
    ["another owner's slice", slice("1", "other"), /the slice names the owner "other", the path names "team"/],
    ["a hand-written file", "routes: []", /must be a slice/],
    ["no document", '{"version":', /./],
    ["repeated keys", '{"version":1,"version":1,"owner":"team","routes":{}}', /./],
    ["bytes that are no UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), /is not UTF-8 text/],
    ["nothing", "", /must be a slice/],
  ])("refuses %s as body (422)", async (_name, body, message) => {
    const answer = await admin.ask("PUT", "/config/slices/team", { "if-none-match": "*" }, body);
    expect(answer.status).toBe(422);
    expect(answer.body["message"]).toMatch(message);
  });

  test("accepts YAML as well as JSON", async () => {
    const text = "version: 1\nowner: team\nroutes: {}\n";
    expect((await admin.publish("team", text)).status).toBe(200);
    expect((await admin.get("/config/slices/team")).text).toBe(text);
  });

  test("stops reading a body that is too long (413)", async () => {
    const answer = await admin.publish("team", slice("1") + " ".repeat(16 * 1024 * 1024));
    expect(answer.status).toBe(413);
    expect(answer.headers["connection"]).toBe("close");
  });

  test("aborts for a sender that disconnects in the middle", async () => {
    const { hostname, port } = new URL(gateway.adminOrigin);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(
      `PUT /config/slices/team HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${gateway.adminToken}\r\nif-none-match: *\r\ncontent-length: 100000\r\n\r\n{`,
    );
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.destroy();
    expect((await admin.publish("team", slice("1"))).status).toBe(200);
  });

  test("lets exactly one of several publishers with the same precondition win, and loses no other slice", async () => {
    const first = await admin.publish("team", slice("0"));
    const [others, ...answers] = await Promise.all([
      admin.publish("other", slice("x", "other")),
      ...["1", "2", "3", "4"].map((mark) => admin.publish("team", slice(mark), digestOf(first))),
    ]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412, 412]);
    expect(others.status).toBe(200);
    expect((await admin.get("/config/slices")).body["slices"]).toHaveLength(2);
    const winner = answers.find(({ status }) => status === 200);
    expect(winner && digestOf(winner)).toBe(
      String((await admin.get("/config/slices/team")).headers["etag"]).slice(1, -1),
    );
  });
});

describe("POST /config/slices/<owner>/validate", () => {
  const tryOut = (text: string): Promise<AdminAnswer> => admin.ask("POST", "/config/slices/team/validate", {}, text);

  test("returns the result of a PUT, and changes nothing", async () => {
    const bad = route({ from: "http://file.example.com" });
    const tried = await tryOut(bad);
    expect(tried.status).toBe(422);
    expect(problems(tried)).toEqual(problems(await admin.publish("team", bad)));
    const good = oauth({ client_secret: "hunter2-hunter2" });
    const before = (await admin.get("/config/slices")).body["generation"];
    const answer = await tryOut(good);
    expect((await admin.get("/config/slices")).body["generation"]).toBe(before);
    expect((await admin.get("/config/slices/team")).status).toBe(404);
    const published = await admin.publish("team", good);
    expect(answer).toMatchObject({ status: 200, body: { owner: "team", changed: true, digest: digestOf(published) } });
    expect(answer.body["warnings"]).toEqual(published.body["warnings"]);
    expect((await tryOut(good)).body).toMatchObject({ changed: false, warnings: [] });
  });

  test("rejects other methods, and slices of other owners", async () => {
    expect((await admin.get("/config/slices/team/validate")).status).toBe(405);
    expect((await admin.ask("PUT", "/config/slices/team/validate", { "if-none-match": "*" }, slice("1"))).status).toBe(
      405,
    );
    expect((await tryOut(slice("1", "other"))).status).toBe(422);
    expect((await admin.ask("POST", "/config/slices/a/b/validate", {}, slice("1"))).status).toBe(404);
  });
});

describe("DELETE /config/slices/<owner>", () => {
  test("removes that owner's slice and no other", async () => {
    await admin.publish("team", slice("1"));
    await admin.publish("other", slice("1", "other"));
    expect((await admin.remove("team")).body).toMatchObject({ changed: true, digest: null, live: true });
    expect((await admin.get("/config/slices/team")).status).toBe(404);
    expect((await admin.get("/config/slices/other")).status).toBe(200);
  });

  test("needs a precondition, and keeps a slice that was changed meanwhile", async () => {
    const first = await admin.publish("team", slice("1"));
    expect((await admin.ask("DELETE", "/config/slices/team")).status).toBe(428);
    await admin.publish("team", slice("2"), digestOf(first));
    const stale = await admin.ask("DELETE", "/config/slices/team", { "if-match": `"${digestOf(first)}"` });
    expect(stale.status).toBe(412);
    expect((await admin.get("/config/slices/team")).text).toBe(slice("2"));
  });

  test("of a missing slice succeeds", async () => {
    expect((await admin.remove("team")).body).toMatchObject({ changed: false });
  });
});

describe("POST /config/rollback", () => {
  const rollback = (request: object): Promise<AdminAnswer> =>
    admin.ask("POST", "/config/rollback", {}, JSON.stringify(request));

  test("puts one owner's slice back to how it was before, as a new generation", async () => {
    const first = await admin.publish("team", slice("1"));
    const second = await admin.publish("team", slice("2"), digestOf(first));
    await admin.publish("other", slice("1", "other"));
    const answer = await rollback({ owner: "team" });
    expect(answer.body).toMatchObject({ live: true, digest: digestOf(first) });
    expect(Number(answer.body["generation"])).toBeGreaterThan(Number(second.body["generation"]));
    expect((await admin.get("/config/slices/team")).text).toBe(slice("1"));
    expect((await admin.get("/config/slices/other")).status).toBe(200);
  });

  test("puts everything back to a generation, slices that came later included", async () => {
    const first = await admin.publish("team", slice("1"));
    await admin.publish("team", slice("2"), digestOf(first));
    await admin.publish("other", slice("1", "other"));
    expect((await rollback({ to: first.body["generation"] })).status).toBe(200);
    expect((await admin.get("/config/slices/team")).text).toBe(slice("1"));
    expect((await admin.get("/config/slices/other")).status).toBe(404);
  });

  test("brings a removed slice back", async () => {
    await admin.publish("team", slice("1"));
    await admin.remove("team");
    expect((await rollback({ owner: "team" })).status).toBe(200);
    expect((await admin.get("/config/slices/team")).text).toBe(slice("1"));
  });

  test("validates the earlier generation: another owner may have the host now", async () => {
    await admin.publish("team", slice("1"));
    await admin.remove("team");
    await admin.publish("other", slice("2", "other").replace("other-0.example.com", "team-0.example.com"));
    const answer = await rollback({ owner: "team" });
    expect(answer.status).toBe(422);
    expect((await admin.get("/config/slices/team")).status).toBe(404);
  });

  test("rejects generations that are not stored, and names the stored ones", async () => {
    let last = await admin.publish("team", slice("0"));
    const oldest = last;
    for (let mark = 1; mark <= 12; mark += 1) last = await admin.publish("team", slice(String(mark)), digestOf(last));
    const answer = await rollback({ owner: "team", to: oldest.body["generation"] });
    expect(answer.status).toBe(409);
    expect(answer.body["message"]).toMatch(/the slice of owner "team" is stored only from generation \d+ on/);
    const kept = Number(/generation (\d+) on/.exec(String(answer.body["message"]))?.[1]);
    expect(kept).toBe(Number(last.body["generation"]) - 9);
    expect((await rollback({ owner: "team", to: kept })).status).toBe(200);
  });

  test.each([[[]], [{ owner: 1 }], [{ to: "1" }], [{ onwer: "team" }]])("refuses the wish %j", async (request) => {
    expect((await rollback(request)).status).toBe(400);
  });

  test.each([[{ owner: "nobody" }], [{ to: 999_999 }], [{ to: -1 }], [{ to: 1.5 }]])(
    "cannot do %j",
    async (request) => {
      await admin.publish("team", slice("1"));
      expect((await rollback(request)).status).toBe(409);
    },
  );
});

describe("GET /config/slices", () => {
  test("lists slices, generations and the serving processes", async () => {
    const { body: published } = await admin.publish("team", slice("1"));
    const { body } = await admin.get("/config/slices");
    expect(body).toMatchObject({
      generation: published["generation"],
      slices: [{ owner: "team", digest: published["digest"], generation: published["generation"] }],
      replicas: 1,
      laggards: [],
    });
  });
});

describe("who may publish", () => {
  test.each([
    ["no token", { authorization: "" }],
    ["a wrong token", { authorization: "Bearer wrong" }],
    ["the token in another scheme", { authorization: "Basic YWRtaW46YWRtaW4=" }],
  ])("no caller with %s", async (_name, headers) => {
    for (const [method, path] of [
      ["PUT", "/config/slices/team"],
      ["GET", "/config/slices/team"],
      ["DELETE", "/config/slices/team"],
      ["GET", "/config/slices"],
      ["POST", "/config/rollback"],
    ] as const) {
      const body = method === "PUT" || method === "POST" ? slice("1") : undefined;
      expect((await admin.ask(method, path, { "if-none-match": "*", ...headers }, body)).status).toBe(401);
    }
  });

  test("a pipeline that calls the gateway by a name of its own, with the token alone", async () => {
    const named = { host: "gateway.internal.example.com:9901" };
    expect((await admin.ask("GET", "/config/slices", named)).status).toBe(200);
    // A web page whose name was pointed here learns nothing, not even that a token is wanted.
    expect((await admin.ask("GET", "/config/slices", { ...named, authorization: "" })).status).toBe(421);
  });

  test("no caller through the public listener", async () => {
    const publicSide = createAdminClient(gateway.origin, gateway.adminToken);
    expect((await publicSide.publish("team", slice("1"))).status).toBeGreaterThanOrEqual(400);
    expect((await admin.get("/config/slices/team")).status).toBe(404);
  });

  test.each(["gateway", "Team", "..", "a%2Fb", "team/x", ""])("no owner is called %j", async (owner) => {
    const answer = await admin.ask("PUT", `/config/slices/${owner}`, { "if-none-match": "*" }, slice("1"));
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
  });
});

describe("POST /config/slices", () => {
  const post = (changes: unknown): Promise<AdminAnswer> =>
    admin.ask("POST", "/config/slices", {}, JSON.stringify({ changes }));
  const document = (owner: string, mark: string): unknown => JSON.parse(sliceFile(owner, mark, 1));
  const listed = async (): Promise<readonly string[]> =>
    ((await admin.get("/config/slices")).body["slices"] as { owner: string }[]).map(({ owner }) => owner);

  test("changes several owners' slices as one generation", async () => {
    await admin.publish("team", slice("1"));
    const before = Number((await admin.get("/config/slices")).body["generation"]);

    const answer = await post([
      { owner: "team", slice: null, expected: "*" },
      { owner: "other", slice: document("other", "1"), expected: null },
    ]);

    expect([answer.status, answer.body["generation"], answer.body["live"]]).toEqual([200, before + 1, true]);
    expect(await listed()).toEqual(["other"]);
  });

  test("changes nothing when one of them is not as expected, and names it", async () => {
    await admin.publish("other", slice("1", "other"));

    const answer = await post([
      { owner: "team", slice: document("team", "1"), expected: null },
      { owner: "other", slice: document("other", "2"), expected: "0".repeat(64) },
    ]);

    expect(answer.status).toBe(412);
    expect(answer.text).toContain('The slice of owner \\"other\\" is now');
    expect(await listed()).toEqual(["other"]);
  });

  test("changes nothing when one of them is invalid, and names its owner", async () => {
    const bad = { version: 1, owner: "other", routes: { r0: { from: "nonsense" } } };

    const answer = await post([
      { owner: "team", slice: document("team", "1"), expected: null },
      { owner: "other", slice: bad, expected: null },
    ]);

    expect(answer.status).toBe(422);
    const found = answer.body["problems"] as { severity: string; owner?: string }[];
    expect(new Set(found.filter(({ severity }) => severity === "error").map(({ owner }) => owner))).toEqual(
      new Set(["other"]),
    );
    expect(await listed()).toEqual([]);
  });

  test.each([
    ["no JSON", "{"],
    ["no list", '{"changes":{}}'],
    ["other members", '{"changes":[],"more":1}'],
    ["no expectation", '{"changes":[{"owner":"team","slice":null}]}'],
    ["an expectation that is no digest", '{"changes":[{"owner":"team","slice":null,"expected":"x"}]}'],
    ["an owner that is none", '{"changes":[{"owner":"gateway","slice":null,"expected":"*"}]}'],
    ["a slice of another owner", '{"changes":[{"owner":"team","slice":{"owner":"other"},"expected":null}]}'],
    [
      "an owner twice",
      '{"changes":[{"owner":"team","slice":null,"expected":"*"},{"owner":"team","slice":null,"expected":"*"}]}',
    ],
  ])("refuses a body with %s", async (_, body) => {
    expect((await admin.ask("POST", "/config/slices", {}, body)).status).toBe(400);
  });

  test("requires the token", async () => {
    expect((await admin.ask("POST", "/config/slices", { authorization: "" }, "{}")).status).toBe(401);
  });
});

function oauth(upstream: object): string {
  return JSON.stringify({
    version: 1,
    owner: "team",
    settings: { runtime_flags: { mcp: true } },
    routes: {
      r0: {
        from: "http://team-0.example.com",
        to: ["http://127.0.0.1:1"],
        policy: [{ allow: { or: [{ authenticated_user: true }] } }],
        mcp: { server: { upstream_oauth2: { client_id: "team", ...upstream } } },
      },
    },
  });
}
