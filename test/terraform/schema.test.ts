import { afterAll, describe, expect, test } from "vitest";

import type { Field } from "../../runtime/settings/field.ts";
import { nestFields } from "../../runtime/settings/groups.ts";
import { routeFields } from "../../runtime/config/route.ts";
import { settingsFields } from "../../runtime/config/settings.ts";
import { blockType, type SchemaBlock } from "../../runtime/terraform/schema/schema-model.ts";
import {
  BUNDLE_TYPE,
  bundleSchema,
  makeBundleSchema,
  PROVIDER_ADDRESS,
  providerSchemaJson,
} from "../../runtime/terraform/schema/schema.ts";
import { PROVIDER_VERSION } from "../../runtime/terraform/version.ts";
import packageFile from "../../package.json" with { type: "json" };
import { bundleConfig, createWorkspace, serveInProcess, terraformMissing } from "../support/terraform.ts";

const routeBlock = bundleSchema.blocks.find(({ name }) => name === "route")!.block;

describe("bundleSchema", () => {
  test("has every live setting and every route setting, and no boot setting", () => {
    expect(
      absent(
        settingsFields.filter(({ scope }) => scope === "live"),
        bundleSchema,
        "",
      ),
    ).toEqual([]);
    const isOwnSecret = ({ kind }: Field): boolean => kind === "secret";
    const nested = nestFields(routeFields.filter((field) => !isOwnSecret(field)));
    expect(absent(nested, routeBlock, "route.")).toEqual([]);
    for (const { name, group } of routeFields.filter(isOwnSecret)) {
      const holder = group ? routeBlock.blocks.find((each) => each.name === group.name)!.block : routeBlock;
      const names = holder.attributes.map((attribute) => attribute.name);
      expect(names.filter((each) => each.startsWith(name))).toEqual([`${name}_ref`, `${name}_sealed`]);
    }
    const names = new Set([...bundleSchema.attributes, ...bundleSchema.blocks].map(({ name }) => name));
    expect(settingsFields.filter(({ scope, name }) => scope === "boot" && names.has(name))).toEqual([]);
  });

  test("has no sensitive or write-only attribute among a route's own: Terraform's work grows with their square", () => {
    const groups = new Set(routeFields.map(({ group }) => group?.name));
    const inGroups = routeBlock.blocks.filter(({ name }) => groups.has(name));
    expect(inGroups.map(({ name }) => name)).toEqual(["routing", "access", "headers", "upstream"]);
    const own = [...routeBlock.attributes, ...inGroups.flatMap(({ block }) => block.attributes)];
    expect(own.filter(({ sensitive, writeOnly }) => sensitive || writeOnly)).toEqual([]);
  });

  test("has only attributes for publishing in addition to them", () => {
    const known = new Set(settingsFields.flatMap(namesOf));
    const others = [...bundleSchema.attributes, ...bundleSchema.blocks]
      .map(({ name }) => name)
      .filter((name) => !known.has(name));
    const publishing = ["bundle_json", "file", "generation", "http", "owner", "route", "routes", "seal_key", "sha256"];
    expect(others.toSorted()).toEqual(publishing);
  });

  test("stays at twenty members of a route: each costs some 60 ms for thousand routes and plan, there or not", () => {
    const told = "a new setting of a route goes into a group: grouped(…) in features/<feature>/settings.ts";
    expect(routeBlock.attributes.length + routeBlock.blocks.length, told).toBeLessThanOrEqual(20);
  });

  test("refuses two members of a route that would be one in a document", () => {
    const about = { kind: "text", doc: "A setting.", required: false, scope: "route" } as const;
    const group = { name: "rare", doc: "Rare settings." };
    const twice: readonly Field[] = [
      { ...about, name: "a" },
      { ...about, name: "a", group },
    ];
    expect(() => makeBundleSchema([], nestFields(twice))).toThrow('a route has "a" twice');
    expect(() => makeBundleSchema([], nestFields([{ ...about, name: "rare", group }]))).toThrow(
      'a route has "rare" twice',
    );
  });

  test("describes everything", () => {
    const walk = (block: SchemaBlock): string[] => [
      ...block.attributes.filter(({ doc }) => doc.length < 10).map(({ name }) => name),
      ...block.blocks.flatMap(({ name, block: inner }) => (inner.doc.length < 10 ? [name] : walk(inner))),
    ];
    expect(walk(bundleSchema)).toEqual([]);
  });

  test("has write-only values only outside of sets, next to a version", () => {
    const walk = (block: SchemaBlock): void => {
      const names = block.attributes.map(({ name }) => name);
      for (const { name, writeOnly } of block.attributes) if (writeOnly) expect(names).toContain(`${name}_version`);
      for (const { block: inner } of block.blocks) walk(inner);
    };
    walk(bundleSchema);
  });

  test("rejects a setting whose name Terraform or the resource reserves", () => {
    for (const name of ["count", "provider", "owner", "file", "route", "routes"]) {
      const field: Field = { name, kind: "text", doc: "A setting.", required: false, scope: "live" };
      expect(() => makeBundleSchema([field], [])).toThrow(`the name "${name}" is not free`);
    }
  });

  test("gives single blocks an object type and labelled ones a map", () => {
    const [, members] = blockType(bundleSchema) as ["object", Record<string, unknown>];
    expect(members["file"]).toEqual(["object", { directory: "string", mode: "string" }]);
    expect(members["route"]).toEqual(["map", blockType(routeBlock)]);
  });
});

