import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { compilePolicy, evaluate } from "../../../../runtime/policy/evaluate.ts";
import { explain } from "../../../../runtime/policy/explain.ts";
import type { McpFacts } from "../../../../runtime/policy/facts.ts";
import { readArguments } from "../../../../runtime/policy/mcp/argument-values.ts";
import { NumberToken } from "../../../../runtime/shared/canonical-json.ts";
import { canonicalPolicy, OPERATORS, parsePolicy, type CriterionDoc } from "../../../../runtime/policy/parse.ts";
import { validatePolicy } from "../../../../runtime/policy/validate-rules.ts";
import { foldCase } from "../../../../runtime/policy/mcp/fold-case.ts";
import { asAlice, toolCall } from "../../../support/facts.ts";

/** @param text arguments as JSON; undefined: the call gives none */
function call(tool: string, text: string | undefined): McpFacts {
  return { method: "tools/call", tool, arguments: readArguments(() => text) };
}

type Truth = "true" | "false" | "unknown" | "error";

function findOne(criterion: CriterionDoc, message: McpFacts): Truth {
  const policy = compilePolicy({ allow: { and: [criterion] } });
  return explain(policy, asAlice(message)).rules[0]?.outcome ?? "error";
}

const about = (match: object, tool: unknown = "deploy"): CriterionDoc => ({ mcp_tool_argument: { tool, ...match } });

