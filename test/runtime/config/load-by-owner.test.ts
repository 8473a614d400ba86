import { describe, expect, test } from "vitest";
import * as fc from "fast-check";

import {
  type PreviousSlice,
  loadByOwner,
  type OwnersInput,
  type OwnersOutcome,
} from "../../../runtime/config/load-by-owner.ts";
import { makeTestCertificate } from "../../support/certificates.ts";
import { createRouteMemory, formatProblem, loadSlices, type SliceSource } from "../../../runtime/config/load.ts";

const boot = (more: object = {}): SliceSource => ({
  file: "gateway.json",
  boot: true,
  text: JSON.stringify({ insecure_server: true, shared_secret: Buffer.alloc(32).toString("base64"), ...more }),
});

const route = (host: string, more: object = {}): object => ({
  from: `http://${host}.example.com`,
  to: "http://127.0.0.1:1",
  ...more,
});

function slice(owner: string, routes: Readonly<Record<string, object>>, settings: object = {}): SliceSource {
  return { file: `${owner}.json`, boot: false, text: JSON.stringify({ version: 1, owner, settings, routes }) };
}

function kept(since: number | undefined, ...sources: readonly SliceSource[]): readonly [string, PreviousSlice] {
  const { owner = "default" } = JSON.parse(sources[0]?.text ?? "{}") as { owner?: string };
  const files = sources.map(({ file, text }) => ({ file, text }));
  return [owner, { owner, sources: files, ...(since !== undefined && { since }) }];
}

const broken = (owner: string): SliceSource => ({ file: `${owner}.json`, boot: false, text: "{" });

function load(input: OwnersInput): OwnersOutcome {
  const outcome = loadByOwner(input);
  const reversed = loadByOwner({ ...input, sources: input.sources.toReversed() }, createRouteMemory());
  expect(reversed.problems).toEqual(outcome.problems);
  expect(reversed.standings).toEqual(outcome.standings);
  expect(reversed.config?.digest).toBe(outcome.config?.digest);
  return outcome;
}

const standings = ({ standings: all }: OwnersOutcome): object =>
  Object.fromEntries(all.map(({ owner = "unknown", standing }) => [owner, standing]));
const hosts = ({ config }: OwnersOutcome): readonly string[] | undefined =>
  config?.routes.map(({ key, doc }) => `${key} ${new URL(doc.from).hostname.split(".")[0] ?? ""}`);
const errors = ({ problems }: OwnersOutcome): readonly string[] =>
  problems.filter(({ severity }) => severity === "error").map(formatProblem);