test("the provider has the version of the package", () => {
  expect(PROVIDER_VERSION).toBe(packageFile.version);
});

const missing = terraformMissing();

describe.skipIf(missing !== undefined)("providerSchemaJson()", () => {
  const closers: (() => void)[] = [];
  afterAll(() => {
    for (const close of closers) close();
  });

  test("is exactly what `terraform providers schema -json` prints", async () => {
    const provider = await serveInProcess();
    const workspace = createWorkspace(provider.env);
    closers.push(
      () => {
        provider.close();
      },
      () => {
        workspace.close();
      },
    );
    workspace.write("main.tf", bundleConfig('  owner = "team"'));
    const printed = JSON.parse(await workspace.succeed("providers", "schema", "-json")) as {
      format_version: string;
      provider_schemas: Record<string, Record<string, unknown>>;
    };
    const ours = (JSON.parse(JSON.stringify(providerSchemaJson())) as typeof printed).provider_schemas[
      PROVIDER_ADDRESS
    ]!;
    const { resource_identity_schemas, ...rest } = Object.values(printed.provider_schemas)[0]!;
    const { list_resource_schemas: lists, action_schemas: actions, ...known } = ours;
    // Terraform 1.14 and later have lists and actions, and print identities, which the protocol tests check.
    const newer = "action_schemas" in rest ? { list_resource_schemas: lists, action_schemas: actions } : {};
    expect(rest).toEqual({ ...known, ...newer });
    if (resource_identity_schemas) expect(Object.keys(resource_identity_schemas)).toEqual([BUNDLE_TYPE]);
    expect(printed.format_version).toBe("1.0");
  });
});

function namesOf({ name, kind }: Field): string[] {
  return kind === "secret" ? ["", "_ref", "_sealed", "_wo", "_wo_version"].map((suffix) => name + suffix) : [name];
}

/** Fields that the block does not have, at any depth. */
function absent(fields: readonly Field[], block: SchemaBlock, path: string): string[] {
  return fields.flatMap((field) => {
    const nested = block.blocks.find(({ name }) => name === field.name);
    if (nested) return absent(field.fields ?? [], nested.block, `${path}${field.name}.`);
    const names = block.attributes.map(({ name }) => name);
    return namesOf(field)
      .filter((name) => !names.includes(name))
      .map((name) => path + name);
  });
}
