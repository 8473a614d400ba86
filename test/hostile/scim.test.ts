/**
 * The SCIM server with requests of Okta, Entra, attackers and several simultaneous processes. Two replicas on one store.
 *
 * @see RFC 7644
 */
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createTestClock } from "../support/clock.ts";
import {
  AUTH,
  APP,
  benchConfig,
  type Replica,
  type SessionBench,
  startSessionBench,
} from "../support/session-bench.ts";
import { createScimClient, oktaUser, patchOf, type ScimClient } from "../support/scim-client.ts";
import { createRawSend, type ScimMessage, scimMessages } from "../support/scim-requests.ts";

const TOKEN = "scim-token-sentinel-of-okta";
const OLD = "scim-token-sentinel-before-it";
const OTHER = "scim-token-sentinel-of-other";
const SETTINGS = `
identity_issuers: { entra: { issuer: "https://entra.example.com", uses: [id_jag], jwks: '{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}' } }
directories:
  okta: { token: ${TOKEN}, previous_token: ${OLD} }
  entra: { provider: entra, token: ${OTHER}, groups: both }
`;
/** Happens while a record is on its way to the store. */
let beforePut: ((key: string) => void) | undefined;
let bench: SessionBench;
let other: Replica;
let okta: ScimClient;
/** The same directory at the second replica. */
let okta2: ScimClient;
let entra: ScimClient;

beforeAll(async () => {
  const store = createMemoryStore({ clock: createTestClock(Date.now()) });
  const put: Store["put"] = async (key, ...rest) => {
    beforePut?.(key);
    return store.put(key, ...rest);
  };
  bench = await startSessionBench({ settings: SETTINGS, store: { ...store, put } });
  other = await bench.replica();
  okta = createScimClient(`${AUTH}/.gateway/scim/v2/okta`, TOKEN, bench.firstPort);
  okta2 = createScimClient(`${AUTH}/.gateway/scim/v2/okta`, TOKEN, other.port);
  entra = createScimClient(`${AUTH}/.gateway/scim/v2/entra`, OTHER, bench.firstPort);
});
afterAll(() => bench?.close());

const eq = (attribute: string, value: string): string => `?filter=${encodeURIComponent(`${attribute} eq "${value}"`)}`;

async function total(client: ScimClient, path: string): Promise<unknown> {
  const answer = await client.send("GET", path);
  expect(answer.status, answer.text).toBe(200);
  return answer.json()["totalResults"];
}

async function membersOf(client: ScimClient, group: string): Promise<readonly string[]> {
  const { members } = (await client.send("GET", `/Groups/${group}`)).json() as {
    readonly members: readonly { readonly value: string }[];
  };
  return members.map(({ value }) => value).sort();
}

