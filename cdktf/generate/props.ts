/**
 * Interfaces of the constructs' settings, from the Field tree: each setting is a prop with its type, doc and default.
 *
 * Written by hand: props that are not settings or have another name (`name`, `mcpPath`, targets), and the classes.
 */
import { routeFields } from "../../runtime/config/route.ts";
import { settingsFields } from "../../runtime/config/settings.ts";
import { balancingShape } from "../../runtime/features/balancing/settings.ts";
import { limitsShape } from "../../runtime/features/connection/settings.ts";
import { headerShape } from "../../runtime/features/headers/settings.ts";
import { pathShape, routingShape } from "../../runtime/features/routing/settings.ts";
import type { Field, FieldKind } from "../../runtime/settings/field.ts";
import { propName } from "../synth/document.ts";
import { BLOCKS, DOCS, ITEMS, type TypeWords } from "./prop-words.ts";

interface PropsInterface extends TypeWords {
  readonly extends?: string;
  readonly fields: readonly Field[];
  /** Name of a setting that is required here, even if it is optional itself. */
  readonly required?: string;
}

const HEAD = `// Made by generate.ts, do not edit.
import type { ActionDoc, PolicyDoc } from "../../runtime/policy/parse.ts";
import type { Domain } from "../domains.ts";
import type { IResolvable } from "../framework.ts";
import type { HeaderValue } from "../header-value.ts";
import type { Secret } from "../secret.ts";
`;

/** Width of our own files; tags stay on one line. */
const COLUMNS = 120;

const liveFields = settingsFields.filter(({ scope }) => scope === "live");
const serverFields = membersOf(membersOf(routeFields, "mcp"), "server");
const oauthFields = membersOf(serverFields, "upstream_oauth2");

const settingNames = new Set([...liveFields, ...routeFields].flatMap(namesIn));
const routingSettings = { ...pathShape, ...routingShape };
/** Grouped: a program usually sets several of them. */
const upstreamSettings = { ...balancingShape, ...limitsShape };
/** `name` is written by hand, and `mcp` is in the props of McpServerRoute. */
const elsewhere = new Set(["name", "mcp", ...Object.keys({ ...headerShape, ...routingSettings, ...upstreamSettings })]);

/** Interfaces of settings; those of their blocks follow each. */
const INTERFACES: readonly PropsInterface[] = [
  {
    name: "GatewaySettings",
    doc: "Dynamic settings of the gateway. Static settings (listeners, TLS files, storage, the shared secret) are only in the file given to `gateway run`.",
    fields: liveFields,
  },
  {
    name: "HeaderSettings",
    doc: "Header settings of a route. Set at most one of the four ways to select the Host header; the regular expression and its substitution are one.",
    fields: routeFields.filter(({ name }) => name in headerShape),
  },
  {
    name: "RoutingSettings",
    doc: "Request matching, path rewriting, and responses without an upstream.",
    fields: routeFields.filter(({ name }) => name in routingSettings),
  },
  {
    name: "BalancingSettings",
    doc: "Load balancing: upstream selection, health checks, ejection and limits.",
    fields: routeFields.filter(({ name }) => name in upstreamSettings),
  },
  {
    name: "RouteSettings",
    doc: "Other settings of all kinds of routes.",
    fields: routeFields.filter(({ name }) => !elsewhere.has(name)),
  },
  {
    name: "McpServerSettings",
    doc: "Settings of an MCP server route, in files below `mcp.server`.",
    fields: serverFields.filter(({ name }) => name !== "path" && name !== "upstream_oauth2"),
  },
  {
    name: "UpstreamOauth2Options",
    doc: "Options for all kinds of upstream OAuth.",
    fields: oauthFields.filter(({ name }) => !["client_id", "client_secret", "client_key", "endpoint"].includes(name)),
  },
  {
    name: "UpstreamOauth2Credentials",
    doc: "Credentials of a client registered manually at the upstream.",
    extends: "UpstreamOauth2Options",
    fields: oauthFields.filter(({ name }) => ["client_id", "client_secret", "client_key"].includes(name)),
    required: "client_id",
  },
  {
    name: "UpstreamOauth2Endpoints",
    doc: "Credentials with explicit endpoints, without discovery.",
    extends: "UpstreamOauth2Credentials",
    fields: oauthFields.filter(({ name }) => name === "endpoint"),
    required: "endpoint",
  },
];

