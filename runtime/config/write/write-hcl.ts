/** A slice as HCL: one `gateway_bundle`, formatted as `terraform fmt` would. */
import { secretNames } from "../../settings/secret-forms.ts";
import { visibleHcl } from "../../shared/json/visible-text.ts";
import { isRecord, type Members } from "../../shared/is-record.ts";
import { dirname } from "node:path";

import type { Field } from "../../settings/field.ts";
import { partsOf } from "../../settings/shapes.ts";
import { routeFields } from "../route.ts";
import { settingsFields } from "../settings.ts";
import { nestFields, nestMembers } from "../../settings/groups.ts";
import type { WrittenSlice } from "./written-slice.ts";

/** @param file the imported source: the location of a published slice */
export function writeHcl({ owner, isPublished, settings, routes }: WrittenSlice, file: string): string {
  const live = settingsFields.filter(({ scope }) => scope === "live");
  const body = [
    ...attributes([["owner", quoted(owner)]]),
    "",
    ...blockBody(live, settings),
    ...Object.entries(routes).flatMap(([name, route]) => [
      "",
      `route ${quoted(name)} {`,
      ...indented(routeBody(route)),
      "}",
    ]),
    "",
    `# ${isPublished ? "Where it is published" : "A gateway that watches this directory"}; or the admin address of a gateway: http { url = "…" }`,
    "file {",
    `  directory = ${quoted(isPublished ? dirname(file) : "/etc/gateway/slices")}`,
    "}",
  ];
  const name = owner.replaceAll(/[^a-z0-9_-]/g, "_").replace(/^(?=[0-9])/, "_");
  return [
    "terraform {",
    "  required_providers {",
    "    gateway = {",
    '      source = "gateform/gateway"',
    "    }",
    "  }",
    "}",
    "",
    ...(isPublished ? importBlock(name, file) : []),
    `resource "gateway_bundle" ${quoted(name)} {`,
    ...indented(body),
    "}",
    "",
  ].join("\n");
}

/** Used once: it can be removed after an apply. */
function importBlock(name: string, file: string): readonly string[] {
  return [
    "# Takes over what is published, instead of creating it. Over http: the address of the slice, …/config/slices/<owner>",
    "import {",
    `  to = gateway_bundle.${name}`,
    `  id = ${quoted(file)}`,
    "}",
    "",
  ];
}

function routeBody(route: Members): readonly string[] {
  const written = { ...route, ...(typeof route["to"] === "string" && { to: [route["to"]] }) };
  return blockBody(nestFields(routeFields), nestMembers(routeFields, written));
}

/** Attributes first, then the blocks, each preceded by an empty line. */
function blockBody(fields: readonly Field[], doc: Members): readonly string[] {
  const simple: [string, string][] = [];
  const blocks: string[] = [];
  for (const field of fields) {
    for (const name of field.kind === "secret" ? secretNames(field.name).slice(1) : [field.name]) {
      const value = doc[name];
      if (value === undefined) continue;
      const found = field.fields && partsOf(field, value);
      // Parts of an invalid draft can be anything: then the whole value is written as is.
      const parts = found?.every(([, part]) => isRecord(part)) === true ? found : undefined;
      for (const [step, part] of parts ?? []) {
        const label = typeof step === "string" ? ` ${quoted(step)}` : "";
        blocks.push(...block(name + label, field.fields ?? [], part as Members));
      }
      if (!parts)
        simple.push([
          name,
          field.kind === "policy" || field.kind === "criteria" ? `jsonencode(${expression(value)})` : expression(value),
        ]);
    }
  }
  const lines = [...attributes(simple), ...blocks];
  return lines[0] === "" ? lines.slice(1) : lines;
}

function block(name: string, fields: readonly Field[], doc: Members): readonly string[] {
  const body = blockBody(fields, doc);
  return body.length === 0 ? ["", `${name} {}`] : ["", `${name} {`, ...indented(body), "}"];
}

/** Aligns the equals signs of adjacent attributes; a value of several lines ends the group. */
function attributes(pairs: readonly (readonly [string, string])[]): readonly string[] {
  const lines: string[] = [];
  let group: (readonly [string, string])[] = [];
  const flush = (): void => {
    const width = Math.max(0, ...group.map(([name]) => name.length));
    for (const [name, value] of group) lines.push(...`${name.padEnd(width)} = ${value}`.split("\n"));
    group = [];
  };
  for (const pair of pairs) {
    if (pair[1].includes("\n")) {
      flush();
      group = [pair];
      flush();
    } else group.push(pair);
  }
  flush();
  return lines;
}

function expression(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) {
    const items = value.map(expression);
    const line = `[${items.join(", ")}]`;
    if (line.length <= 80 && !line.includes("\n")) return line;
    return `[\n${items.map((item) => `${indentText(item)},`).join("\n")}\n]`;
  }
  if (!isRecord(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, member]) => [label(key), expression(member)] as const);
  if (entries.length === 0) return "{}";
  const line = `{ ${entries.map(([key, text]) => `${key} = ${text}`).join(", ")} }`;
  if (entries.length === 1 && line.length <= 80 && !line.includes("\n")) return line;
  return `{\n${indented(attributes(entries)).join("\n")}\n}`;
}

/** Names with another meaning as an object key: `{ for = …` begins a loop, `null` is not a name. */
const KEYWORDS = new Set(["for", "null", "true", "false"]);

function label(key: string): string {
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(key) && !KEYWORDS.has(key) ? key : quoted(key);
}

/**
 * Escapes a text for HCL. "${" and "%{" begin code; doubled, they are text. HCL has fewer escapes than JSON and only
 * whole characters: half of a surrogate pair, invalid in any configuration, becomes the replacement character.
 */
function quoted(text: string): string {
  const literal = JSON.stringify(text.toWellFormed())
    .replaceAll(/\\./g, (escape) => (escape === "\\b" ? "\\u0008" : escape === "\\f" ? "\\u000c" : escape))
    .replaceAll(/[$%]\{/g, (opening) => opening[0] + opening);
  return visibleHcl(literal);
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => (line === "" ? "" : `  ${line}`));
}

function indentText(text: string): string {
  return indented(text.split("\n")).join("\n");
}
