/** What stands in records of a tool's arguments, by what is declared: in the log, in copies, and in `replay`. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { DeclaredArguments } from "../../../../runtime/audit/redaction/plan.ts";
import { createRedactor } from "../../../../runtime/audit/redaction/redactor.ts";
import { createReplayWriter } from "../../../../runtime/audit/replay/write-facts.ts";
import { readArguments } from "../../../../runtime/policy/mcp/argument-values.ts";
import { alice, plainHttp } from "../../../support/facts.ts";

const KEY = Buffer.alloc(32, 1);
const redactor = createRedactor({ key: KEY });

interface Changed {
  readonly key: string;
  readonly digest: readonly string[];
  readonly omit: readonly string[];
}

interface Told {
  readonly "mcp-tool-parameters"?: unknown;
  readonly "mcp-tool-parameters-redacted"?: Changed;
  readonly "mcp-tool-parameters-omitted"?: number;
}

/** What the log tells, as `record.ts` has it. */
function logged(declared: DeclaredArguments | undefined, text: string, tool = "deploy", of = redactor): Told {
  const members = of.lineMembers(declared, tool, text);
  expect(members ?? "").not.toMatch(/[\n\r\u2028\u202e]/);
  return JSON.parse(`{${members?.slice(1) ?? `"mcp-tool-parameters":${text}`}}`) as Told;
}

/** What a copy tells of a line of the log that has the arguments so. */
function copied(declared: DeclaredArguments | undefined, text: string, tool = "deploy", of = redactor): Told {
  of.setRoutes(new Map(declared ? [["team/tools", declared]] : []));
  const line = `{"route":"team/tools","mcp-tool":${JSON.stringify(tool)}${of.lineMembers(declared, tool, text) ?? `,"mcp-tool-parameters":${text}`}}`;
  const { route, "mcp-tool": _, ...told } = of.copyFields(JSON.parse(line) as Record<string, unknown>, line);
  expect(route).toBe("team/tools");
  return told;
}

function replayed(declared: DeclaredArguments | undefined, text: string, key: Uint8Array | undefined = KEY): unknown {
  const writer = createReplayWriter({ key, asksForCertificates: false });
  const mcp = { method: "tools/call", tool: "deploy", arguments: readArguments(() => text) };
  const facts = { user: alice, http: plainHttp, mcp };
  const written = writer.write({ facts, certificate: undefined, toolArguments: () => text, declared });
  return (JSON.parse(written) as { mcp: { arguments?: unknown } }).mcp.arguments;
}

const DIGEST = { text: /^t[\w-]{16}$/, number: /^n[\w-]{16}$/, object: /^o[\w-]{16}$/ };
const like = (pattern: RegExp): unknown => expect.stringMatching(pattern);
const ARGS = `{"repo":"a/b","env":{"region":"eu","token":"hunter2"},"amount":9007199254740993,"Token":"hunter3"}`;