const TYPES: Readonly<Record<FieldKind, string | ((field: Field) => string)>> = {
  text: "string",
  url: "string",
  duration: "string",
  count: "number",
  flag: "boolean | IResolvable",
  choice: ({ values = [] }) => unionOf(values),
  "text-list": ({ name, itemValues }) => `readonly ${itemValues ? wordsOf(ITEMS, name).name : "string"}[]`,
  "url-list": "string | readonly string[]",
  "domain-pattern-list": "readonly (Domain | string)[]",
  "text-map": "Readonly<Record<string, string>>",
  "text-list-map": "Readonly<Record<string, readonly string[]>>",
  "template-map": "Readonly<Record<string, HeaderValue | string>>",
  secret: "Secret",
  block: ({ name }) => wordsOf(BLOCKS, name).name,
  "block-list": ({ name }) => `readonly ${wordsOf(BLOCKS, name).name}[]`,
  labelled: (field) =>
    `Readonly<Record<string, ${isSecretAlone(field) ? "Secret" : wordsOf(BLOCKS, field.name).name}>>`,
  policy: "PolicyDoc",
  criteria: "ActionDoc",
};

/**
 * The text of generated/props.ts.
 * @throws Error for a block or list of fixed values that prop-words.ts does not know, and for blocks that share an interface
 * and differ
 */
export function propsText(): string {
  const types = new Map<string, string>();
  const add = (name: string, text: string): void => {
    if ((types.get(name) ?? text) !== text) throw new Error(`Cannot make type "${name}": two blocks of it differ`);
    types.set(name, text);
  };
  const addInterface = (made: PropsInterface): void => {
    add(made.name, interfaceText(made));
    for (const field of made.fields) {
      const { name, fields, itemValues } = field;
      if (itemValues) add(wordsOf(ITEMS, name).name, unionText(wordsOf(ITEMS, name), itemValues));
      if (fields && !isSecretAlone(field)) addInterface({ ...wordsOf(BLOCKS, name), fields });
    }
  };
  INTERFACES.forEach(addInterface);
  return [HEAD, ...types.values()].join("\n");
}

function interfaceText({ name, doc, extends: parent, fields, required }: PropsInterface): string {
  const members = fields.map((field) => {
    const prop = propName(field.name);
    const isRequired = field.required || field.name === required;
    const lines = wrapped(docOf(field, `${name}.${prop}`), "   * ");
    const tags = isRequired ? [] : defaultTag(field);
    return `${comment([...lines, ...tags], "  ")}  readonly ${prop}${isRequired ? "" : "?"}: ${typeOf(field)};\n`;
  });
  const head = `export interface ${name}${parent === undefined ? "" : ` extends ${parent}`}`;
  return `${comment(wrapped(doc, " * "), "")}${head} {\n${members.join("")}}\n`;
}

function unionText({ name, doc }: TypeWords, values: readonly string[]): string {
  return `${comment(wrapped(doc, " * "), "")}export type ${name} = ${unionOf(values)};\n`;
}

function typeOf(field: Field): string {
  const type = TYPES[field.kind];
  return typeof type === "string" ? type : type(field);
}

/** True for a block that contains only a secret: `documentFrom` accepts the secret instead. */
function isSecretAlone({ kind, fields = [] }: Field): boolean {
  return kind === "labelled" && fields.length === 1 && fields[0]?.kind === "secret";
}

function unionOf(values: readonly string[]): string {
  return values.map((value) => JSON.stringify(value)).join(" | ");
}

function docOf(field: Field, key: string): string {
  const fromFile = forTypeScript(field.doc);
  return DOCS[key]?.replace(/^… /, () => `${fromFile} `) ?? fromFile;
}

/** A value, or text after "- ". */
function defaultTag({ default: fallback, unset }: Field): readonly string[] {
  if (fallback !== undefined) return [`@default ${[fallback].flat().join(", ")}`];
  return unset === undefined || unset === "none" ? [] : [`@default - ${forTypeScript(unset)}`];
}

/** Code in TypeScript's form: props, `prop: "word"`, backslashes. "Global" settings of files are the gateway's. */
function forTypeScript(text: string): string {
  return text.replaceAll("the global ", "the gateway's ").replaceAll(
    /`([^`]*)`/g,
    (_, code: string) =>
      `\`${code
        .replaceAll("\\", "\\\\")
        .replace(/^\w+(?=$|: )/, (name) => (settingNames.has(name) ? propName(name) : name))
        .replace(/^(\w+: )(?!true$|false$)([a-z]\w*)$/, '$1"$2"')}\``,
  );
}

function comment(lines: readonly string[], indent: string): string {
  const [only = ""] = lines;
  if (lines.length === 1 && `${indent}/** ${only} */`.length <= COLUMNS) return `${indent}/** ${only} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}

/** Splits text into lines that fit after the mark. */
function wrapped(text: string, mark: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1) ?? ""} ${word}`;
    if (lines.length > 0 && mark.length + longer.length <= COLUMNS) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function wordsOf(list: Readonly<Record<string, TypeWords>>, name: string): TypeWords {
  const words = list[name];
  if (!words) throw new Error(`Cannot make the props of "${name}": its type has no name, give it one in prop-words.ts`);
  return words;
}

function membersOf(fields: readonly Field[], name: string): readonly Field[] {
  return fields.find((field) => field.name === name)?.fields ?? [];
}

function namesIn({ name, fields = [] }: Field): readonly string[] {
  return [name, ...fields.flatMap(namesIn)];
}