describe("access to a directory", () => {
  test("its token and the one before; a wrong one, another's and an unknown directory are alike", async () => {
    const at = (name: string, token: string | undefined): ScimClient =>
      createScimClient(`${AUTH}/.gateway/scim/v2/${name}`, token, bench.firstPort);
    for (const token of [TOKEN, OLD]) expect((await at("okta", token).send("GET", "/Users")).status).toBe(200);
    const answers = await Promise.all([
      at("okta", "wrong").send("GET", "/Users"),
      at("okta", undefined).send("GET", "/Users"),
      at("okta", OTHER).send("POST", "/Users", "{"),
      at("unknown", TOKEN).send("GET", "/Users/x/y"),
      at("", TOKEN).send("GET", ""),
      at("okta", `${TOKEN}x`).send("GET", "/Schemas"),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(answer.headers["www-authenticate"]).toBe("Bearer");
      expect(answer.json()).toEqual(answers[0]?.json());
      expect(answer.json()["status"]).toBe("401");
    }
    const twice = await okta.send("GET", "/Users", undefined, { authorization: `Basic ${TOKEN}` });
    expect(twice.status).toBe(401);
    expect(bench.logged()).not.toContain(TOKEN);
  });

  test("on the sign-in host alone, and nowhere without a directory", async () => {
    const elsewhere = createScimClient(`${APP}/.gateway/scim/v2/okta`, TOKEN, bench.firstPort);
    expect((await elsewhere.send("GET", "/Users")).status).toBe(404);
    bench.configure(benchConfig(bench.idp.issuer));
    expect((await okta.send("GET", "/Users")).status).toBe(404);
    bench.configure(benchConfig(bench.idp.issuer, SETTINGS));
  });

  test("many wrong tokens are slowed down, and the right one is not", async () => {
    const wrong = createScimClient(`${AUTH}/.gateway/scim/v2/okta`, "wrong", other.port);
    const statuses = new Set<number>();
    for (let at = 0; at < 70; at += 1) statuses.add((await wrong.send("GET", "/Users")).status);
    expect(statuses).toEqual(new Set([401, 429]));
    expect((await okta2.send("GET", "/Users?count=0")).status).toBe(200);
  });
});

test("discovery documents", async () => {
  const config = (await okta.send("GET", "/ServiceProviderConfig")).json();
  expect(config).toMatchObject({ patch: { supported: true }, filter: { supported: true }, bulk: { supported: false } });
  expect(await total(okta, "/ResourceTypes")).toBe(2);
  expect(await total(okta, "/Schemas")).toBe(3);
  const schema = "urn:ietf:params:scim:schemas:core:2.0:User";
  expect((await okta.send("GET", `/Schemas/${encodeURIComponent(schema)}`)).json()["id"]).toBe(schema);
  expect((await okta.send("GET", "/Bulk")).status).toBe(404);
  expect((await okta.send("POST", "/Schemas", {})).status).toBe(404);
});

/** Case 27 of the research, with the refusals of tokens above. */
describe("users", () => {
  test("are made, found, changed and removed as Okta does it", async () => {
    expect(await total(okta, `/Users${eq("userName", "ann@example.com")}&startIndex=1&count=100`)).toBe(0);
    const made = await okta.send("POST", "/Users", oktaUser("ann@example.com", "00uAnn"));
    expect(made.status).toBe(201);
    expect(made.headers["content-type"]).toBe("application/scim+json");
    const user = made.json();
    const path = `/Users/${String(user["id"])}`;
    expect(made.headers["location"]).toBe(`${AUTH}/.gateway/scim/v2/okta${path}`);
    expect(user).toMatchObject({ userName: "ann@example.com", externalId: "00uAnn", active: true, groups: [] });
    expect(made.text).not.toContain("password");
    // Each replica finds them, by every matching attribute.
    for (const filter of [
      eq("userName", "ANN@example.com"),
      eq("externalId", "00uAnn"),
      eq('emails[type eq "work"].value', "Ann@example.com"),
      eq("id", String(user["id"])),
    ])
      expect(await total(okta2, `/Users${filter}`), filter).toBe(1);
    expect(await total(entra, `/Users${eq("userName", "ann@example.com")}`)).toBe(0);
    // Sent back as it was got, with a change.
    const put = await okta2.send("PUT", path, { ...user, userName: "anne@example.com", active: false });
    expect([put.status, put.json()["active"]]).toEqual([200, false]);
    expect(await total(okta, `/Users${eq("userName", "ann@example.com")}`)).toBe(0);
    expect(await total(okta, `/Users${eq("userName", "anne@example.com")}`)).toBe(1);
    expect((await okta.send("PATCH", path, patchOf({ op: "replace", value: { active: true } }))).json()["active"]).toBe(
      true,
    );
    expect((await okta.send("DELETE", path)).status).toBe(204);
    for (const method of ["GET", "DELETE"]) expect((await okta.send(method, path)).status).toBe(404);
    expect((await okta.send("PUT", path, oktaUser("ann@example.com", "00uAnn"))).status).toBe(404);
    expect(await total(okta, `/Users${eq("externalId", "00uAnn")}`)).toBe(0);
  });

  test("have unique names, even with concurrent requests", async () => {
    const clients = [okta, okta2];
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        (clients[at % 2] as ScimClient).send("POST", "/Users", oktaUser("Twin@example.com", `00uTwin${at}`)),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 201);
    // 503: the owner of the name was still being written.
    for (const { status } of refused) expect([409, 503]).toContain(status);
    expect(await total(okta, `/Users${eq("userName", "twin@example.com")}`)).toBe(1);
    const again = await okta.send("POST", "/Users", oktaUser("twin@EXAMPLE.com", "00uThird"));
    expect([again.status, again.json()["scimType"], again.json()["status"]]).toEqual([409, "uniqueness", "409"]);
    // The other reserved name is free again.
    const third = await okta.create("/Users", oktaUser("third@example.com", "00uThird"));
    const taken = await okta.send(
      "PATCH",
      `/Users/${third}`,
      patchOf({ op: "replace", path: "userName", value: "twin@example.com" }),
    );
    expect(taken.status).toBe(409);
    expect((await okta.send("GET", `/Users/${third}`)).json()["userName"]).toBe("third@example.com");
  });

  test("a name that a process left behind half way is free after a while", async () => {
    beforePut = (key) => {
      if (key.startsWith("directory-user:")) throw new Error("killed");
    };
    const lost = await okta.send("POST", "/Users", oktaUser("half@example.com", "00uHalf"));
    expect(lost.status).toBe(500);
    beforePut = undefined;
    const early = await okta2.send("POST", "/Users", oktaUser("half@example.com", "00uHalf"));
    expect([early.status, early.headers["retry-after"]]).toEqual([503, "5"]);
    bench.clock.advance(61_000);
    await okta2.create("/Users", oktaUser("half@example.com", "00uHalf"));
  });

  test.each([
    ["GET", `/Users?filter=${encodeURIComponent('userName co "a"')}`, undefined, "invalidFilter"],
    ["GET", `/Users?filter=${encodeURIComponent("active eq true")}`, undefined, "invalidFilter"],
    ["GET", "/Users?count=x", undefined, "invalidValue"],
    ["GET", "/Users?count=1&count=2", undefined, "invalidValue"],
    ["POST", "/Users", "{", "invalidSyntax"],
    ["POST", "/Users", "[]", "invalidSyntax"],
    ["POST", "/Users", {}, "invalidValue"],
    ["POST", "/Users", { userName: { a: 1 } }, "invalidValue"],
    ["POST", "/Users", { userName: "x", emails: [[]] }, "invalidValue"],
    // Not 503: sent again it would be refused again.
    ["POST", "/Users", { userName: "x", emails: Array.from({ length: 33 }, (_, at) => `${at}`) }, "invalidValue"],
    ["POST", "/Groups", { displayName: "" }, "invalidValue"],
    ["POST", "/Groups", { displayName: "x", members: [{}] }, "invalidValue"],
  ])("%s %s with %j is refused: %s", async (method, path, body, scimType) => {
    const answer = await okta.send(method, path, body);
    expect([answer.status, answer.json()["scimType"], answer.json()["status"]]).toEqual([400, scimType, "400"]);
  });

  test("bodies are bounded and read by their type", async () => {
    expect((await okta.send("POST", "/Users", `{"a":"${"x".repeat(140_000)}"}`)).status).toBe(413);
    expect((await okta.send("POST", "/Users", "{}", { "content-type": "text/plain" })).status).toBe(415);
    expect((await okta.send("POST", "/Users", "{}", { "content-encoding": "gzip" })).status).toBe(415);
    const deep = `${"[".repeat(60_000)}${"]".repeat(60_000)}`;
    expect((await okta.send("POST", "/Users", `{"userName":"deep","name":${deep}}`)).status).toBe(400);
    for (const id of ["..", "%2e%2e", "x", "0".repeat(33), "__proto__", "%00", "a%2fb"])
      expect([400, 404], id).toContain((await okta.send("GET", `/Users/${id}`)).status);
  });
});

