/** examples/kubernetes-ingress/chart: it and the Kustomize base do not drift. Helm itself runs in `npm run test:real -- helm`. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";
import { parse } from "yaml";

import { CHART_VALUES, chartFiles } from "../support/helm-chart.ts";
import { bootOf, example, rendered } from "../support/kube-example.ts";
import { isRecord } from "../../runtime/shared/is-record.ts";

const chart = join(example, "chart");
const here = (file: string): string => readFileSync(join(chart, file), "utf8");
const valuesText = here("values.yaml");
const values = parse(valuesText) as Record<string, unknown>;
/** Their members are the user's. */
const FREE = ["config", "slices", "resources", "controller.resources", "controller.secrets", "gatewayApi.settings"];

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
}

function at(object: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((value, member) => (isRecord(value) ? value[member] : undefined), object);
}

/** "a.b" of every value that a user sets separately. */
function pathsOf(value: Readonly<Record<string, unknown>>, prefix = ""): readonly string[] {
  return Object.entries(value).flatMap(([name, each]) => {
    const path = `${prefix}${name}`;
    return isRecord(each) && Object.keys(each).length > 0 && !FREE.includes(path) ? pathsOf(each, `${path}.`) : [path];
  });
}

test("files are made of the base and the overlay; GATEWAY_UPDATE_GOLDEN=1 renews them", () => {
  const made = chartFiles();
  for (const [file, text] of made) {
    if (process.env["GATEWAY_UPDATE_GOLDEN"] === "1") writeFileSync(join(chart, file), text);
    expect(here(file), file).toBe(text);
  }
  const own = ["NOTES.txt", "_config.tpl", "config.yaml", "gateway-api.yaml"].map((file) => `templates/${file}`);
  const found = ["crds", "templates"].flatMap((folder) =>
    readdirSync(join(chart, folder)).map((file) => `${folder}/${file}`),
  );
  expect(found.toSorted()).toEqual([...own, ...made.keys()].toSorted());
});

test("the defaults are what the base and the overlay say", () => {
  for (const { text, value } of CHART_VALUES) {
    if (value === undefined) continue;
    const [path = "", inside] = value.split(":");
    const base = parse(text.replaceAll(/^ {10}/gm, "")) as unknown;
    const last = path.split(".").at(-1) ?? "";
    const expected =
      inside === undefined ? at(base, last) : (at(base, inside) ?? (base as Record<string, unknown>)[inside]);
    expect(expected, value).toBeDefined();
    expect(at(values, path), value).toEqual(expected);
  }
  // The team of the example is only an example.
  const { owners, ...rest } = bootOf(rendered("controller"));
  const { "kubernetes.shop": team, ...others } = owners as Readonly<Record<string, unknown>>;
  expect(team).toBeDefined();
  expect(values["config"]).toEqual({ ...rest, owners: others });
});

test("each value has a comment, a type in the schema and a use in a template, and there are no others", () => {
  const schema = JSON.parse(here("values.schema.json")) as Schema;
  const typed = (from: Schema, prefix = ""): readonly string[] =>
    Object.entries(from.properties ?? {}).flatMap(([name, each]) => {
      const path = `${prefix}${name}`;
      if (each.properties && !FREE.includes(path)) {
        expect(each.additionalProperties, path).toBe(false);
        return typed(each, `${path}.`);
      }
      return path === "global" ? [] : [path];
    });
  const paths = pathsOf(values).toSorted();
  expect(schema.additionalProperties).toBe(false);
  expect([...typed(schema)].toSorted()).toEqual(paths);

  const templates = readdirSync(join(chart, "templates")).map((file) => here(`templates/${file}`));
  const used = templates.flatMap((text) => [...text.matchAll(/\.Values\.([A-Za-z.]+)/g)].map(([, path = ""]) => path));
  expect([...new Set(used.map((path) => FREE.find((free) => path.startsWith(`${free}.`)) ?? path))].toSorted()).toEqual(
    paths,
  );

  const lines = valuesText.split("\n");
  const commented = (path: string): boolean => {
    const parts = path.split(".");
    const indent = " ".repeat((parts.length - 1) * 2);
    const from = parts.length === 1 ? 0 : lines.indexOf(`${parts[0]}:`);
    const line = lines.findIndex((text, number) => number >= from && text.startsWith(`${indent}${parts.at(-1)}:`));
    return lines[line - 1]?.startsWith(`${indent}# `) === true;
  };
  expect(paths.filter((path) => !commented(path))).toEqual([]);
});

test("its version is the package's", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
  expect(parse(here("Chart.yaml"))).toMatchObject({ version, appVersion: version });
});
