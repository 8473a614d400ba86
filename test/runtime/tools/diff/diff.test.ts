/** What `gateway diff` says, in test/golden/diff: for reviewers without a manual. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, describe, expect, test } from "vitest";

import { diffConfigurations } from "../../../../runtime/tools/diff/command.ts";
import { goldenPairs } from "../../../support/golden.ts";

const directory = mkdtempSync(join(tmpdir(), "gateway-diff-"));
afterAll(() => rmSync(directory, { recursive: true }));

function written(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

describe("diffConfigurations()", () => {
  test.each(goldenPairs("diff").map((pair) => [pair.name, pair] as const))(
    "reports for %s the expected changes",
    async (_, pair) => {
      const files = new Map(pair.sources.map(({ file, text }) => [file, written(file, text)]));
      const [users, records] = [files.get("users.yaml"), files.get("records.ndjson")];

      const { text, answer } = await diffConfigurations(files.get("gateway.yaml") ?? "", files.get("new.yaml") ?? "", {
        ...(users !== undefined && { users }),
        ...(records !== undefined && { records }),
      });

      expect(answer).toBe(pair.name === "nothing" ? "same" : "different");
      expect(`${text}\n`).toBe(pair.update(text));
    },
  );

  const route = (allow: string): string =>
    `routes: [{ name: a, from: "https://a.example.com", to: "http://a.internal", policy: [{ allow: { and: [${allow}] } }] }]`;

  test("compares published slices, which are not main configuration files", async () => {
    const slice = (domain: string): string =>
      JSON.stringify({
        version: 1,
        owner: "team",
        routes: { a: { from: "https://a.example.com", to: ["http://a.internal"], allowed_domains: [domain] } },
      });

    const { text, answer } = await diffConfigurations(
      written("old.json", slice("example.com")),
      written("new.json", slice("example.org")),
      {},
    );

    expect(answer).toBe("different");
    expect(text).toContain("team/a  https://a.example.com\n    any user at example.org gains everything");
  });

  test("reports which route takes requests from another one, or yields them, under the same rules", async () => {
    const side = (name: string, more: string): string => {
      const one = (key: string, rest: string): string =>
        `- { name: ${key}, ${rest}, policy: [{ allow: { and: [{ domain: { is: example.com } }] } }] }\n`;
      const all = one("a", 'from: "https://a.example.com", to: "http://a.internal"');
      return written(name, `routes:\n${all}${more === "" ? "" : one("b", more)}`);
    };
    const alone = side("alone.yaml", "");
    const both = side("both.yaml", 'from: "https://a.example.com", prefix: /admin, to: "http://evil.internal"');
    const wild = side("wild.yaml", 'from: "https://*.example.com", to: "http://evil.internal"');
    const gone = await diffConfigurations(both, alone, {});
    const come = await diffConfigurations(alone, both, {});
    expect([come.answer, gone.answer]).toEqual(["different", "different"]);
    expect(come.text).toMatch(
      /\/b\n    route: was not set, is "https:\/\/a.example.com\/admin → http:\/\/evil.internal"/,
    );
    expect(gone.text).toMatch(/\/b\n    route: was "https:\/\/a.example.com\/admin → .*", is not set/);
    expect((await diffConfigurations(wild, alone, {})).text).toContain('route: was "https://*.example.com →');
  });

  test("states its limits: group membership, the origin of requests, the purpose of a route", async () => {
    const provider = (more: string): string =>
      `idp_provider_url: https://idp.example\nidp_client_id: gateway\nidp_client_secret: secret\nruntime_flags: { mcp: true }\n${more}\n`;
    const boot = `shared_secret: ${Buffer.alloc(32).toString("base64")}\nstorage_url: "memory:"\ninsecure_server: true\n`;
    const { text } = await diffConfigurations(
      written("old.yaml", boot + provider("") + route("{ groups: staff }")),
      written(
        "new.yaml",
        `${boot}${provider("idp_groups_claim: roles\nxff_num_trusted_hops: 1\nmcp_allowed_origins: [https://x.example]")}${route("{ groups: staff }").replace("policy:", "allow_websockets: true, mcp: { server: {} }, policy:")}`,
      ),
      {},
    );

    for (const name of ["idp_groups_claim", "xff_num_trusted_hops", "mcp_allowed_origins", "allow_websockets"])
      expect(text).toContain(`the change of ${name}`);
    expect(text).toContain("becomes or stops being an MCP server");
    const moved = await diffConfigurations(
      written("old.yaml", route("{ groups: staff }")),
      written("new.yaml", route("{ groups: staff }").replace("a.example.com", "b.example.com")),
      {},
    );
    expect(moved.text).toContain("which was https://a.example.com and is https://b.example.com");
  });

  test("reports requests that a named host takes over from wildcards, and the reverse", async () => {
    const wild = `  - { name: wild, from: "https://*.example.com", to: "http://w.internal", allow_any_authenticated_user: true }\n`;
    const named = `  - { name: own, from: "https://a.example.com", prefix: /x, to: "http://a.internal", allowed_users: [a@example.com] }\n`;
    const [few, more] = [written("few.yaml", `routes:\n${wild}`), written("more.yaml", `routes:\n${wild}${named}`)];

    const taken = await diffConfigurations(few, more, {});
    expect(taken.text).toContain(
      "default/wild  https://a.example.com (now only at https://*.example.com)\n    any signed-in user loses everything",
    );
    const given = await diffConfigurations(more, few, {});
    expect(given.text).toContain(
      "default/wild  https://a.example.com (previously only at https://*.example.com)\n    any signed-in user gains everything",
    );
  });

  test("reports paths next to a narrower route, and a server below another one's address", async () => {
    const one = (allow: string): string =>
      `routes:\n  - { name: x, from: "https://a.example.com", path: /admin/x, to: "http://x.internal", allow_any_authenticated_user: true }\n  - { name: all, from: "https://a.example.com", to: "http://a.internal", policy: [{ ${allow} }] }\n`;
    const beside = await diffConfigurations(
      written("old.yaml", one("allow: { and: [{ authenticated_user: true }] }")),
      written("new.yaml", one("allow: { not: [{ http_path: { starts_with: /admin/ } }] }")),
      {},
    );
    expect(beside.text).toContain('any signed-in user loses requests for a path that begins with "/admin/"');

    const named = await diffConfigurations(
      written("old.yaml", one("allow: { and: [{ http_path: /none }] }")),
      written(
        "new.yaml",
        one("allow: { and: [{ http_path: { starts_with: /b/ } }] }, deny: { or: [{ http_path: /b/x }] }"),
      ),
      {},
    );
    expect(named.text).toContain('gains requests for a path that begins with "/b/"');

    const taken = `${one("allow: { and: [{ authenticated_user: true }] }")}  - { name: new, from: "https://a.example.com", regex: "^/admin/.*", to: "http://n.internal", allowed_users: [n@example.com] }\n`;
    const over = await diffConfigurations(
      written("old.yaml", one("allow: { and: [{ authenticated_user: true }] }")),
      written("new.yaml", taken),
      {},
    );
    expect(over.text).toContain("(was served by default/all)\n    any signed-in user loses everything");

    const server = (name: string, prefix: string): string =>
      `  - { name: ${name}, from: "https://m.example.com", prefix: ${prefix}, to: "http://m.internal", mcp: { server: {} }, allowed_domains: [example.com] }\n`;
    const boot = `shared_secret: ${Buffer.alloc(32).toString("base64")}\nstorage_url: "memory:"\ninsecure_server: true\nidp_provider_url: https://idp.example\nidp_client_id: gateway\nidp_client_secret: secret\nruntime_flags: { mcp: true }\nroutes:\n`;
    const below = await diffConfigurations(
      written("old.yaml", boot + server("root", "/")),
      written("new.yaml", boot + server("root", "/") + server("more", "/more")),
      {},
    );
    expect(below.text).toContain("default/more  https://m.example.com/more (new)\n    any user at example.com gains");
  });

  test("gives programs each change with a request that shows it", async () => {
    const { text } = await diffConfigurations(
      written("old.yaml", route("{ groups: staff }, { source_ip: 10.0.0.0/8 }")),
      written("new.yaml", route("{ groups: staff }")),
      { json: true },
    );

    expect(JSON.parse(text)).toMatchObject({
      changes: [
        {
          route: "default/a",
          direction: "gains",
          before: "some",
          after: "all",
          who: [{ kind: "group", name: 'group "staff"' }],
          what: [{ kind: "request" }],
          example: { user: { groups: ["staff"] }, http: { ip: "192.0.2.77" } },
        },
      ],
      people: 0,
    });
  });

  test.each([
    ["no users", "users: []\nother: 1", /"other"/],
    ["a user who is nobody", "users: [{ groups: [a] }]", /neither an id nor an email address/],
    ["groups that are no list", "users: [{ id: a, groups: a }]", /users\[0\]\.groups/],
    ["what is no YAML", "users: [", /users\.yaml/],
    ["a list without its name", "- id: a", /users/],
  ])("refuses %s", async (_, users, problem) => {
    const file = written("gateway.yaml", route("{ groups: staff }"));

    const { text, answer } = await diffConfigurations(file, file, { users: written("users.yaml", users) });

    expect(answer).toBe("problem");
    expect(text).toMatch(problem);
  });

  test("cannot compare an invalid or missing configuration", async () => {
    const good = written("gateway.yaml", route("{ groups: staff }"));
    const bad = await diffConfigurations(good, written("bad.yaml", route("{ grops: staff }")), {});
    const missing = await diffConfigurations(join(directory, "missing.yaml"), good, {});
    const unread = await diffConfigurations(good, good, { records: join(directory, "missing.ndjson") });

    expect([bad.answer, missing.answer, unread.answer]).toEqual(["problem", "problem", "problem"]);
    expect(bad.text).toContain("grops");
    expect(bad.text).not.toContain("warning");
  });
});