interface Page {
  readonly totalResults: number;
  readonly itemsPerPage: number;
  readonly Resources: readonly { readonly userName: string }[];
}

test("lists come in pages of one order, with each user once", async () => {
  for (let at = 0; at < 25; at += 1) await entra.create("/Users", { userName: `page-${at}`, externalId: `p${at}` });
  const readAll = async (): Promise<readonly string[]> => {
    const seen: string[] = [];
    for (let startIndex = 1; ; startIndex += 10) {
      const page = (
        await entra.send("GET", `/Users?startIndex=${startIndex}&count=10&attributes=userName`)
      ).json() as unknown as Page;
      expect([page.totalResults, page.itemsPerPage]).toEqual([25, page.Resources.length]);
      seen.push(...page.Resources.map(({ userName }) => userName));
      if (startIndex > page.totalResults) return seen;
    }
  };
  const seen = await readAll();
  expect(seen.toSorted()).toEqual(Array.from({ length: 25 }, (_, at) => `page-${at}`).sort());
  expect(await readAll()).toEqual(seen);
  expect(await total(entra, "/Users?count=0")).toBe(25);
});

test("inactive state and identity do not change by omission", async () => {
  const path = `/Users/${await okta.create("/Users", oktaUser("silent@example.com", "00uSilent"))}`;
  await okta.send("PATCH", path, patchOf({ op: "replace", path: "active", value: false }));
  for (const [method, body] of [
    ["PATCH", patchOf({ op: "replace", path: "active", value: null })],
    ["PATCH", patchOf({ op: "remove", path: "active" })],
    ["PUT", { userName: "silent@example.com", active: null }],
    ["PUT", { userName: "silent@example.com" }],
  ] as const) {
    const answer = await okta.send(method, path, body);
    expect([answer.status, answer.json()["active"], answer.json()["externalId"]]).toEqual([200, false, "00uSilent"]);
  }
  expect(bench.logged()).not.toContain("cannot identify deactivated directory user");
  await okta.send("PATCH", path, patchOf({ op: "remove", path: "externalId" }));
  expect(bench.logged()).toContain("cannot identify deactivated directory user");
  // Records of changed access, with their actor.
  const changed = bench.logged().match(/.*"did":"changed".*/g) ?? [];
  expect(JSON.parse(changed.at(-1) ?? "")).toMatchObject({
    directory: "okta",
    peer: "127.0.0.1",
    user: path.slice("/Users/".length),
    active: false,
    msg: "directory entry changed",
  });
});

