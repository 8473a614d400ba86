/** The Field tree and what is made from it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";
import * as z from "zod/mini";

import { annotationFields } from "../../../runtime/config/surfaces/annotations.ts";
import { docsOfSetting, documentationLine } from "../../../runtime/config/surfaces/documentation.ts";
import { eachField } from "../../../runtime/settings/shapes.ts";
import { rowAnchor } from "../../../runtime/config/surfaces/documentation-pages.ts";
import type { Field } from "../../../runtime/settings/field.ts";
import { configJsonSchema, type JsonSchema } from "../../../runtime/config/surfaces/json-schema.ts";
import { flag, text } from "../../../runtime/settings/types/scalar.ts";
import { fieldsOf } from "../../../runtime/settings/types/registry.ts";
import { configReference, settingsPages } from "../../../runtime/config/surfaces/reference.ts";
import { routeFields, routeSchema } from "../../../runtime/config/route.ts";
import { settingsFields, settingsSchema } from "../../../runtime/config/settings.ts";
import { RECORD_FIELDS } from "../../../runtime/audit/record.ts";

/** Every setting that requirements name, with its kind. */
const NAMED: readonly (readonly [path: string, kind: Field["kind"]])[] = [
  ["runtime_flags.mcp", "flag"],
  ["mcp_allowed_client_id_domains", "domain-pattern-list"],
  ["mcp_allowed_as_metadata_domains", "domain-pattern-list"],
  ["authorize_log_fields", "text-list"],
  ["cookie_expiration", "duration"],
  ["support_url", "url"],
  ["set_response_headers", "text-map"],
  ["routes.from", "url"],
  ["routes.to", "url-list"],
  ["routes.policy", "policy"],
  ["routes.mcp", "block"],
  ["routes.mcp.server", "block"],
  ["routes.mcp.server.upstream_oauth2.client_id", "text"],
  ["routes.mcp.server.upstream_oauth2.client_secret", "secret"],
  ["routes.mcp.server.upstream_oauth2.endpoint.auth_url", "url"],
  ["routes.mcp.server.upstream_oauth2.endpoint.token_url", "url"],
  ["routes.mcp.server.upstream_oauth2.endpoint.auth_style", "choice"],
  ["routes.mcp.server.upstream_oauth2.scopes", "text-list"],
  ["routes.mcp.server.upstream_oauth2.authorization_url_params", "text-map"],
  ["routes.mcp.server.max_request_bytes", "count"],
  ["routes.mcp.server.path", "text"],
  ["routes.mcp.server.authorization_server_url", "url"],
  ["routes.mcp.client", "block"],
  ["routes.preserve_host_header", "flag"],
  ["routes.host_rewrite", "text"],
  ["routes.host_rewrite_header", "text"],
  ["routes.host_path_regex_rewrite_pattern", "text"],
  ["routes.host_path_regex_rewrite_substitution", "text"],
  ["routes.set_request_headers", "template-map"],
  ["routes.remove_request_headers", "text-list"],
  ["routes.set_response_headers", "text-map"],
  ["routes.rewrite_response_headers", "block-list"],
  ["routes.rewrite_response_headers.header", "text"],
  ["routes.rewrite_response_headers.prefix", "text"],
  ["routes.rewrite_response_headers.value", "text"],
];

const all = [...flatten(settingsFields, ""), ...flatten(routeFields, "routes.")];