describe("mcp_tool_argument", () => {
  test.each<readonly [match: object, args: string | undefined, found: Truth]>([
    // Texts
    [{ argument: "/env", is: "dev" }, '{"env":"dev"}', "true"],
    [{ argument: "/env", is: "dev" }, '{"env":"d\\u0065v"}', "true"],
    [{ argument: "/env", is: "dev" }, '{"env":"prod"}', "false"],
    [{ argument: "/env", is: "dev" }, '{"env":"Dev"}', "false"],
    [{ argument: "/env", is: "dev" }, '{"env":["dev"]}', "unknown"],
    [{ argument: "/env", is: "dev" }, '{"env":null}', "unknown"],
    [{ argument: "/env", is: "dev" }, '{"env":true}', "unknown"],
    [{ argument: "/env", is: "dev" }, "{}", "unknown"],
    [{ argument: "/env", is: "dev" }, undefined, "unknown"],
    [{ argument: "/env", not: "prod" }, '{"env":"dev"}', "true"],
    [{ argument: "/env", not: "prod" }, '{"env":"prod"}', "false"],
    [{ argument: "/env", not: "prod" }, '{"env":1}', "unknown"],
    [{ argument: "/env", not_in: ["prod", "stage"] }, '{"env":"stage"}', "false"],
    [{ argument: "/env", not_in: ["prod", "stage"] }, '{"env":"dev"}', "true"],
    [{ argument: "/path", starts_with: "/srv/" }, '{"path":"/srv/x"}', "true"],
    [{ argument: "/path", starts_with: "/srv/" }, '{"path":"/etc/x"}', "false"],
    [{ argument: "/path", starts_with: "/srv/" }, '{"path":{"0":"/srv/"}}', "unknown"],
    [{ argument: "/q", contains: "secret" }, '{"q":"a secret"}', "true"],
    [{ argument: "/q", ends_with: ".md", starts_with: "a" }, '{"q":"a.md"}', "true"],
    [{ argument: "/q", matches: "[a-z]+-[0-9]{1,3}" }, '{"q":"ab-12"}', "true"],
    [{ argument: "/q", matches: "[a-z]+" }, '{"q":"ab-12"}', "false"],
    [{ argument: "/q", matches: ".*" }, JSON.stringify({ q: "x".repeat(8192) }), "true"],
    [{ argument: "/q", matches: ".*" }, JSON.stringify({ q: "x".repeat(8193) }), "unknown"],
    [{ argument: "/q", matches: "DROP TABLE.*" }, '{"q":"DROP TABLE users;\\n"}', "unknown"],
    [{ argument: "/q", matches: ".*DROP TABLE.*" }, '{"q":"-- \\nDROP TABLE users"}', "unknown"],
    [{ argument: "/q", matches: ".*DROP TABLE.*" }, '{"q":"SELECT 1\\n"}', "false"],
    [{ argument: "/q", matches: "SELECT .*" }, '{"q":"SELECT 1;\\nDROP TABLE users"}', "unknown"],
    [{ argument: "/q", matches: "(?s)SELECT .*" }, '{"q":"SELECT 1\\n"}', "true"],
    [{ argument: "/q", matches: "SELECT[^;]*" }, '{"q":"SELECT\\n1"}', "true"],
    [{ argument: "/q", matches: "(?i).*\\bkill\\b.*" }, '{"q":"\u212aill 1"}', "unknown"],
    [{ argument: "/q", matches: "(?i)ask" }, '{"q":"a\u017fk"}', "unknown"],
    [{ argument: "/q", matches: "(?i)kill" }, '{"q":"k\u0131ll"}', "unknown"],
    [{ argument: "/q", matches: "(?i)drop .*" }, '{"q":"\uff24ROP x"}', "unknown"],
    [{ argument: "/q", matches: "(?i)drop .*" }, '{"q":"drop \u212a\u00c9"}', "true"],
    [{ argument: "/q", matches: "(?i)drop .*" }, '{"q":"\u8aad\u3080 \uff21"}', "false"],
    [{ argument: "/q", matches: "drop .*" }, '{"q":"\uff24rop x"}', "false"],
    // Numbers, exactly
    [{ argument: "/amount", lte: 500 }, '{"amount":500}', "true"],
    [{ argument: "/amount", lte: 500 }, '{"amount":500.0}', "true"],
    [{ argument: "/amount", lte: 500 }, '{"amount":5e2}', "true"],
    [{ argument: "/amount", lte: 500 }, '{"amount":500.0000000000000000001}', "false"],
    [{ argument: "/amount", lte: 500 }, '{"amount":1e400}', "false"],
    [{ argument: "/amount", gt: 0 }, '{"amount":1e9999999}', "unknown"],
    [{ argument: "/amount", lte: 500 }, '{"amount":"500"}', "unknown"],
    [{ argument: "/amount", lte: 500 }, '{"amount":true}', "unknown"],
    [{ argument: "/amount", lte: 500 }, '{"amount":null}', "unknown"],
    [{ argument: "/amount", gt: 0, lt: 1 }, '{"amount":0.5}', "true"],
    [{ argument: "/amount", gt: 0, lt: 1 }, '{"amount":1}', "false"],
    [{ argument: "/amount", gte: 1 }, '{"amount":1.0}', "true"],
    [{ argument: "/id", gte: "9007199254740993", lte: "9007199254740993" }, '{"id":9007199254740993}', "true"],
    [{ argument: "/id", gte: "9007199254740993", lte: "9007199254740993" }, '{"id":9007199254740992}', "false"],
    [{ argument: "/id", is: 7 }, '{"id":7.0}', "true"],
    [{ argument: "/id", is: 7 }, '{"id":"7"}', "unknown"],
    [{ argument: "/id", in: [7, "all"] }, '{"id":"all"}', "true"],
    [{ argument: "/id", in: [7, "all"] }, '{"id":8}', "false"],
    [{ argument: "/id", in: [7, "all"] }, '{"id":false}', "unknown"],
    // Flags
    [{ argument: "/force", is: true }, '{"force":true}', "true"],
    [{ argument: "/force", is: true }, '{"force":false}', "false"],
    [{ argument: "/force", is: true }, '{"force":1}', "unknown"],
    [{ argument: "/force", is: true }, '{"force":"true"}', "unknown"],
    // Presence
    [{ argument: "/force", exists: false }, "{}", "true"],
    [{ argument: "/force", exists: false }, '{"force":null}', "false"],
    [{ argument: "/force", exists: true }, '{"force":null}', "true"],
    [{ argument: "/force", exists: true }, "{}", "false"],
    [{ argument: "/force", exists: true, is: false }, "{}", "false"],
    [{ argument: "/force", exists: false }, undefined, "true"],
    // Lists
    [{ argument: "/ids", every: { in: [1, 2] } }, '{"ids":[1,2.0,1]}', "true"],
    [{ argument: "/ids", every: { in: [1, 2] } }, '{"ids":[1,3]}', "false"],
    [{ argument: "/ids", every: { in: [1, 2] } }, '{"ids":[1,"2"]}', "unknown"],
    [{ argument: "/ids", every: { in: [1, 2] } }, '{"ids":["x",3]}', "false"],
    [{ argument: "/ids", every: { in: [1, 2] } }, '{"ids":[]}', "unknown"],
    [{ argument: "/ids", every: { in: [1, 2] } }, '{"ids":1}', "unknown"],
    [{ argument: "/to", some: { ends_with: "@evil.example" } }, '{"to":["a@b.c","x@evil.example"]}', "true"],
    [{ argument: "/to", some: { ends_with: "@evil.example" } }, '{"to":["a@b.c"]}', "false"],
    [{ argument: "/to", some: { ends_with: "@evil.example" } }, '{"to":["a@b.c",1]}', "unknown"],
    [{ argument: "/to", some: { ends_with: "@evil.example" } }, '{"to":[]}', "false"],
    // Members
    [{ argument: "", only: ["env", "tag"] }, '{"env":1}', "true"],
    [{ argument: "", only: ["env", "tag"] }, '{"env":1,"environment":2}', "false"],
    [{ argument: "", only: ["env"] }, undefined, "true"],
    [{ argument: "/a", only: ["b"] }, '{"a":["b"]}', "unknown"],
    // Places
    [{ argument: "/a~1b/0/~0c", is: "x" }, '{"a/b":[{"~c":"x"}]}', "true"],
    [{ argument: "/a/01", is: "x" }, '{"a":["y","x"]}', "unknown"],
    [{ argument: "/a/-", is: "x" }, '{"a":["x"]}', "unknown"],
    [{ argument: "/a/length", exists: true }, '{"a":["x"]}', "false"],
    [{ argument: "/constructor/name", exists: true }, "{}", "false"],
    [{ argument: "/__proto__/x", is: "y" }, '{"__proto__":{"x":"y"}}', "true"],
    [{ argument: "/toString", exists: true }, '{"__proto__":{"toString":1}}', "false"],
    [{ argument: "/a/b", is: "x" }, '{"a":"x"}', "unknown"],
    [{ argument: "/", is: "x" }, '{"":"x"}', "true"],
    [{ argument: "/b/1/c", is: 5 }, '{"a":["]","}",{"b":"\\""}] , "b" : [ [1] , {"\\u0063" : 5.0 } ]}', "true"],
    // What some servers read otherwise: without regard to case, texts as JSON
    [{ argument: "/env", is: "dev" }, '{"env":"dev","ENV":"prod"}', "unknown"],
    [{ argument: "/env", is: "dev" }, '{"Env":"dev"}', "unknown"],
    [{ argument: "/env", exists: false }, '{"ENV":"prod"}', "unknown"],
    [{ argument: "/dry_run", exists: false }, '{"dryRun":false}', "unknown"],
    [{ argument: "/dryRun", exists: true }, '{"dry-run":false}', "unknown"],
    [{ argument: "/dryRun", is: true }, '{"dryRun":true,"dry_run":false}', "unknown"],
    [{ argument: "/task", not: "x" }, '{"task":"y","ta\u017fk":"x"}', "unknown"],
    [{ argument: "/a/env", is: "dev" }, '{"a":{"env":"dev"},"A":{"env":"prod"}}', "unknown"],
    [{ argument: "/a/b", exists: false }, '{"a":"{\\"b\\":1}"}', "unknown"],
    [{ argument: "/a/b", exists: false }, '{"a":[{"b":1}]}', "unknown"],
    [{ argument: "/a/b", exists: true }, '{"a":[{"b":1}]}', "unknown"],
    [{ argument: "/a/b", exists: false }, '{"a":["{\\"b\\":1}"]}', "unknown"],
    [{ argument: "/a/b", exists: false }, '{"a":[]}', "true"],
    [{ argument: "/a/0/b", exists: false }, '{"a":{"b":1}}', "unknown"],
    [{ argument: "/a/0/b", exists: true }, '{"a":{"b":1}}', "unknown"],
    [{ argument: "/a/0/b", exists: false }, '{"a":{}}', "true"],
    [{ argument: "/a/b", exists: false }, '{"a":null}', "true"],
    // What takes too long
    [{ argument: "/n", every: { gt: 0 } }, `{"n":[${"1,".repeat(9_000)}1]}`, "true"],
    [{ argument: "/n", every: { gt: 0 } }, `{"n":[${"1,".repeat(9_000)}9007199254740993]}`, "unknown"],
    [{ argument: "/n", gt: 0 }, `{"x":[${"1,".repeat(400_000)}9007199254740993],"n":1}`, "true"],
    [
      { argument: "/q", every: { matches: ".*" } },
      JSON.stringify({ q: ["x".repeat(5000), "y".repeat(5000)] }),
      "unknown",
    ],
  ])("%j of %s is %s", (match, args, found) => {
    expect(findOne(about(match), call("deploy", args))).toBe(found);
  });

  test("is false for other tools and other messages, whatever their arguments", () => {
    const criterion = about({ argument: "/env", is: "dev" }, { in: ["deploy", "plan"] });
    expect(findOne(criterion, call("plan", '{"env":"dev"}'))).toBe("true");
    expect(findOne(criterion, call("delete", '{"env":"dev"}'))).toBe("false");
    expect(findOne(criterion, call("Deploy", '{"env":"dev"}'))).toBe("false");
    expect(findOne(criterion, { method: "tools/list" })).toBe("false");
    expect(findOne(criterion, {})).toBe("false");
    // While tools are listed nobody knows what arguments will be.
    expect(findOne(criterion, toolCall("plan"))).toBe("unknown");
  });

  test("finds any number of any arguments as written", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })),
        fc.bigInt({ min: 10n ** 16n }),
        (rest, number) => {
          const args = JSON.stringify({ ...rest, at: [rest, { n: "N" }], last: rest }).replace(
            '{"n":"N"}',
            `{"n":${number}}`,
          );
          const found = readArguments(() => args).find(["at", "1", "n"], true);
          expect(found).toEqual(
            Object.keys(rest).some((key) => foldCase(key) === "at")
              ? expect.anything()
              : new NumberToken(String(number)),
          );
        },
      ),
      { numRuns: 50 },
    );
  });

  const cannotTell = call("deploy", "{}");
  test.each(OPERATORS)("undecidable comparisons permit nothing in %s, and state why", (operator) => {
    const criterion = about({ argument: "/env", is: "prod" });
    const allowing = evaluate(compilePolicy({ allow: { [operator]: [criterion] } }), asAlice(cannotTell));
    expect(allowing).toMatchObject({ allowed: false, denied: false, allowWhyFalse: ["mcp-tool-argument-unknown"] });
    const denying = compilePolicy({ allow: { and: [{ accept: true }] }, deny: { [operator]: [criterion] } });
    expect(evaluate(denying, asAlice(cannotTell))).toMatchObject({
      allowed: false,
      denied: false,
      denyWhyFalse: ["mcp-tool-argument-unknown"],
    });
  });

  test("a deny rule by a pattern also denies texts that differ only by a line break or a folding letter", () => {
    const rule = (matches: string): ReturnType<typeof compilePolicy> =>
      compilePolicy([
        { allow: { or: [{ authenticated_user: true }] } },
        { deny: { or: [{ mcp_tool_argument: { tool: "deploy", argument: "/q", matches } }] } },
      ]);
    const isAllowed = (policy: ReturnType<typeof compilePolicy>, q: string): boolean =>
      evaluate(policy, asAlice(call("deploy", JSON.stringify({ q })))).allowed;
    for (const q of ["DROP TABLE users;", "DROP TABLE users;\n", "DROP TABLE\nusers", "\n-- \nDROP TABLE x"])
      expect([q, isAllowed(rule(".*DROP TABLE.*"), q)]).toEqual([q, false]);
    for (const q of ["kill 1", "\u212aill 1", "k\u0131ll 1"])
      expect([q, isAllowed(rule("(?i).*\\bkill\\b.*"), q)]).toEqual([q, false]);
    expect(isAllowed(rule(".*DROP TABLE.*"), "SELECT 1\nFROM x")).toBe(true);
    // In other languages "$" is before a line break at the end, too.
    for (const pattern of [".*drop$", ".*drop", "(?s).*drop", "(?i)DROP$"])
      for (const q of ["drop", "drop\n", "drop\r\n", "drop\n\n", "drop\u2028"])
        expect([pattern, q, isAllowed(rule(pattern), q)]).toEqual([pattern, q, false]);
    expect(isAllowed(rule(".*drop$"), "drop\n it")).toBe(true);
    expect(isAllowed(rule(".*drop\n"), "drop\n\n")).toBe(true);
  });

  test("a deny rule also denies a letter in Unicode's other form", () => {
    const composed = "M\u00fcller";
    const apart = "Mu\u0308ller";
    const isAllowed = (rule: object, name: string): boolean => {
      const policy = compilePolicy([
        { allow: { or: [{ authenticated_user: true }] } },
        { deny: { or: [{ mcp_tool_argument: { tool: "deploy", argument: "/q", ...rule } }] } },
      ]);
      return evaluate(policy, asAlice(call("deploy", JSON.stringify({ q: name })))).allowed;
    };
    for (const written of [composed, apart])
      for (const rule of [
        { is: written },
        { in: ["x", written] },
        { contains: written },
        { starts_with: written },
        { ends_with: written },
        { matches: `.*${written}.*` },
      ])
        for (const name of [composed, apart]) expect([rule, name, isAllowed(rule, name)]).toEqual([rule, name, false]);
    for (const rule of [{ is: composed }, { contains: composed }]) {
      expect(isAllowed(rule, "M\u00fcnch")).toBe(true);
      expect(isAllowed(rule, "Miller")).toBe(true);
    }
    // Nothing in this operand could be written in another way.
    expect(isAllowed({ is: "prod" }, apart)).toBe(true);
  });

  test("a deny rule does not affect other tools", () => {
    const policy = compilePolicy({
      allow: { and: [{ domain: "example.com" }] },
      deny: { or: [about({ argument: "/env", is: "prod" })] },
    });
    expect(evaluate(policy, asAlice(call("list", "{}"))).allowed).toBe(true);
    expect(evaluate(policy, asAlice({ method: "tools/list" })).allowed).toBe(true);
    expect(evaluate(policy, asAlice(call("deploy", '{"env":"dev"}')))).toMatchObject({
      allowed: true,
      allowWhyTrue: ["domain-ok", "mcp-tool-ok"],
    });
    expect(evaluate(policy, asAlice(call("deploy", '{"env":"prod"}')))).toMatchObject({
      denied: true,
      denyWhyTrue: ["mcp-tool-argument-unauthorized"],
    });
  });

  test("the trace shows the value, truncated if long", () => {
    const policy = compilePolicy({ allow: { and: [about({ argument: "/n", lt: 5 })] } });
    const shown = (args: string): string | undefined =>
      explain(policy, asAlice(call("deploy", args))).rules[0]?.criteria[0]?.actual;
    expect(shown('{"n":4}')).toBe("4");
    expect(shown(JSON.stringify({ n: 9, x: 1 }))).toBe("9");
    expect(shown("{}")).toBe("");
    const text = compilePolicy({ allow: { and: [about({ argument: "/n", is: "a" })] } });
    const long = explain(text, asAlice(call("deploy", JSON.stringify({ n: "b".repeat(900) })))).rules[0]?.criteria[0];
    expect(long?.actual).toHaveLength(201);
  });

  test.each<readonly [data: unknown, problems: readonly string[]]>([
    ["deploy", ['is "deploy", must be an object with']],
    [{ argument: "/a", is: 1 }, ['has no "tool", must name the tools']],
    [{ tool: "t", is: 1 }, ['.argument|is empty, must be a JSON pointer such as "/repo"']],
    [{ tool: "t", argument: "repo", is: 1 }, ['.argument|is "repo", must be a JSON pointer']],
    [{ tool: "t", argument: "/a~2", is: 1 }, ["must be a JSON pointer"]],
    [{ tool: "t", argument: "/a" }, ["has no condition on the value, must have one of exists, is"]],
    [{ tool: "t", argument: "/a", exists: false, is: 1 }, [".exists|is false, but the value has conditions"]],
    [{ tool: "t", argument: "/a", exists: "yes" }, ['.exists|is "yes", must be true or false']],
    [{ tool: "t", argument: "/a", is: null }, [".is|is empty, must be a text, a number, true or false"]],
    [{ tool: "t", argument: "/a", is: 2 ** 53 }, [".is|", "which programs read differently"]],
    [{ tool: "t", argument: "/a", in: [] }, [".in|is an empty list"]],
    [{ tool: "t", argument: "/a", in: ["x", ["y"]] }, [".in[1]|is a list"]],
    [{ tool: "t", argument: "/a", lt: "five" }, ['.lt|is "five", must be a number']],
    [{ tool: "t", argument: "/a", gt: 1e300 }, [".gt|", "must be a number, or its decimal digits as text"]],
    [{ tool: "t", argument: "/a", starts_with: "" }, [".starts_with|is an empty text"]],
    [{ tool: "t", argument: "/a", matches: "(" }, [".matches|is not an RE2 pattern"]],
    [{ tool: "t", argument: "/a", matches: "(a{1000}){1000}" }, [".matches|"]],
    [{ tool: "t", argument: "/a", only: "x" }, ['.only|is "x", must be a list of member names']],
    [{ tool: "t", argument: "/a", every: {} }, [".every|is empty, must have at least one of"]],
    [{ tool: "t", argument: "/a", some: { exists: true } }, ['.some.exists|unknown member "exists"']],
    [{ tool: "t", argument: "/a", equals: 1 }, ['.equals|unknown member "equals"']],
    [{ tool: { starts_with: "" }, argument: "/a", is: 1 }, [".tool.starts_with|is empty and would match everything"]],
  ])("refuses %j and says where", (data, problems) => {
    const parsed = parsePolicy({ allow: { and: [{ mcp_tool_argument: data }] } });
    const said = parsed.ok ? "" : parsed.problems.map(({ path, message }) => `${path}|${message}`).join("\n");
    for (const problem of problems) expect(said).toContain(problem);
  });

  test("has one canonical form, which reads as itself", () => {
    const written = {
      in: ["b", 2, "a", 2],
      argument: "/a",
      tool: "t",
      every: { in: ["d", "c"], starts_with: "x" },
      exists: true,
    };
    const [rule] = canonicalPolicy({ allow: { and: [{ mcp_tool_argument: written }] } });
    expect(JSON.stringify(rule)).toBe(
      '{"allow":{"and":[{"mcp_tool_argument":{"tool":{"is":"t"},"argument":"/a","exists":true,"in":["a","b",2],' +
        '"every":{"in":["c","d"],"starts_with":"x"}}}]}}',
    );
    expect(canonicalPolicy(rule ?? {})).toEqual([rule]);
  });
});

