/**
 * A draft as TypeScript, HCL and YAML: another user's draft is text. Whatever it holds, an export parses, has only literals
 * and known names in it, and where the draft is valid, it loads to the same configuration.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { TerraformStack, Testing } from "cdktf";
import * as fc from "fast-check";
import { parseSync } from "rolldown/utils";
import { describe, expect, test } from "vitest";

import * as constructs from "../../../../cdktf/index.ts";
import { synthBundle } from "../../../../cdktf/testing.ts";
import { loadSlices } from "../../../../runtime/config/load.ts";
import { routeFields } from "../../../../runtime/config/route.ts";
import { settingsFields } from "../../../../runtime/config/settings.ts";
import { exportDraft, type ExportFormat } from "../../../../runtime/simulation/export-draft.ts";
import type { Field } from "../../../../runtime/settings/field.ts";
import { nestFields } from "../../../../runtime/settings/groups.ts";
import { memberNames, secretUses } from "../../../../runtime/settings/secret-forms.ts";
import { shapeOf } from "../../../../runtime/settings/shapes.ts";
import { readSource } from "../../../../runtime/settings/source.ts";
import { isRecord } from "../../../../runtime/shared/is-record.ts";
import { terminalText } from "../../../../runtime/shared/json/foreign-text.ts";
import type { ValueMap } from "../../../../runtime/terraform/protocol/value.ts";
import { renderSlice } from "../../../../runtime/terraform/resource/bundle-document.ts";
import { noStandIn } from "../../../../runtime/terraform/schema/document.ts";
import { goldenPairs } from "../../../support/golden.ts";
import { Encoded, type HclBlock, readHcl } from "../../../support/hcl.ts";
import { terraformMissing } from "../../../support/terraform.ts";

type Node = Readonly<Record<string, unknown>> & { readonly type: string };

function exported(slice: object, format: ExportFormat): string {
  const source = { file: "draft", text: JSON.stringify(slice), boot: false };
  const draft = { kind: "slice", owner: "team", text: "" } as const;
  const made = exportDraft(source, draft, format, "Published.");
  if (!made) throw new Error(`not exported: ${source.text}`);
  // A reviewer sees all of it.
  expect(made.text).toBe(terminalText(made.text));
  return made.text;
}

/** @throws Error for every piece of a program that is neither a literal nor a name of ours */
function validateProgram(text: string): void {
  const { errors, program } = parseSync("draft.ts", text);
  if (errors.length > 0) throw new Error(`${JSON.stringify(errors)}\n${text}`);
  const known = new Set([
    "app",
    "stack",
    "gateway",
    "App",
    "LocalBackend",
    "TerraformStack",
    ...Object.keys(constructs),
  ]);
  const methods = new Set(["synth", "foldCase", "discover", "credentials", "endpoints"]);
  for (const each of ["plainText", "sealed", "fromVault", "fromFile", "fromEnvironment"]) methods.add(each);
  for (const each of ["is", "isNot", "startsWith", "endsWith", "contains", "in", "notIn", "has", "exclude"])
    methods.add(each);
  for (const each of ["accessToken", "idToken", "clientCertFingerprint", "jwt"]) methods.add(each);
  const visit = (node: Node): void => {
    const below = (...names: string[]): void => {
      for (const child of names.flatMap((name) => node[name] as Node | Node[])) if (child) visit(child);
    };
    switch (node.type) {
      case "ImportDeclaration":
        expect(["cdktf", "gateform/cdktf"]).toContain((node["source"] as Node)["value"]);
        return;
      case "VariableDeclaration":
        return below("declarations");
      case "VariableDeclarator":
        return below("id", "init");
      case "ExpressionStatement":
        return below("expression");
      case "NewExpression":
      case "CallExpression":
        return below("callee", "arguments");
      case "MemberExpression": {
        const name = String((node["property"] as Node)["name"]);
        if (node["computed"] === true || !methods.has(name)) throw new Error(`a member: ${name}`);
        return below("object");
      }
      case "TaggedTemplateExpression":
        return below("tag", "quasi");
      case "TemplateLiteral":
        return below("expressions");
      case "ArrayExpression":
        return below("elements");
      case "ObjectExpression":
        return below("properties");
      case "Property": {
        const key = node["key"] as Node;
        if (node["kind"] !== "init" || node["method"] === true || node["shorthand"] === true)
          throw new Error("no literal");
        if (key.type !== "Literal" && (node["computed"] === true || key.type !== "Identifier"))
          throw new Error("no name");
        return below("value");
      }
      case "UnaryExpression":
        return below("argument");
      case "Identifier":
        if (!known.has(String(node["name"]))) throw new Error(`a name: ${String(node["name"])}\n${text}`);
        return;
      case "Literal":
        return;
      default:
        throw new Error(`a piece of code: ${node.type}\n${text}`);
    }
  };
  for (const statement of program.body) visit(statement as unknown as Node);
}