/** Case 26 of the research. */
describe("groups", () => {
  test("have their members by every way of Okta and Entra", async () => {
    const ids = await Promise.all(
      ["g1", "g2", "g3"].map((each) => entra.create("/Users", { userName: `${each}@example.com` })),
    );
    const [one = "", two = "", three = ""] = ids;
    const group = await entra.create("/Groups", {
      schemas: [
        "urn:ietf:params:scim:schemas:core:2.0:Group",
        "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group",
      ],
      externalId: "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
      displayName: "Engineers",
      meta: { resourceType: "Group" },
    });
    const patch = async (...operations: readonly object[]): Promise<number> =>
      (await entra.send("PATCH", `/Groups/${group}`, patchOf(...operations))).status;
    expect(
      await patch({
        op: "Add",
        path: "members",
        value: [
          { $ref: null, value: one },
          { $ref: null, value: two },
        ],
      }),
    ).toBe(204);
    expect(await membersOf(entra, group)).toEqual([one, two].sort());
    expect(await patch({ op: "Remove", path: "members", value: [{ $ref: null, value: one }] })).toBe(204);
    expect(await patch({ op: "remove", path: `members[value eq "${one}"]` })).toBe(204);
    expect(await patch({ op: "remove", path: 'members[value eq "nobody"]' })).toBe(204);
    expect(await patch({ op: "add", path: "members", value: [{ value: "f".repeat(32) }] })).toBe(204);
    expect(await membersOf(entra, group)).toEqual([two]);
    expect(await patch({ op: "replace", path: "members", value: [{ value: one }, { value: three }] })).toBe(204);
    expect(await membersOf(entra, group)).toEqual([one, three].sort());
    // A user says which groups they are in, and takes them along.
    expect((await entra.send("GET", `/Users/${three}`)).json()["groups"]).toEqual([
      { value: group, display: "Engineers", type: "direct" },
    ]);
    await entra.send("DELETE", `/Users/${three}`);
    expect(await membersOf(entra, group)).toEqual([one]);
    // Entra's questions.
    const filter = `?excludedAttributes=members&filter=${encodeURIComponent('displayName eq "engineers"')}`;
    const found = (await entra.send("GET", `/Groups${filter}`)).json() as { readonly Resources: readonly object[] };
    expect(found.Resources).toHaveLength(1);
    expect(found.Resources[0]).not.toHaveProperty("members");
    const isIn = (user: string): string =>
      `/Groups?filter=${encodeURIComponent(`id eq "${group}" and members eq "${user}"`)}`;
    expect([await total(entra, isIn(one)), await total(entra, isIn(two))]).toEqual([1, 0]);
    // Okta's rename with each change of members; PUT without members leaves them.
    expect(await patch({ op: "replace", value: { id: group, displayName: "Developers" } })).toBe(204);
    expect(bench.logged()).toContain("directory group renamed");
    expect((await entra.send("PUT", `/Groups/${group}`, { displayName: "Devs" })).status).toBe(200);
    expect(await membersOf(entra, group)).toEqual([one]);
    expect((await entra.send("POST", "/Groups", { displayName: "DEVS" })).status).toBe(409);
    expect((await entra.send("DELETE", `/Groups/${group}`)).status).toBe(204);
    expect((await entra.send("GET", `/Users/${one}`)).json()["groups"]).toEqual([]);
    expect(await patch({ op: "add", path: "members", value: [{ value: one }] })).toBe(404);
  });

  test("a directory sees nothing of another", async () => {
    const user = await okta.create("/Users", oktaUser("only@example.com", "00uOnly"));
    expect((await entra.send("GET", `/Users/${user}`)).status).toBe(404);
    expect((await entra.send("DELETE", `/Users/${user}`)).status).toBe(404);
    const group = await entra.create("/Groups", { displayName: "Theirs", members: [{ value: user }] });
    expect(await membersOf(entra, group)).toEqual([]);
  });
});

