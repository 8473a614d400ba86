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
  test("equals loadSlices() if there is no problem", () => {
    const sources = [boot(), slice("a", { r: route("a") }), slice("b", { r: route("b") })];
    const outcome = load({ sources });
    const { problems, config } = loadSlices(sources);
    expect(outcome).toMatchObject({ problems, config });
    expect(standings(outcome)).toEqual({ a: "current", b: "current" });
  });

  test.each<[string, OwnersInput, readonly string[], object]>([
    [
      "an invalid slice does not affect the others",
      { sources: [boot(), broken("a"), slice("b", { r: route("b") })] },
      ["b/r b"],
      { unknown: "absent", b: "current" },
    ],
    [
      "an invalid slice is replaced by the previous one of its file",
      {
        sources: [boot(), broken("a"), slice("b", { r: route("b2") })],
        previous: new Map([kept(1, slice("a", { r: route("a") })), kept(1, slice("b", { r: route("b") }))]),
      },
      ["a/r a", "b/r b2"],
      { a: "kept", b: "current" },
    ],
    [
      "an unreadable file is replaced by its previous version",
      {
        sources: [boot(), slice("b", { r: route("b") })],
        unread: [{ severity: "error", file: "a.json", path: [], message: "is not UTF-8 text" }],
        previous: new Map([kept(1, slice("a", { r: route("a") }))]),
      },
      ["a/r a", "b/r b"],
      { a: "kept", b: "current" },
    ],
    [
      "a removed slice is not replaced by its previous version",
      { sources: [boot()], previous: new Map([kept(1, slice("a", { r: route("a") }))]) },
      [],
      {},
    ],
    [
      "the previous slice is validated by the current main configuration file",
      {
        sources: [boot({ owners: { a: { allowed_from: ["other.example.com"] }, b: {} } }), broken("a"), slice("b", {})],
        previous: new Map([kept(1, slice("a", { r: route("a") }))]),
      },
      [],
      { a: "absent", b: "current" },
    ],
    [
      "an owner no longer named in the main configuration file is not served, although its slice is unchanged",
      {
        sources: [boot({ owners: { b: {} } }), slice("a", { r: route("a") }), slice("b", { r: route("b") })],
        previous: new Map([kept(1, slice("a", { r: route("a") })), kept(1, slice("b", { r: route("b") }))]),
      },
      ["b/r b"],
      { a: "absent", b: "current" },
    ],
    [
      "at a first start neither of two conflicting owners is served",
      {
        sources: [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") }), slice("c", { r: route("c") })],
      },
      ["c/r c"],
      { a: "absent", b: "absent", c: "current" },
    ],
    [
      "the active route stays, whatever the names of the files",
      {
        sources: [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") })],
        previous: new Map([kept(1, slice("b", { r: route("x") }))]),
      },
      ["b/r x"],
      { a: "absent", b: "current" },
    ],
    [
      "a new MCP server takes its address from no older conditional route, and from no other owner's new one",
      {
        sources: [
          boot({ runtime_flags: { mcp: true } }),
          slice("a", { r: route("x", { match_methods: ["GET"] }) }),
          slice("b", { r: route("x", { mcp: { server: {} } }) }),
          slice("c", { r: route("x", { match_methods: ["POST"] }) }),
        ],
        previous: new Map([kept(1, slice("a", { r: route("x", { match_methods: ["GET"] }) }))]),
      },
      ["a/r x", "c/r x"],
      { a: "current", b: "absent", c: "current" },
    ],
    [
      "an owner who wants another's address is served from the previous slice",
      {
        sources: [boot(), slice("a", { r: route("a"), s: route("x") }), slice("b", { r: route("x") })],
        previous: new Map([kept(1, slice("b", { r: route("x") })), kept(2, slice("a", { r: route("a") }))]),
      },
      ["a/r a", "b/r x"],
      { a: "kept", b: "current" },
    ],
    [
      "an owner's active parts stay active when other parts change",
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
      "an unchanged address does not give precedence to a new route there",
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
      "a changed route yields to an existing setting",
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
      "two owners who want the same address at the same time are both served from their previous slices",
      {
        sources: [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") })],
        previous: new Map([kept(1, slice("b", { r: route("b") })), kept(1, slice("a", { r: route("a") }))]),
      },
      ["a/r a", "b/r b"],
      { a: "kept", b: "kept" },
    ],
    [
      "the longer active slice wins, also between two previous ones",
      {
        sources: [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") })],
        previous: new Map([kept(2, slice("a", { r: route("x") })), kept(1, slice("b", { r: route("x") }))]),
      },
      ["b/r x"],
      { a: "absent", b: "current" },
    ],
    [
      "an inactive previous slice has no precedence",
      {
        sources: [boot(), broken("a"), slice("b", { r: route("x") })],
        previous: new Map([kept(undefined, slice("a", { r: route("x") })), kept(9, slice("b", { r: route("x") }))]),
      },
      ["b/r x"],
      { a: "absent", b: "current" },
    ],
    [
      "an owner in conflict with an invalid slice is served",
      { sources: [boot(), slice("a", { r: route("x"), s: { from: "ftp://y" } }), slice("b", { r: route("x") })] },
      ["b/r x"],
      { a: "absent", b: "current" },
    ],
    [
      "an owner in conflict with a yielding owner is served",
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
      "conflicting settings yield like routes",
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
      "one owner's setting that forbids another's route yields to it",
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
      "a setting that conflicts with others' routes stays at a first start, for owners without conflict",
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
      "and yields to older routes",
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
      "the main configuration file's own routes and settings win every conflict",
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
      "all files of an owner succeed or fail together",
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
      "a new route is inactive while another one of its slice is invalid",
      {
        sources: [boot(), slice("a", { r: route("a"), s: route("x") }), slice("b", { r: route("x") })],
        previous: new Map([kept(1, slice("a", { r: route("a") })), kept(2, slice("b", { r: route("x") }))]),
      },
      ["a/r a", "b/r x"],
      { a: "kept", b: "current" },
    ],
    [
      "an active slice that became unreadable keeps no precedence",
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
      "another file with an owner's name does not belong to that owner",
      {
        sources: [boot(), slice("a", { r: route("a") }), { ...slice("a", { s: route("s") }), file: "b.json" }],
        previous: new Map([kept(1, slice("a", { r: route("a") }))]),
      },
      ["a/r a"],
      { a: "current", unknown: "absent" },
    ],
    [
      "nor if the owner's file has changed, whatever the names of the files",
      {
        sources: [boot(), { ...slice("a", { s: route("s") }), file: "0.json" }, slice("a", { r: route("a2") })],
        previous: new Map([kept(1, slice("a", { r: route("a") }))]),
      },
      ["a/r a2"],
      { a: "current", unknown: "absent" },
    ],
    [
      "nor if the owner's file no longer names its owner",
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
      "an additional hand-written file belongs to the same owner",
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
      "tokens of a provider that is not configured are a problem of the slice that accepts them",
      { sources: [boot(), slice("a", { r: route("a", { bearer_token_format: "idp_access_token" }) }), slice("b", {})] },
      [],
      { a: "absent", b: "current" },
    ],
  ])("%s", (_, input, served, standing) => {
    const outcome = load(input);
    expect({ routes: hosts(outcome), standing: standings(outcome) }).toEqual({ routes: served, standing });
    for (const each of outcome.standings) expect(each.problems.length > 0).toBe(each.standing !== "current");
  });

  test("lists files without a known owner first, by name", () => {
    const { standings: all } = load({ sources: [boot(), broken("y"), slice("b", {}), broken("z"), broken("x")] });
    expect(all.map(({ files }) => files)).toEqual([["x.json"], ["y.json"], ["z.json"], ["b.json"]]);
  });

  test("names both sides of a conflict, with their locations", () => {
    const sources = [boot(), slice("a", { r: route("x") }), slice("b", { r: route("x") })];
    expect(errors(load({ sources }))).toEqual([
      'a.json:1:50: error: "routes.r" is in conflict with "routes.r.from" in b.json, and neither was active before',
      'b.json:1:55: error: "routes.r.from" leads to the same requests as "routes.r" in a.json, must differ in host, "prefix", "path" or "regex"',
    ]);
  });

  test("marks a previous slice in messages", () => {
    const sources = [boot({ owners: { a: { allowed_from: [] } } }), broken("a")];
    const [first, second] = errors(load({ sources, previous: new Map([kept(1, slice("a", { r: route("a") }))]) }));
    expect([first, second].join("\n")).toMatch(
      /^a\.json:1:.*\na\.json \(kept\):1:.*"routes\.r\.from" is .*may not serve/,
    );
  });

  test("has no configuration without a valid main configuration file", () => {
    const outcome = load({ sources: [boot({ adress: "x" }), slice("a", { r: route("a") }), broken("b")] });
    expect(outcome.config).toBeUndefined();
    expect(errors(outcome).map((line) => line.split(":")[0])).toEqual(["b.json", "gateway.json"]);
  });

  test("treats a compilation failure as a mistake of its slice, and of no other text", () => {
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

    test("a new owner takes none from an existing one, although both slices changed and the new one was there before", () => {
      const last = new Map([kept(1, brings("a")), kept(2, brings("b", certificate()))]);
      const outcome = load({
        sources: [boot(owners), brings("a", certificate()), brings("b", certificate())],
        previous: last,
      });

      expect(standings(outcome)).toEqual({ a: "kept", b: "current" });
      expect(outcome.config?.certificates.map(({ key }) => key)).toEqual(["b/x.example.com"]);
    });

    test("two new ones for one host: neither is active", () => {
      const outcome = load({ sources: [boot(owners), brings("a", certificate()), brings("b", certificate())] });

      expect(standings(outcome)).toEqual({ a: "absent", b: "absent" });
    });

    test("a compilation failure is a mistake of its slice, and of no other text", () => {
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

    test("are part of the digest, and not of any settings", () => {
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

  test("any invalid slices: the other owners get the same as without them", () => {
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