describe("mcp_prompt, mcp_resource and mcp_method", () => {
  test.each<readonly [criterion: CriterionDoc, message: McpFacts, found: Truth]>([
    [{ mcp_prompt: "review" }, { method: "prompts/get", prompt: "review" }, "true"],
    [{ mcp_prompt: "review" }, { method: "completion/complete", prompt: "Review" }, "false"],
    [{ mcp_prompt: { not: "review" } }, { method: "prompts/list" }, "false"],
    [{ mcp_prompt: { not: "review" } }, {}, "false"],
    [
      { mcp_resource: { starts_with: "file:///srv/" } },
      { method: "resources/read", resource: "FILE:///srv/%61" },
      "true",
    ],
    [
      { mcp_resource: { starts_with: "file:///srv/" } },
      { method: "resources/read", resource: "file:///etc/x" },
      "false",
    ],
    [
      { mcp_resource: { starts_with: "file:///srv/" } },
      { method: "resources/read", resource: "file:///srv/../x" },
      "unknown",
    ],
    [{ mcp_resource: { not: "ui://a" } }, { method: "resources/read", resource: "ui://a/%2e%2e/a" }, "unknown"],
    [{ mcp_resource: { not: "ui://a" } }, { method: "resources/list" }, "false"],
    [{ mcp_method: { starts_with: "resources/" } }, { method: "resources/list" }, "true"],
    [{ mcp_method: { not_in: ["ping"] } }, {}, "false"],
  ])("%j of %j is %s", (criterion, message, found) => {
    expect(findOne(criterion, message)).toBe(found);
  });

  test("`not` with its opposite does not match everything: other messages remain", () => {
    const doc = { deny: { or: [{ mcp_method: "ping" }, { mcp_method: { not: "ping" } }] } };
    expect(validatePolicy(doc)).toEqual([]);
  });
});