test("while the store is unavailable everything must be sent again", async () => {
  bench.store.broken = true;
  const answers = await Promise.all([
    okta.send("GET", `/Users${eq("userName", "a")}`),
    okta.send("POST", "/Users", oktaUser("away@example.com", "00uAway")),
    okta.send("GET", "/Groups"),
  ]);
  bench.store.broken = false;
  for (const answer of answers) {
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
    expect(answer.headers["content-type"]).toBe("application/scim+json");
  }
});

describe("whatever is sent", () => {
  const host = new URL(AUTH).host;
  const base = "/.gateway/scim/v2";
  /** Paths that the listener rejects before they belong to any endpoint: ambiguous ones. */
  const isPlain = (path: string): boolean => /^(\/[A-Za-z0-9_]+)*\/?(\?.*)?$/.test(path);

  test("is answered as SCIM, and never with a failure of ours", async () => {
    const { send, close } = createRawSend(bench.firstPort, host);
    const known: string[] = [];
    for (let at = 0; at < 40; at += 1) {
      const user = await okta.create("/Users", oktaUser(`fuzzed-${at}`, `00uFuzzed${at}`));
      const group = await okta.create("/Groups", { displayName: `Fuzzed ${at}`, members: [{ value: user }] });
      known.push(`/Users/${user}`, `/Groups/${group}`);
    }
    const statuses = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(scimMessages(known), async (message) => {
        const headers = { ...message.headers, authorization: `Bearer ${TOKEN}` };
        const { status, headers: answered, text } = await send(`${base}/okta`, { ...message, headers });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        expect([200, 201, 204, 400, 403, 404, 409, 413, 415]).toContain(status);
        if (status === 204) {
          expect(text).toBe("");
          return;
        }
        const body = JSON.parse(text) as Record<string, unknown>;
        if (status < 300 || isPlain(message.path)) expect(answered["content-type"]).toBe("application/scim+json");
        if (status < 300) expect(body["schemas"]).toEqual(expect.arrayContaining([expect.any(String)]));
        else if (isPlain(message.path))
          expect(body).toMatchObject({
            schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
            status: String(status),
            detail: expect.any(String),
          });
      }),
      { numRuns: 1200, seed: 18 },
    );
    close();
    // Most of it is refused, and yet it got everywhere.
    for (const status of [200, 201, 204, 400, 404, 409, 415])
      expect(statuses.get(status), String(status)).toBeGreaterThan(0);
    expect(await total(okta, "/Users?count=0")).toBeGreaterThan(0);
  });

  test("reveals nothing without the right token: one response, byte for byte", async () => {
    const { send, close } = createRawSend(bench.firstPort, host);
    const user = await okta.create("/Users", oktaUser("secret@example.com", "00uSecret"));
    const wrong = fc.constantFrom(
      undefined,
      "Bearer",
      "Bearer wrong",
      `Bearer ${OTHER}`,
      `Basic ${TOKEN}`,
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN} `.repeat(2),
    );
    const ask = (name: string, authorization: string | undefined, message: ScimMessage) => {
      // The limit is about frequency, not content.
      bench.clock.advance(1000);
      const headers = { ...message.headers, ...(authorization === undefined ? {} : { authorization }) };
      return send(`${base}/${name}`, { ...message, headers });
    };
    const reference = await ask("okta", "Bearer wrong", {
      method: "GET",
      path: "/Users",
      headers: {},
      body: undefined,
    });
    expect(reference.status).toBe(401);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("okta", "unknown", "OKTA"),
        wrong,
        scimMessages([`/Users/${user}`]),
        async (name, authorization, message) => {
          fc.pre(isPlain(message.path));
          expect(await ask(name, authorization, message)).toEqual(reference);
        },
      ),
      { numRuns: 400, seed: 18 },
    );
    close();
  });
});