/** The slice that the exported program publishes. */
function sliceOfProgram(text: string): unknown {
  const body = text.slice(text.indexOf("const gateway = ")).replace("\napp.synth();\n", "");
  const stack = new TerraformStack(Testing.app(), "team");
  // What runs was found to be literals and names of ours.
  // oxlint-disable-next-line no-implied-eval, no-new-func
  new Function("stack", ...Object.keys(constructs), body)(stack, ...Object.values(constructs));
  return synthBundle(stack);
}

/** The slice that the provider publishes for the exported HCL. */
function sliceOfHcl(text: string): unknown {
  const bundle = readHcl(text).blocks.find(({ type }) => type === "resource")!;
  const live = settingsFields.filter(({ scope }) => scope === "live");
  const routes = bundle.blocks.filter(({ type }) => type === "route");
  const values = {
    ...valuesOf(bundle, live, ["owner"]),
    route: Object.fromEntries(routes.map((route) => [route.labels[0]!, valuesOf(route, nestFields(routeFields))])),
  };
  return renderSlice(values as unknown as ValueMap, { standIn: noStandIn, problems: [] });
}

function valuesOf(block: HclBlock, fields: readonly Field[], more: readonly string[] = []): object {
  const values: Record<string, unknown> = {};
  const names = new Set([...fields.flatMap(memberNames), ...more]);
  for (const [name, value] of block.attributes) {
    if (!names.has(name)) throw new Error(`not a setting: ${name}`);
    values[name] = value instanceof Encoded ? value.text : value;
  }
  for (const field of fields) {
    const found = block.blocks.filter(({ type }) => type === field.name);
    if (found.length === 0) continue;
    const inner = found.map((each) => valuesOf(each, field.fields ?? []));
    const shape = shapeOf(field);
    if (shape === "labelled")
      values[field.name] = Object.fromEntries(found.map(({ labels }, at) => [labels[0]!, inner[at]]));
    else values[field.name] = shape === "blocks" ? inner : inner[0];
  }
  return values;
}

function comparable(slice: unknown): unknown {
  const text = typeof slice === "string" ? slice : JSON.stringify(slice);
  const { config, problems } = loadSlices([{ file: "slice", text, boot: false }]);
  const errors = problems.filter(({ severity }) => severity === "error");
  return config && errors.length === 0
    ? [config.settings, config.routes.map((route) => [route.key, route.text])]
    : errors;
}

const EVIL = 'x: (process.stdout.write("PWNED"), 1), y';
const names = fc.constantFrom(
  EVIL,
  "__proto__",
  "constructor",
  "for",
  "null",
  "toString",
  "file",
  "http",
  "routes",
  "a_b",
  "${x}",
  'a"b',
  "\n",
  "é\u2028",
  "a\u202eb",
);
const texts = fc.oneof(
  fc.constantFrom(
    "",
    EVIL,
    "${gateway.jwt}`${1}",
    "$${a}",
    "%{if x}",
    '"\\',
    "\b\f\r\n\t\u0000",
    "\ud83d\ude00",
    "a\u009b31m\u202eb\u2066\u200b",
    "\u{e0041}\ufe0f\u3164",
    "env:A",
    "vault:kv/a#b@2",
  ),
  fc.string({ unit: "binary" }).map((text) => text.toWellFormed().normalize("NFC")),
);
const anything = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    texts,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(names, tie("any"), { maxKeys: 3 }),
  ),
})).any;