describe("settingsFields and routeFields", () => {
  test.each(NAMED)("have %s as %s", (path, kind) => {
    expect(all.find((each) => each.path === path)?.field.kind).toBe(kind);
  });

  test("have the defaults of the requirements", () => {
    expect(all.find(({ path }) => path.endsWith("max_request_bytes"))?.field.default).toBe(4096);
    expect(all.find(({ path }) => path.endsWith("auth_style"))?.field.values).toEqual(["header", "params"]);
  });

  test("describe every setting in one or two sentences, with the effect of omitting it", () => {
    for (const { path, field } of all) {
      expect(field.doc, path).toMatch(/^[A-Z"].*[.)]$/s);
      // Details are in the guide.
      expect(field.doc.match(/[.)](?= [A-Z"`]|$)/g)?.length ?? 0, path).toBeLessThanOrEqual(2);
      expect(field.required || (field.default === undefined) !== (field.unset === undefined), path).toBe(true);
      expect(field.name, path).toMatch(/^[a-z][a-z0-9_]*$/);
    }
  });

  test("have the scope of their location", () => {
    const scopes = new Set(all.filter(({ path }) => path.startsWith("routes.")).map(({ field }) => field.scope));

    expect([...scopes]).toEqual(["route"]);
    expect(all.find(({ path }) => path === "shared_secret")?.field.scope).toBe("boot");
    expect(all.find(({ path }) => path === "runtime_flags.mcp")?.field.scope).toBe("live");
  });

  test("name exactly the members that the schemas accept", () => {
    const spelled = (fields: readonly Field[]) =>
      fields.flatMap(({ name, kind }) => (kind === "secret" ? [name, `${name}_ref`, `${name}_sealed`] : [name]));

    expect(Object.keys(routeSchema.shape).sort()).toEqual(spelled(routeFields).sort());
    expect(Object.keys(settingsSchema.shape).sort()).toEqual(spelled(settingsFields).sort());
  });
});

describe("fieldsOf()", () => {
  test("fails for a schema that no setting type made", () => {
    const made = text({ doc: "A text." });

    expect(() => fieldsOf({ good: made, bad: made.check() }, "live")).toThrow('setting "bad"');
    expect(() => fieldsOf({ bad: z.optional(flag({ doc: "A flag." })) }, "live")).toThrow('setting "bad"');
  });
});

describe("annotationFields", () => {
  test("have each header setting under its own name", () => {
    const names = annotationFields.map(({ name }) => name);

    for (const [path] of NAMED.filter(([each]) => /^routes\.[a-z_]*(host|headers)[a-z_]*$/.test(each))) {
      expect(names).toContain(path.replace("routes.", ""));
    }
    expect(new Set(names).size).toBe(names.length);
  });
});

describe("configJsonSchema()", () => {
  const schema = configJsonSchema();

  test("has every setting", () => {
    const written = JSON.stringify(schema);

    for (const { field } of all) expect(written).toContain(`"${field.name}":`);
  });

  test("refers only to definitions it has", () => {
    const references = [...JSON.stringify(schema).matchAll(/"\$ref":"#\/\$defs\/([a-z]+)"/g)].map(([, name]) => name);

    for (const name of references) expect(Object.keys(schema["$defs"] as object)).toContain(name);
  });

  test("rejects unknown members everywhere, as the loader does", () => {
    for (const node of blocksOf(schema)) expect(node).toHaveProperty("additionalProperties");
  });
});

describe("configJsonSchema(), suggestions of an editor", () => {
  const { file, policy, criterion, ...rest } = configJsonSchema()["$defs"] as Record<string, JsonSchema>;
  const listed = (...path: readonly string[]): unknown =>
    path.reduce((at, name) => (at as JsonSchema)[name] as JsonSchema, file as unknown);

  test("the values of lists with fixed values", () => {
    const owner = ["properties", "owners", "additionalProperties", "properties"];
    expect(listed("properties", "authorize_log_fields", "items")).toEqual({ type: "string", enum: RECORD_FIELDS });
    expect(listed(...owner, "allowed_tokens", "items")).toEqual({
      type: "string",
      enum: ["external", "provider", "id_jag"],
    });
    expect(listed(...owner, "allowed_settings", "items", "enum")).toEqual(
      expect.arrayContaining(["*", "authorize_log_fields", "mcp_allowed_client_id_domains"]),
    );
  });

  test("a text for every member, those of policies and their criteria included", () => {
    const silent: string[] = [];
    const visit = (node: unknown, path: string): void => {
      if (typeof node !== "object" || node === null) return;
      for (const [key, value] of Object.entries(node)) {
        if (key === "properties" || key === "patternProperties") {
          for (const [name, member] of Object.entries(value as Record<string, JsonSchema>)) {
            if (!("description" in member)) silent.push(`${path}.${name}`);
          }
        }
        visit(value, `${path}.${key}`);
      }
    };
    visit({ file, policy, criterion, ...rest }, "$defs");
    expect(silent).toEqual([]);
  });
});

describe("configReference()", () => {
  test("states how long messages to MCP servers may be, and which setting permits a file of 6 KB", () => {
    expect(configReference()).toMatch(/file of 6 KB[^|]*`mcp\.server\.max_request_bytes`/s);
  });

  test("states that interim responses such as Early Hints are dropped", () => {
    expect(configReference()).toContain("Early Hints");
  });

  test("has pages of at most 60 KiB", () => {
    const sizes = [...settingsPages().values()].map((page) => Buffer.byteLength(page));
    expect(sizes).toHaveLength(2);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(60 * 1024);
  });

  test("has a row for every setting", () => {
    const reference = configReference();

    for (const { field } of all) expect(reference).toMatch(new RegExp(`\\| \`[a-z0-9_.[\\]<>]*${field.name}\``));
  });
});

describe("documentation of problems", () => {
  const at = (...path: readonly (string | number)[]) => docsOfSetting(path);

  test("is the row of each setting, or of the block that shares its members", () => {
    const rows = new Set(
      [...settingsPages()].flatMap(([page, text]) =>
        [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = ""]) => `${page}#${rowAnchor(name)}`),
      ),
    );
    for (const { path, field } of eachField([...settingsFields, ...routeFields])) {
      const top = routeFields.some(({ name }) => name === path[0]) ? ["routes", 0] : [];
      const steps = path.map((part) => (part === "[]" ? 0 : part === "<name>" ? "x" : part));
      expect(rows, field.name).toContain(docsOfSetting([...top, ...steps]));
    }
  });

  test("reads paths of files and slices, and forms of secrets", () => {
    const page = "runtime/REFERENCE.md";
    expect(at("owners", "team", "publish_token_ref")).toBe(`${page}#owners.name.publish_token`);
    expect(at("routes", 2, "health_checks", 0, "interval")).toBe(`${page}#health_checks.interval`);
    expect(at("routes", "notes", "policy", 0, "allow", "and")).toBe(`${page}#policy`);
    expect(at("routes", "notes", "mcp", "server", "dpop")).toBe("runtime/reference/mcp-servers.md#mcp.server.dpop");
    expect(at("settings", "identity_issuers", "a", "sign_in", "client_auth")).toBe(
      `${page}#identity_issuers.name.sign_in`,
    );
    expect([at(), at("routes", 0, "timeuot"), at("nonsense")]).toEqual([undefined, undefined, undefined]);
  });

  test("is one line below them, with five settings at most", () => {
    const paths = ["address", "console", "owners", "vault", "webhook", "tracing"].map((name) => ({ path: [name] }));
    expect(documentationLine([...paths.slice(0, 2), ...paths.slice(0, 1)])).toEqual([
      "Documentation: runtime/REFERENCE.md#address, #console",
    ]);
    const mcp = ["mcp", "timeout"].map((name) => ({ path: ["routes", "notes", name] }));
    expect(documentationLine([...paths.slice(0, 1), ...mcp])).toEqual([
      "Documentation: runtime/REFERENCE.md#address, runtime/reference/mcp-servers.md#mcp, runtime/REFERENCE.md#timeout",
    ]);
    expect(documentationLine(paths)[0]?.split(", ")).toHaveLength(5);
    expect(documentationLine([{ path: [] }])).toEqual([]);
  });
});

describe("kinds.ts", () => {
  test("is the only file that calls zod constructors", () => {
    const sources = new URL("../../../runtime/", import.meta.url).pathname;
    const rooms = readdirSync(`${sources}features`).map((room) => `features/${room}/settings`);
    for (const file of [...rooms, "config/route", "config/settings", "settings/validate"]) {
      if (!existsSync(`${sources}${file}.ts`)) continue;
      expect(readFileSync(`${sources}${file}.ts`, "utf8")).not.toMatch(
        /\bz\.[a-z]+\(|^import (?!type)[^;]*"zod(?:\/mini)?"/m,
      );
    }
  });
});

function* flatten(
  fields: readonly Field[],
  prefix: string,
): Iterable<{ readonly path: string; readonly field: Field }> {
  for (const field of fields) {
    yield { path: prefix + field.name, field };
    yield* flatten(field.fields ?? [], `${prefix}${field.name}.`);
  }
}

function* blocksOf(node: unknown): Iterable<object> {
  if (typeof node !== "object" || node === null) return;
  if ("properties" in node) yield node;
  for (const member of Object.values(node)) yield* blocksOf(member);
}