describe("in the log", () => {
  test("nothing changes without declarations, or with plain ones only", () => {
    expect(redactor.lineMembers(undefined, "deploy", ARGS)).toBeUndefined();
    expect(redactor.lineMembers({ plain: { "*": [""] } }, "deploy", ARGS)).toBeUndefined();
    expect(redactor.lineMembers({ omit: { other: [""] } }, "deploy", ARGS)).toBeUndefined();
    expect(redactor.lineMembers({ omit: { "*": ["/nothing"] } }, "deploy", ARGS)).toBeUndefined();
  });

  test("a digest replaces a value, omitted values are gone, and the rest is unchanged", () => {
    const members = redactor.lineMembers({ digest: { deploy: ["/env"] }, omit: { "*": ["/token"] } }, "deploy", ARGS);
    expect(members).toContain(`"repo":"a/b"`);
    expect(members).toContain(`"amount":9007199254740993`);
    expect(logged({ digest: { deploy: ["/env"] }, omit: { "*": ["/token"] } }, ARGS)).toEqual({
      "mcp-tool-parameters": { repo: "a/b", env: like(DIGEST.object), amount: expect.any(Number) as number },
      // The spelling of the call is nowhere.
      "mcp-tool-parameters-redacted": { key: like(/^[\w-]{8}$/), digest: ["/env"], omit: ["/token"] },
    });
  });

  test("a digest of all arguments is one digest per argument with its name; names inside are shown only if declared", () => {
    const declared = { digest: { "*": ["", "/env/secret"] }, plain: { deploy: ["/env/region"] } };
    const told = logged(declared, `{"env":{"region":"eu","token":"hunter2"},"a b":1}`);
    const args = told["mcp-tool-parameters"] as Record<string, Record<string, unknown>>;
    expect(args["env"]?.["region"]).toBe("eu");
    expect(Object.keys(args["env"] ?? {})).toEqual(["region", like(/^#/)]);
    expect(Object.keys(args)).toEqual(["env", like(/^#/)]);
    expect(JSON.stringify(told)).not.toMatch(/hunter2|token|a b/);
  });

  test("elements of lists keep their places", () => {
    expect(logged({ omit: { "*": ["/list/1"] } }, `{"list":["a","b","c"]}`)["mcp-tool-parameters"]).toEqual({
      list: ["a", null, "c"],
    });
  });

  test("what cannot be read is only measured", () => {
    for (const bad of [`{"a":`, `["a"]`, `"a"`, `null`]) {
      const members = redactor.lineMembers({ omit: { "*": ["/a"] } }, "deploy", bad);
      expect(members).toBe(`,"mcp-tool-parameters-omitted":${bad.length}`);
    }
  });

  test("too many values get one digest together, or nothing if some are to be omitted", () => {
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`a${index}`, "secret"])));
    expect(logged({ digest: { "*": [""] } }, many)).toMatchObject({
      "mcp-tool-parameters": like(DIGEST.object),
      "mcp-tool-parameters-redacted": { digest: [""], omit: [] },
    });
    expect(copied({ digest: { "*": [""] } }, many)["mcp-tool-parameters"]).toEqual(like(DIGEST.object));
    expect(logged({ digest: { "*": [""] }, omit: { "*": ["/a1"] } }, many)).toMatchObject({
      "mcp-tool-parameters": {},
      "mcp-tool-parameters-redacted": { digest: [], omit: [""] },
    });
  });
});

/** What is declared, and what becomes of `/env/region` of a call of `deploy`. */
const PRECEDENCE: readonly (readonly [string, DeclaredArguments, "plain" | "digest" | "omit"])[] = [
  ["the longest pointer", { omit: { "*": ["/env"] }, plain: { "*": ["/env/region"] } }, "plain"],
  ["the longest pointer, stricter", { plain: { "*": [""] }, omit: { "*": ["/env/region"] } }, "omit"],
  ["the tool's own of two", { omit: { "*": ["/env"] }, plain: { deploy: ["/env"] } }, "plain"],
  ["a tool's own shorter one over an opener of *", { omit: { deploy: [""] }, plain: { "*": ["/env"] } }, "omit"],
  ["a stricter one of * below the tool's own", { plain: { deploy: [""] }, omit: { "*": ["/env"] } }, "omit"],
  ["the tool's own below one of *", { omit: { "*": ["/env"] }, digest: { deploy: ["/env/region"] } }, "digest"],
  ["another tool's", { omit: { Deploy2: ["/env"] } }, "plain"],
  ["another spelling of the tool, stricter", { omit: { DEPLOY: ["/env"] } }, "omit"],
  ["another spelling of the tool, more open", { omit: { "*": [""] }, plain: { DEPLOY: ["/env"] } }, "omit"],
  ["another spelling of a name, stricter", { omit: { "*": ["/ENV/Region"] } }, "omit"],
  ["another spelling, more open", { omit: { "*": ["/env"] }, plain: { "*": ["/env/Region"] } }, "omit"],
  ["another spelling, less strict", { omit: { "*": ["/env"] }, digest: { "*": ["/env/Region"] } }, "omit"],
  ["both spellings", { omit: { "*": ["/env/REGION"] }, digest: { "*": ["/env/region"] } }, "digest"],
];

test.each(PRECEDENCE)("%s counts", (_, declared, expected) => {
  const told = logged(declared, `{"env":{"region":"eu","zone":1}}`)["mcp-tool-parameters"] as {
    readonly env?: { readonly region?: unknown };
  };
  const region = told.env?.region;
  const found = region === undefined ? "omit" : region === "eu" ? "plain" : "digest";
  expect(found).toBe(expected);
});

describe("in another form than the declared one, as servers accept it", () => {
  const SECRET = "hunter2";
  const FORMS: readonly (readonly [string, string])[] = [
    ["the JSON text of the object", JSON.stringify(JSON.stringify({ token: SECRET }))],
    ["that text written twice", JSON.stringify(JSON.stringify(JSON.stringify({ token: SECRET })))],
    ["a list of objects", JSON.stringify([{ region: "eu" }, { token: SECRET }])],
    ["lists in lists", JSON.stringify([[[{ Token: SECRET }]]])],
    ["a list of JSON texts", JSON.stringify([JSON.stringify({ token: SECRET })])],
    ["YAML", JSON.stringify(`token: ${SECRET}`)],
    ["a form", JSON.stringify(`token=${SECRET}&region=eu`)],
  ];

  test.each(FORMS)("%s redacts what the declared form does", (_, env) => {
    const text = `{"env":${env},"repo":"a/b"}`;
    const digest = { digest: { "*": ["/env/token"] }, plain: { deploy: ["/repo"] } };
    const omit = { omit: { "*": ["/env/token"] }, plain: { deploy: ["/repo"] } };
    for (const declared of [digest, omit]) {
      const all = [logged(declared, text), copied(declared, text), replayed(declared, text)];
      expect(JSON.stringify(all)).not.toContain(SECRET);
      expect(all.slice(0, 2)).toMatchObject([1, 2].map(() => ({ "mcp-tool-parameters": { repo: "a/b" } })));
    }
    for (const told of [logged(omit, text), copied(omit, text)])
      expect(told["mcp-tool-parameters-redacted"]?.omit).toEqual(["/env/token"]);
    expect(JSON.stringify(replayed(omit, text))).toMatch(/"x"/);
  });

  test.each([
    ["a dot between names", `{"user.password":"${SECRET}"}`],
    ["brackets", `{"user[password]":"${SECRET}"}`],
    ["a colon, as .NET joins names", `{"User:Password":"${SECRET}"}`],
    ["a slash", `{"/user/password":"${SECRET}"}`],
    ["a JSON path", `{"$.user['password']":"${SECRET}"}`],
    ["a blank before a name", `{"user":{" password":"${SECRET}"}}`],
    ["one word", `{"userPassword":"${SECRET}","x":1}`],
    ["an underscore", `{"user":{"pass_word":"${SECRET}"}}`],
    ["a hyphen, elsewhere", `{"USER":{"Pass-Word":"${SECRET}"}}`],
    ["members called like elements", `{"user":{"0":{"password":"${SECRET}"},"1":{"2":{"password":"${SECRET}"}}}}`],
    ["camel case of another name", `{"user":{"apiKey":"${SECRET}"}}`],
    ["a hyphen of it", `{"user":{"API-key":"${SECRET}"}}`],
    ["its first names joined", `{"user.api":{"key":"${SECRET}"},"deep.down":{"there.it-is":"${SECRET}"}}`],
  ])("another form of names is redacted: %s", (_, text) => {
    const pointers = ["/user/password", "/user/api_key", "/user/api/key", "/deep/down/there/it_is"];
    for (const declared of [{ omit: { "*": pointers } }, { digest: { "*": pointers } }] as const) {
      const all = [logged(declared, text), copied(declared, text), replayed(declared, text)];
      expect(JSON.stringify(all)).not.toContain(SECRET);
    }
  });

  test("another form of names exposes nothing, and other names are unchanged", () => {
    const declared: DeclaredArguments = { omit: { "*": ["/user/password"] }, plain: { "*": ["/user/password/hint"] } };
    const text = `{"user.password":{"hint":"${SECRET}"},"user":{"passwords":1,"pass":2,"word":3},"password":4}`;
    expect(logged(declared, text)["mcp-tool-parameters"]).toEqual({
      "user.password": {},
      user: { passwords: 1, pass: 2, word: 3 },
      password: 4,
    });
    // What is declared by its own name is not taken for a part of another one.
    const both: DeclaredArguments = { omit: { "*": ["/user/id"] }, plain: { "*": ["/user_id", "/user/Id"] } };
    expect(logged(both, `{"user_id":1,"user":{"id":2,"Id":3,"ID":4}}`)["mcp-tool-parameters"]).toEqual({
      user_id: 1,
      user: { Id: 3 },
    });
  });

  test("names without text, and names that repeat, cost no more than their pointers", () => {
    const declared = { omit: { "*": [`${"/a/".repeat(30)}/b`, "/a".repeat(60), "/-/_/."] } };
    let text = `"${SECRET}"`;
    for (let depth = 0; depth < 60; depth += 1) text = `{"a":${text},"aa":1,"":${depth}}`;
    expect(JSON.stringify(logged(declared, text))).not.toContain(SECRET);
  });

  test("the only element of a list may come without it", () => {
    const declared: DeclaredArguments = { omit: { "*": ["/list/0/token"], deploy: ["/ids/0"] } };
    const text = `{"list":{"token":"${SECRET}","a":1},"ids":"${SECRET}"}`;
    expect(logged(declared, text)["mcp-tool-parameters"]).toEqual({ list: { a: 1 } });
    expect(JSON.stringify([copied(declared, text), replayed(declared, text)])).not.toContain(SECRET);
  });

  test("opens nothing, and hides no more than what leads there", () => {
    const declared: DeclaredArguments = { digest: { "*": ["/env"] }, plain: { "*": ["/env/region", "/free"] } };
    const text = `{"env":[{"region":"eu"}],"free":"{\\"token\\":1}"}`;
    const told = logged(declared, text)["mcp-tool-parameters"];
    expect(told).toMatchObject({ free: `{"token":1}` });
    expect(JSON.stringify(told)).not.toContain('"eu"');
    expect(logged({ omit: { "*": ["/env/token"] } }, `{"env":[{"region":"eu"},7]}`)["mcp-tool-parameters"]).toEqual({
      env: [{ region: "eu" }, 7],
    });
  });

  test("of lists in lists costs no more than its pointers", () => {
    const depth = 40;
    const declared = {
      omit: {
        "*": [
          `/list${"/0".repeat(depth)}/token`,
          ...Array.from({ length: 40 }, (_, at) => `/list${"/0".repeat(at + 1)}/a${at}`),
        ],
      },
    };
    const list = `${"[".repeat(depth)}{"token":"${SECRET}"}${"]".repeat(depth)}`;
    expect(JSON.stringify(logged(declared, `{"list":${list}}`))).not.toContain(SECRET);
  });
});

describe("in copies", () => {
  test("arguments are digests where nothing is declared; names of arguments stay", () => {
    expect(copied(undefined, ARGS)).toEqual({
      "mcp-tool-parameters": {
        repo: like(DIGEST.text),
        env: like(DIGEST.object),
        amount: like(DIGEST.number),
        Token: like(DIGEST.text),
      },
      "mcp-tool-parameters-redacted": {
        key: like(/^[\w-]{8}$/),
        digest: ["/repo", "/env", "/amount", "/Token"],
        omit: [],
      },
    });
  });

  test("declarations apply, and a digest of the log stays the same", () => {
    const declared = { plain: { deploy: ["/repo"] }, digest: { deploy: ["/amount"] }, omit: { "*": ["/token"] } };
    const copy = copied(declared, ARGS);
    const line = logged(declared, ARGS)["mcp-tool-parameters"] as Record<string, unknown>;
    expect(copy["mcp-tool-parameters"]).toEqual({ repo: "a/b", env: like(DIGEST.object), amount: line["amount"] });
    expect(copy["mcp-tool-parameters-redacted"]).toMatchObject({ digest: ["/env", "/amount"], omit: ["/token"] });
  });

  test("all can be declared plain", () => {
    expect(copied({ plain: { "*": [""] } }, `{"a":[1,{"b":null}]}`)).toEqual({
      "mcp-tool-parameters": { a: [1, { b: null }] },
    });
  });

  test("fields without arguments are as they were", () => {
    const fields = { route: "team/tools", "mcp-method": "tools/list" };
    expect(redactor.copyFields(fields, JSON.stringify(fields))).toBe(fields);
  });

  test("the arguments of a line that could not be read are only measured", () => {
    expect(copied(undefined, `"{broken"`)).toEqual({ "mcp-tool-parameters-omitted": 9 });
  });
});

describe("digests", () => {
  const digestOf = (value: string): unknown =>
    (copied(undefined, `{"a":${value}}`)["mcp-tool-parameters"] as { a: unknown }).a;

  test.each([
    ["1", "1.0"],
    ["100", "1e2"],
    ["0", "-0"],
    [`{"a":1,"b":[2.50]}`, `{"b":[2.5],"a":1}`],
    [`"\\u0041"`, `"A"`],
  ])("%s and %s have one", (one, other) => expect(digestOf(one)).toBe(digestOf(other)));

  test.each([
    ["1", `"1"`],
    ["true", `"true"`],
    ["9007199254740992", "9007199254740993"],
    [`{"a":9007199254740992}`, `{"a":9007199254740993}`],
    ["1e9999999", "1e99999999"],
    ["[1,[2]]", "[[1],2]"],
    [`["a,b"]`, `["a","b"]`],
    [`"\\ud800"`, `"\\ufffd"`],
    [`["\\ud800"]`, `["\\ufffd"]`],
    [`[1]`, `{"0":1}`],
    ["null", `"null"`],
  ])("%s and %s have two", (one, other) => expect(digestOf(one)).not.toBe(digestOf(other)));

  test("are others under another key, which the record tells apart", () => {
    const other = createRedactor({ key: Buffer.alloc(32, 2) });
    const one = copied(undefined, `{"a":"x"}`);
    const two = copied(undefined, `{"a":"x"}`, "deploy", other);
    expect(one["mcp-tool-parameters"]).not.toEqual(two["mcp-tool-parameters"]);
    expect(one["mcp-tool-parameters-redacted"]?.key).not.toBe(two["mcp-tool-parameters-redacted"]?.key);
  });

  test("of texts, numbers and flags equal those of `replay`", () => {
    const args = `{"a":"x","b":1.50,"c":true}`;
    expect(replayed(undefined, args)).toEqual(copied(undefined, args)["mcp-tool-parameters"]);
  });
});

describe("in `replay`", () => {
  test("declarations apply: plain text, hidden with the names inside, or omitted", () => {
    const declared = { plain: { "*": ["/repo"] }, digest: { "*": ["/env"] }, omit: { "*": ["/token"] } };
    const tree = replayed(declared, ARGS) as Record<string, unknown>;
    expect(tree).toMatchObject({ repo: "=a/b", amount: like(DIGEST.number), Token: "x" });
    expect(Object.keys(tree["env"] as object)).toEqual([like(/^#/), like(/^#/)]);
    expect(replayed({ omit: { deploy: [""] } }, ARGS)).toBeUndefined();
  });

  test("without a key names that are to be hidden leave nothing", () => {
    expect(replayed({ digest: { "*": ["/env"] } }, ARGS, undefined)).toBeDefined();
  });
});

/** Texts that nothing else in a record has. */
const SECRETS = fc.array(
  fc.stringMatching(/^[a-z]{6,12}$/).map((text) => `sEcReT${text}`),
  { minLength: 1, maxLength: 6 },
);
const POINTERS = fc.constantFrom("", "/a", "/a/b", "/a/0", "/B", "/a/b/c", "/a~1b", "/x y");
const declarations = fc.record(
  {
    plain: fc.dictionary(fc.constantFrom("*", "deploy"), fc.array(POINTERS, { maxLength: 2 })),
    digest: fc.dictionary(fc.constantFrom("*", "deploy"), fc.array(POINTERS, { maxLength: 2 })),
    omit: fc.dictionary(fc.constantFrom("*", "deploy"), fc.array(POINTERS, { maxLength: 2 })),
  },
  { requiredKeys: [] },
);
const NAMES = fc.constantFrom("a", "A", "b", "B\0tail", "c", "a/b", "x y", "__proto__", "\u202ea", "toString");

describe("over random declarations and calls", () => {
  const values = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom("sEcReTone", "sEcReT\u202e\n", 815_000_001, true, null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(NAMES, tie("value"), { maxKeys: 4 }),
    ),
  })).value;

  test("a value redacted as a whole appears nowhere: not in the log, in copies or in `replay`", () => {
    const whole = fc.constantFrom<DeclaredArguments>(
      { digest: { "*": [""] } },
      { omit: { "*": [""] } },
      { digest: { deploy: [""] }, plain: { "*": ["/a"] } },
      { omit: { deploy: [""] }, plain: { "*": ["/a", "/a/b"] }, digest: { "*": ["/x y"] } },
    );
    fc.assert(
      fc.property(whole, fc.dictionary(NAMES, values, { maxKeys: 4 }), (declared, args) => {
        const text = JSON.stringify(args);
        const all = [logged(declared, text), copied(declared, text), replayed(declared, text) ?? null];
        expect(all.map((each) => JSON.stringify(each)).join()).not.toMatch(/sEcReT|815000001|tail/i);
      }),
      { numRuns: 300 },
    );
  });

  test("copies tell no more than the log does, and their pointers lead to digests", () => {
    fc.assert(
      fc.property(declarations, fc.dictionary(NAMES, values, { maxKeys: 4 }), (declared, args) => {
        const text = JSON.stringify(args);
        for (const told of [logged(declared, text), copied(declared, text)]) {
          for (const pointer of told["mcp-tool-parameters-redacted"]?.digest ?? [])
            expect(at(told["mcp-tool-parameters"], pointer)).toMatch(/^[tnbzlo][\w-]{16}$/);
        }
        const clear = clearTexts(logged(declared, text)["mcp-tool-parameters"]);
        for (const each of clearTexts(copied(declared, text)["mcp-tool-parameters"])) expect(clear).toContain(each);
      }),
      { numRuns: 300 },
    );
  });

  test("secret names inside a digest are not shown", () => {
    fc.assert(
      fc.property(SECRETS, fc.boolean(), (secrets, isDeclared) => {
        const text = JSON.stringify({ a: Object.fromEntries(secrets.map((secret) => [secret, { [secret]: secret }])) });
        const declared = isDeclared ? { digest: { "*": ["/a"] } } : undefined;
        const told = [
          copied(declared, text),
          ...(isDeclared ? [logged(declared, text), replayed(declared, text)] : []),
        ];
        expect(JSON.stringify(told)).not.toContain("sEcReT");
      }),
      { numRuns: 100 },
    );
  });
});

function at(value: unknown, pointer: string): unknown {
  const names = pointer.split("/").slice(1);
  return names.reduce<unknown>(
    (each, name) => (each as Record<string, unknown>)[name.replaceAll("~1", "/").replaceAll("~0", "~")],
    value,
  );
}

function clearTexts(value: unknown): readonly string[] {
  const texts: string[] = [];
  JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === "string" && each.startsWith("sEcReT")) texts.push(each);
    return each;
  });
  return texts;
}