/** Values for the names of settings: of their shape or of any other, with names and texts of a hostile author. */
function valueOf(field: Field): fc.Arbitrary<unknown> {
  const inner = (): fc.Arbitrary<unknown> => (field.fields ? membersOf(field.fields) : texts);
  const fitting = {
    scalar: texts,
    list: fc.array(texts, { maxLength: 2 }),
    map: fc.dictionary(fc.oneof(names, texts), texts, { maxKeys: 2 }),
    block: inner(),
    blocks: fc.array(inner(), { maxLength: 2 }),
    labelled: fc.dictionary(names, inner(), { maxKeys: 2 }),
  }[shapeOf(field)];
  return field.kind === "policy"
    ? policies
    : fc.oneof({ weight: 4, arbitrary: fitting }, { weight: 1, arbitrary: anything });
}

function membersOf(fields: readonly Field[]): fc.Arbitrary<object> {
  const known = fields.flatMap((field) => memberNames(field).map((name) => [name, field] as const));
  const some = known.length === 0 ? fc.constant([]) : fc.subarray(known, { maxLength: Math.min(4, known.length) });
  return some
    .chain((chosen) => fc.tuple(...chosen.map(([name, field]) => fc.tuple(fc.constant(name), valueOf(field)))))
    .chain((entries) =>
      fc.dictionary(names, anything, { maxKeys: 1 }).map((more) => ({ ...Object.fromEntries(entries), ...more })),
    );
}

const words = fc.constantFrom(
  "allow",
  "deny",
  "and",
  "or",
  "not",
  "is",
  "in",
  "email",
  "mcp_tool",
  "claim/a",
  "accept",
  "device",
  "fold_case",
);
const policies: fc.Arbitrary<unknown> = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: "medium" },
    texts,
    fc.constant(true),
    fc.array(tie("any"), { maxLength: 2 }),
    fc.dictionary(fc.oneof({ weight: 3, arbitrary: words }, names), tie("any"), { maxKeys: 2 }),
  ),
})).any;

const drafts = fc.record({
  version: fc.constant(1),
  owner: fc.constant("team"),
  settings: membersOf(settingsFields),
  routes: fc.dictionary(names, membersOf(routeFields), { maxKeys: 2 }),
});

/** Routes and settings of the golden texts that are valid by themselves. */
function validSlices(): object[] {
  const slices = goldenPairs("config").flatMap(({ sources }) =>
    sources.flatMap(({ file, text }) => {
      const { value } = readSource(file, text);
      if (!isRecord(value)) return [];
      const { routes = [], settings = value } = value;
      const live = settingsFields.filter(({ scope }) => scope === "live").flatMap(memberNames);
      const own = Object.entries(isRecord(settings) ? settings : {}).filter(([name]) => live.includes(name));
      const each = own.map(([name, setting]) => ({ settings: { [name]: setting }, routes: {} }));
      const all = Object.values(routes as object).map((route: object) => ({
        routes: { r: { ...route, name: undefined } },
      }));
      return [...all, ...each].map((part) => ({ version: 1, owner: "team", ...part }));
    }),
  );
  const isPlain = (slice: object): boolean =>
    [
      secretUses(settingsFields, (slice as { settings?: unknown }).settings),
      ...Object.values((slice as { routes: object }).routes).map((route) => secretUses(routeFields, route)),
    ]
      .flat()
      .some(({ form }) => form === "plain");
  // Terraform's routes have no secrets in plain text: an export says that it omits them.
  return slices.filter((slice) => !isPlain(slice) && !JSON.stringify(comparable(slice)).includes('"severity":"error"'));
}