describe("loadByOwner()", () => {
  test("is loadSlices() where nothing is wrong", () => {
    const sources = [boot(), slice("a", { r: route("a") }), slice("b", { r: route("b") })];
    const outcome = load({ sources });
    const { problems, config } = loadSlices(sources);
    expect(outcome).toMatchObject({ problems, config });
    expect(standings(outcome)).toEqual({ a: "current", b: "current" });
  });

  test.each<[string, OwnersInput, readonly string[], object]>([
    [
      "a broken slice leaves the others",
      { sources: [boot(), broken("a"), slice("b", { r: route("b") })] },
      ["b/r b"],
      { unknown: "absent", b: "current" },
    ],
    [
      "a broken slice is stood in for by the kept one of its file",
      {
        sources: [boot(), broken("a"), slice("b", { r: route("b2") })],
        previous: new Map([kept(1, slice("a", { r: route("a") })), kept(1, slice("b", { r: route("b") }))]),
      },
      ["a/r a", "b/r b2"],
      { a: "kept", b: "current" },
    ],
    [
      "a file that cannot be read at all is stood in for",
      {
        sources: [boot(), slice("b", { r: route("b") })],
        unread: [{ severity: "error", file: "a.json", path: [], message: "is not UTF-8 text" }],
        previous: new Map([kept(1, slice("a", { r: route("a") }))]),
      },
      ["a/r a", "b/r b"],
      { a: "kept", b: "current" },
    ],
    [
      "a slice that was removed is not stood in for",
      { sources: [boot()], previous: new Map([kept(1, slice("a", { r: route("a") }))]) },
      [],
      {},
    ],
    [
      "the kept slice is judged by what the boot file allows today",
      {
        sources: [boot({ owners: { a: { allowed_from: ["other.example.com"] }, b: {} } }), broken("a"), slice("b", {})],
        previous: new Map([kept(1, slice("a", { r: route("a") }))]),
      },
      [],
      { a: "absent", b: "current" },
    ],
    [
      "an owner whom the boot file no longer names is not served, though nothing of his changed",
      {
        sources: [boot({ owners: { b: {} } }), slice("a", { r: route("a") }), slice("b", { r: route("b") })],
        previous: new Map([kept(1, slice("a", { r: route("a") })), kept(1, slice("b", { r: route("b") }))]),
      },
      ["b/r b"],
      { a: "absent", b: "current" },
    ],
    [
      "at a first start neither of two in conflict is served",
      {
        sources: [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") }), slice("c", { r: route("c") })],
      },
      ["c/r c"],
      { a: "absent", b: "absent", c: "current" },
    ],
    [
      "the route in force stays, whatever the names of the files",
      {
        sources: [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") })],
        previous: new Map([kept(1, slice("b", { r: route("x") }))]),
      },
      ["b/r x"],
      { a: "absent", b: "current" },
    ],
    [
      "who wants the place of another is served as before",
      {
        sources: [boot(), slice("a", { r: route("a"), s: route("x") }), slice("b", { r: route("x") })],
        previous: new Map([kept(1, slice("b", { r: route("x") })), kept(2, slice("a", { r: route("a") }))]),
      },
      ["a/r a", "b/r x"],
      { a: "kept", b: "current" },
    ],
    [
      "what an owner has in force stays in force through a change beside it",
      {
        sources: [
          boot(),
          slice("a", { r: route("x") }),
          slice("b", { r: route("x", { timeout: "3s" }), s: route("s") }),
        ],
        previous: new Map([kept(1, slice("b", { r: route("x") })), kept(2, slice("a", { q: route("q") }))]),
      },
      ["a/q q", "b/r x", "b/s s"],
      { a: "kept", b: "current" },
    ],
    [
      "a place that is kept does not carry what is new at it",
      {
        sources: [
          boot(),
          slice("a", { r: route("x", { mcp: { server: { path: "/mcp" } } }) }),
          slice("b", { r: route("x", { prefix: "/mcp" }) }),
        ],
        previous: new Map([
          kept(1, slice("a", { r: route("x") })),
          kept(2, slice("b", { r: route("x", { prefix: "/mcp" }) })),
        ]),
      },
      ["a/r x", "b/r x"],
      { a: "kept", b: "current" },
    ],
    [
      "a route that is changed gives way to a setting that was there",
      {
        sources: [
          boot(),
          slice("a", { r: route("x", { set_request_headers: { "X-Who": "me" } }) }),
          slice("b", {}, { jwt_claims_headers: { "X-Who": "email" } }),
        ],
        previous: new Map([
          kept(1, slice("a", { r: route("x") })),
          kept(2, slice("b", {}, { jwt_claims_headers: { "X-Who": "email" } })),
        ]),
      },
      ["a/r x"],
      { a: "kept", b: "current" },
    ],
    [
      "two who want the same place at once are both served as before",
      {
        sources: [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") })],
        previous: new Map([kept(1, slice("b", { r: route("b") })), kept(1, slice("a", { r: route("a") }))]),
      },
      ["a/r a", "b/r b"],
      { a: "kept", b: "kept" },
    ],
    [
      "who is in force longer stays, also of two kept ones",
      {
        sources: [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") })],
        previous: new Map([kept(2, slice("a", { r: route("x") })), kept(1, slice("b", { r: route("x") }))]),
      },
      ["b/r x"],
      { a: "absent", b: "current" },
    ],
    [
      "a kept slice that is not in force has no precedence",
      {
        sources: [boot(), broken("a"), slice("b", { r: route("x") })],
        previous: new Map([kept(undefined, slice("a", { r: route("x") })), kept(9, slice("b", { r: route("x") }))]),
      },
      ["b/r x"],
      { a: "absent", b: "current" },
    ],
    [
      "who is in conflict with a slice that is bad itself is served",
      { sources: [boot(), slice("a", { r: route("x"), s: { from: "ftp://y" } }), slice("b", { r: route("x") })] },
      ["b/r x"],
      { a: "absent", b: "current" },
    ],
    [
      "who is in conflict with somebody who gives way is served",
      {
        sources: [
          boot(),
          slice("a", { r: route("x") }),
          slice("b", { r: route("x"), s: route("y") }),
          slice("c", { r: route("y") }),
        ],
        previous: new Map([kept(1, slice("a", { r: route("x") }))]),
      },
      ["a/r x", "c/r y"],
      { a: "current", b: "absent", c: "current" },
    ],
    [
      "settings in conflict give way like routes",
      {
        sources: [
          boot(),
          slice("a", { r: route("a") }, { cookie_name: "one" }),
          slice("b", { r: route("b") }, { cookie_name: "two" }),
          slice("c", { r: route("c") }),
        ],
        previous: new Map([kept(1, slice("b", { r: route("b") }, { cookie_name: "two" }))]),
      },
      ["b/r b", "c/r c"],
      { a: "absent", b: "current", c: "current" },
    ],
    [
      "a setting of one owner that forbids the route of another gives way to it",
      {
        sources: [
          boot(),
          slice("a", {}, { jwt_claims_headers: { "X-Email": "email" } }),
          slice("b", { r: route("b", { set_request_headers: { "x-email": "me" } }) }),
        ],
        previous: new Map([kept(1, slice("b", { r: route("b", { set_request_headers: { "x-email": "me" } }) }))]),
      },
      ["b/r b"],
      { a: "absent", b: "current" },
    ],
    [
      "a setting that the routes of others do not go with stays at a first start, for those who go with it",
      {
        sources: [
          boot(),
          slice("a", { r: route("a", { policy: [{ allow: { or: [{ authenticated_user: true }] } }] }) }),
          slice("b", { r: route("b", { allow_public_unauthenticated_access: true }) }),
          slice("p", {}, { idp_provider_url: "https://idp.example", idp_client_id: "x" }),
        ],
      },
      ["b/r b"],
      { a: "absent", b: "current", p: "current" },
    ],
    [
      "and gives way to routes that were there before",
      {
        sources: [
          boot(),
          slice("a", { r: route("a", { policy: [{ allow: { or: [{ authenticated_user: true }] } }] }) }),
          slice("p", {}, { idp_provider_url: "https://idp.example", idp_client_id: "x" }),
        ],
        previous: new Map([
          kept(1, slice("a", { r: route("a", { policy: [{ allow: { or: [{ authenticated_user: true }] } }] }) })),
        ]),
      },
      ["a/r a"],
      { a: "current", p: "absent" },
    ],
    [
      "the boot file's own routes and settings stay in every conflict",
      {
        sources: [
          boot({ routes: [route("x")], authenticate_service_url: "https://auth.example.com" }),
          slice("a", { r: route("x") }),
          slice("b", { r: route("auth") }),
          slice("c", { r: route("c") }),
        ],
        previous: new Map([kept(1, slice("a", { r: route("x") }))]),
      },
      ["c/r c", "default/x.example.com x"],
      { a: "absent", b: "absent", c: "current" },
    ],
    [
      "all files of an owner stand and fall together",
      {
        sources: [
          boot(),
          { file: "one.json", boot: false, text: JSON.stringify({ routes: [route("one2")] }) },
          { file: "two.json", boot: false, text: JSON.stringify({ routes: [{ from: "ftp://two" }] }) },
        ],
        previous: new Map([
          kept(
            1,
            { file: "one.json", boot: false, text: JSON.stringify({ routes: [route("one")] }) },
            { file: "two.json", boot: false, text: JSON.stringify({ routes: [route("two")] }) },
          ),
        ]),
      },
      ["default/one.example.com one", "default/two.example.com two"],
      { default: "kept" },
    ],
    [
      "a route that is new is not there for as long as another one of its slice",
      {
        sources: [boot(), slice("a", { r: route("a"), s: route("x") }), slice("b", { r: route("x") })],
        previous: new Map([kept(1, slice("a", { r: route("a") })), kept(2, slice("b", { r: route("x") }))]),
      },
      ["a/r a", "b/r x"],
      { a: "kept", b: "current" },
    ],
    [
      "what was in force and cannot be read any more keeps no place",
      {
        sources: [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") })],
        previous: new Map<string, PreviousSlice>([
          ["a", { owner: "a", since: 1, sources: [{ file: "a.json", text: "{" }] }],
          kept(2, slice("b", { r: route("x") })),
        ]),
      },
      ["b/r x"],
      { a: "absent", b: "current" },
    ],
    [
      "another file with an owner's name is not that owner's",
      {
        sources: [boot(), slice("a", { r: route("a") }), { ...slice("a", { s: route("s") }), file: "b.json" }],
        previous: new Map([kept(1, slice("a", { r: route("a") }))]),
      },
      ["a/r a"],
      { a: "current", unknown: "absent" },
    ],
    [
      "nor is it when the owner's file has changed, whatever the names of the files",
      {
        sources: [boot(), { ...slice("a", { s: route("s") }), file: "0.json" }, slice("a", { r: route("a2") })],
        previous: new Map([kept(1, slice("a", { r: route("a") }))]),
      },
      ["a/r a2"],
      { a: "current", unknown: "absent" },
    ],
    [
      "nor when the owner's file does not say any more whose it is",
      {
        sources: [
          boot(),
          { ...slice("a", { r: route("a2") }), text: JSON.stringify({ version: 1, owner: 7, routes: {} }) },
          { ...slice("a", { s: route("s") }), file: "b.json" },
        ],
        previous: new Map([kept(1, slice("a", { r: route("a") }))]),
      },
      ["a/r a"],
      { a: "kept", unknown: "absent" },
    ],
    [
      "a hand-written file beside those that were there is of the same owner",
      {
        sources: [
          boot(),
          { file: "one.json", boot: false, text: JSON.stringify({ routes: [route("one")] }) },
          { file: "two.json", boot: false, text: JSON.stringify({ routes: [route("two")] }) },
        ],
        previous: new Map([
          kept(1, { file: "one.json", boot: false, text: JSON.stringify({ routes: [route("one")] }) }),
        ]),
      },
      ["default/one.example.com one", "default/two.example.com two"],
      { default: "current" },
    ],
    ...[
      ["a", "b", "c"],
      ["m", "z", "n"],
    ].map(([first = "", second = "", third = ""]): [string, OwnersInput, readonly string[], object] => {
      const slices = [
        slice(first, { r: route("x") }),
        slice(second, { r: route("x"), s: route("y") }),
        slice(third, { r: route("y") }),
      ];
      return [
        `who gives way to the oldest is in nobody's way: ${first}, ${second}, ${third}`,
        { sources: [boot(), ...slices], previous: new Map(slices.map((each, index) => kept(index + 1, each))) },
        [`${first}/r x`, `${third}/r y`],
        { [first]: "current", [second]: "absent", [third]: "current" },
      ];
    }),
    [
      "tokens of a provider that nobody names concern the slice that takes them",
      { sources: [boot(), slice("a", { r: route("a", { bearer_token_format: "idp_access_token" }) }), slice("b", {})] },
      [],
      { a: "absent", b: "current" },
    ],
  ])("%s", (_, input, served, standing) => {
    const outcome = load(input);
    expect({ routes: hosts(outcome), standing: standings(outcome) }).toEqual({ routes: served, standing });
    for (const each of outcome.standings) expect(each.problems.length > 0).toBe(each.standing !== "current");
  });

  test("lists files of which nobody knows whose they are first, by name", () => {
    const { standings: all } = load({ sources: [boot(), broken("y"), slice("b", {}), broken("z"), broken("x")] });
    expect(all.map(({ files }) => files)).toEqual([["x.json"], ["y.json"], ["z.json"], ["b.json"]]);
  });

  test("names both of a conflict, with their places", () => {
    const sources = [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") })];
    expect(errors(load({ sources }))).toEqual([
      'a.json:1:50: error: "routes.r" is in conflict with "routes.r.from" in b.json, and neither was active before',
      'b.json:1:55: error: "routes.r.from" leads to the same requests as "routes.r" in a.json, must differ in host, "prefix", "path" or "regex"',
    ]);
  });

  test("says of a kept slice that it is one", () => {
    const sources = [boot({ owners: { a: { allowed_from: [] } } }), broken("a")];
    const [first, second] = errors(load({ sources, previous: new Map([kept(1, slice("a", { r: route("a") }))]) }));
    expect([first, second].join("\n")).toMatch(
      /^a\.json:1:.*\na\.json \(kept\):1:.*"routes\.r\.from" is .*may not serve/,
    );
  });

  test("has no configuration without a good boot file, whoever else is good", () => {
    const outcome = load({ sources: [boot({ adress: "x" }), slice("a", { r: route("a") }), broken("b")] });
    expect(outcome.config).toBeUndefined();
    expect(errors(outcome).map((line) => line.split(":")[0])).toEqual(["b.json", "gateway.json"]);
  });

  test("takes what could not be compiled as a mistake of its slice, and of no other text", () => {
    const sources = [boot(), slice("a", { r: route("a") }), slice("b", { r: route("b") })];
    const text = loadSlices(sources).config?.routes[0]?.text ?? "";
    const refusal = { key: "a/r", text, message: "Cannot read secret" };
    expect(standings(load({ sources, refusals: [refusal] }))).toEqual({ a: "absent", b: "current" });
    expect(standings(load({ sources, refusals: [{ ...refusal, text: "{}" }] }))).toEqual({
      a: "current",
      b: "current",
    });
    const last = new Map([kept(1, slice("a", { r: route("old") }))]);
    expect(hosts(load({ sources, refusals: [refusal], previous: last }))).toEqual(["a/r old", "b/r b"]);
  });

  describe("certificates of hosts", () => {
    const certificate = (): object => ({
      certificate: makeTestCertificate({ name: "x", dns: ["x.example.com"] }).cert,
      certificate_key_ref: "env:KEY",
    });
    const brings = (owner: string, entry?: object): SliceSource =>
      slice(
        owner,
        { r: { ...route("x"), prefix: `/${owner}` } },
        entry && { host_certificates: { "x.example.com": entry } },
      );
    const owners = { owners: { a: { allowed_refs: ["env:KEY"] }, b: { allowed_refs: ["env:KEY"] } } };

    test("a newcomer takes none from who had one, though both slices changed and the newcomer was there before", () => {
      const last = new Map([kept(1, brings("a")), kept(2, brings("b", certificate()))]);
      const outcome = load({
        sources: [boot(owners), brings("a", certificate()), brings("b", certificate())],
        previous: last,
      });

      expect(standings(outcome)).toEqual({ a: "kept", b: "current" });
      expect(outcome.config?.certificates.map(({ key }) => key)).toEqual(["b/x.example.com"]);
    });

    test("two at once get none", () => {
      const outcome = load({ sources: [boot(owners), brings("a", certificate()), brings("b", certificate())] });

      expect(standings(outcome)).toEqual({ a: "absent", b: "absent" });
    });

    test("one that could not be compiled is a mistake of its slice, and of no other text", () => {
      const [mine, theirs] = [certificate(), certificate()];
      const sources = [boot(owners), brings("a", mine), slice("b", { r: route("b") })];
      const text = loadSlices(sources).config?.certificates[0]?.text ?? "";
      const refusal = { key: "a/x.example.com", text, message: "the key is not the certificate's" };

      const outcome = load({ sources, refusals: [refusal], previous: new Map([kept(1, brings("a", theirs))]) });
      expect(standings(outcome)).toEqual({ a: "kept", b: "current" });
      expect(errors(outcome)[0]).toContain('"settings.host_certificates["x.example.com"]" the key is not');
      expect(standings(load({ sources, refusals: [{ ...refusal, text: "{}" }] }))).toEqual({
        a: "current",
        b: "current",
      });
    });

    test("are part of the digest, and settings of nobody", () => {
      const without = loadSlices([boot(owners), brings("a")]).config;
      const config = loadSlices([boot(owners), brings("a", certificate())]).config;

      expect(config?.digest).not.toBe(without?.digest);
      expect(config?.settings).toEqual(without?.settings);
    });
  });

  const OWNERS = ["a", "b", "c", "d", "e"] as const;
  /** Ways to be bad by oneself. */
  const spoil: readonly ((owner: string) => SliceSource)[] = [
    broken,
    (owner) => slice(owner, { r: { from: "ftp://nowhere" } }),
    (owner) => slice(owner, { r: route(owner) }, { cookie_expiration: "soon" }),
    (owner) => slice(owner, { r: route(owner) }, { address: ":1" }),
    (owner) => slice(owner, { r: route("a"), s: route("b"), t: { to: "nowhere" } }),
    (owner) => ({ ...slice(owner, { r: route(owner) }), text: `{"version":2,"owner":"${owner}","routes":{}}` }),
    (owner) =>
      slice(owner, { r: route(owner, { bearer_token_format: "idp_identity_token" }) }, { cookie_name: "mine" }),
  ];

  test("whoever is bad: the others get what they would get without them", () => {
    fc.assert(
      fc.property(
        fc.tuple(...OWNERS.map(() => fc.option(fc.nat(spoil.length - 1)))),
        fc.tuple(...OWNERS.map(() => fc.record({ host: fc.constantFrom("s", "t", "own"), cookie: fc.boolean() }))),
        (bad, written) => {
          const good = OWNERS.flatMap((owner, index) => {
            const { host = "own", cookie = false } = written[index] ?? {};
            const routes = { r: route(host === "own" ? owner : host) };
            const settings = cookie ? { cookie_name: `of-${host}` } : {};
            return (bad[index] ?? undefined) === undefined ? [slice(owner, routes, settings)] : [];
          });
          const spoilt = OWNERS.flatMap((owner, index) => spoil[bad[index] ?? -1]?.(owner) ?? []);
          const without = loadByOwner({ sources: [boot(), ...good] });
          const outcome = loadByOwner({ sources: [boot(), ...spoilt, ...good] });
          expect(outcome.config).toEqual(without.config);
          expect(outcome.config).toBeDefined();
        },
      ),
      { numRuns: 300 },
    );
  });

  test("any mix of current and previous slices: the result is valid, and only owners with mistakes are missing", () => {
    const anySlice = fc.record({ hosts: fc.uniqueArray(fc.constantFrom("x", "y", "z", "!"), { maxLength: 2 }) });
    fc.assert(
      fc.property(
        fc.tuple(...OWNERS.map(() => anySlice)),
        fc.tuple(...OWNERS.map(() => fc.record({ since: fc.option(fc.nat(3)), slice: anySlice }))),
        (now, before) => {
          const make = (owner: string, { hosts: names }: { hosts: string[] }): SliceSource =>
            slice(owner, Object.fromEntries(names.map((name) => [`r-${name === "!" ? "bad" : name}`, route(name)])));
          const current = OWNERS.map((owner, index) => make(owner, now[index] ?? { hosts: [] }));
          const last = OWNERS.map((owner, index) =>
            kept(before[index]?.since ?? undefined, make(owner, before[index]?.slice ?? { hosts: [] })),
          );
          const outcome = loadByOwner({ sources: [boot(), ...current], previous: new Map(last) });
          const inUse = outcome.standings.flatMap(({ sources }) => sources.map((each) => ({ ...each, boot: false })));
          expect(loadSlices([boot(), ...inUse]).config?.digest).toBe(outcome.config?.digest);
          for (const each of outcome.standings) expect(each.problems.length > 0).toBe(each.standing !== "current");
        },
      ),
      { numRuns: 300 },
    );
  });
});