describe("an exported draft", () => {
  test("contains no code of its author: the named cases", () => {
    const slice = {
      version: 1,
      owner: "team",
      settings: { [EVIL]: 1, file: { directory: "/etc" }, runtime_flags: { [EVIL]: true } },
      routes: {
        [EVIL]: { [EVIL]: 1, mcp: { server: { [EVIL]: 1, upstream_oauth2: { [EVIL]: 1, endpoint: { [EVIL]: 1 } } } } },
        b: { policy: [{ allow: { [`and(${EVIL})`]: [{ email: { is: "a" } }] } }] },
      },
    };
    const text = exported(slice, "typescript");
    validateProgram(text);
    expect(text).not.toMatch(/^[^/].*"\/etc"/m);
    expect(text).toContain("// Omitted, no setting or a secret in plain text: ");
    readHcl(exported(slice, "hcl"));
  });

  const hcl: string[] = [];
  test("parses and has only literals and known names, for any draft", () => {
    fc.assert(
      fc.property(drafts, (slice) => {
        if (readSource("draft", JSON.stringify(slice)).problems.length > 0) return;
        validateProgram(exported(slice, "typescript"));
        const text = exported(slice, "hcl");
        hcl.push(text);
        readHcl(text);
        const { value, problems } = readSource("draft", exported(slice, "yaml"));
        expect(problems).toEqual([]);
        const { routes } = JSON.parse(JSON.stringify(slice)) as { routes: object };
        expect(JSON.parse(JSON.stringify(value))).toMatchObject({ version: 1, owner: "team", routes });
      }),
      { numRuns: 200 },
    );
  });

  test("loads to the same configuration", () => {
    const slices = validSlices();
    expect(slices.length).toBeGreaterThan(100);
    for (const slice of slices) {
      const wanted = comparable(slice);
      expect(comparable(exported(slice, "yaml"))).toEqual(wanted);
      const text = exported(slice, "hcl");
      hcl.push(text);
      expect(comparable(sliceOfHcl(text))).toEqual(wanted);
      const program = exported(slice, "typescript");
      validateProgram(program);
      expect(comparable(sliceOfProgram(program))).toEqual(wanted);
    }
  });

  test("keeps every text of a valid configuration", () => {
    const route = (text: string, policy: string): object => ({
      version: 1,
      owner: "team",
      routes: {
        r: {
          from: "https://a.example.com",
          to: "http://a.example.net",
          set_request_headers: { "X-A": text, "X-B": `\${gateway.jwt}${text}\${gateway.id_token}` },
          set_response_headers: { "X-A": text },
          policy: [
            { allow: { or: [{ "claim/a b": { has: policy } }, { groups: { has: policy } }] } },
            { deny: { or: [{ email: { is: `${policy}@example.com` } }] } },
          ],
        },
      },
    });
    const printable = fc
      .string({ unit: fc.constantFrom(...Array.from("ab$`\\\"{}%' é")) })
      .map((text) => text.replaceAll("$", "$$$$"));
    fc.assert(
      fc.property(printable, fc.oneof(texts, fc.constantFrom("\b\f")), (text, policy) => {
        const slice = route(text.trim(), `a${policy}`);
        const wanted = comparable(slice);
        if (JSON.stringify(wanted).includes('"severity"')) return;
        for (const format of ["yaml", "hcl", "typescript"] as const) {
          const made = exported(slice, format);
          const read = { yaml: (each: string) => each, hcl: sliceOfHcl, typescript: sliceOfProgram }[format](made);
          expect(comparable(read)).toEqual(wanted);
        }
      }),
      { numRuns: 100, examples: [["$${{", ""]] },
    );
  });

  test.skipIf(terraformMissing() !== undefined)("Terraform itself reads every HCL of these tests", () => {
    const directory = mkdtempSync(join(tmpdir(), "gateform-hcl-"));
    try {
      expect(hcl.length).toBeGreaterThan(100);
      for (const [at, text] of hcl.entries()) writeFileSync(join(directory, `${at}.tf`), text);
      const { stdout, stderr } = spawnSync("terraform", ["fmt", "-list=true"], {
        cwd: directory,
        encoding: "utf8",
        env: { ...process.env, TF_CLI_CONFIG_FILE: undefined },
      });
      // It names the files that it would format otherwise, which says nothing of hostile texts, and fails for what it cannot read.
      expect(stderr).toBe("");
      expect(typeof stdout).toBe("string");
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test("half of a surrogate pair is not valid in a configuration", () => {
    for (const text of ['{"a": "\\ud800"}', '{"\\udfff": 1}', 'a: "\\ud800"']) {
      expect(readSource("draft", text).problems).toMatchObject([
        { message: expect.stringContaining("surrogate") as string },
      ]);
    }
    expect(readSource("draft", '{"a": "\\ud83d\\ude00"}')).toMatchObject({ value: { a: "😀" }, problems: [] });
  });
});
