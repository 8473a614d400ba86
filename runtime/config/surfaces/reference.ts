/**
 * The reference of all settings as Markdown, REFERENCE.md and a page of MCP routes, generated from the Field tree so that
 * it cannot be outdated.
 */
import { fallbackText, type Field, type FieldKind } from "../../settings/field.ts";
import { shapeOf } from "../../settings/shapes.ts";
import { MCP_SETTINGS_PAGE, SETTINGS_PAGE } from "./documentation-pages.ts";
import { EXIT_CODES } from "./reference-endpoints.ts";
import { routeFields, routeParts } from "../route.ts";
import { settingsFields } from "../settings.ts";

const TYPES: Readonly<Record<FieldKind, string>> = {
  text: "string",
  flag: "boolean",
  count: "integer",
  duration: "duration",
  url: "URL",
  choice: "choice",
  "domain-pattern-list": "list of domain patterns",
  "text-list": "list of strings",
  "url-list": "URL or list of URLs",
  "text-map": "map of strings",
  "template-map": "map of strings with substitutions",
  "text-list-map": "map of lists of strings",
  secret: "secret",
  block: "block",
  "block-list": "list of blocks",
  labelled: "map of blocks",
  policy: "policy",
  criteria: "criteria of a policy",
};

const INTRODUCTION = `A file is YAML or JSON, with settings and a \`routes\` list:

\`\`\`yaml
runtime_flags:
  mcp: true
routes:
  - name: tools
    from: https://tools.example.com
    to: http://tools.internal:8080
    policy:
      - allow:
          and:
            - domain:
                is: example.com
    mcp:
      server: {}
\`\`\`

A slice is the configuration that one owner publishes: \`{ version: 1, owner, settings, routes }\`, with routes by name.
Write a secret \`x\` in exactly one of three forms: \`x\`, its value; \`x_ref\`, a reference (\`env:NAME\`, \`file:/path\` or \`vault:<mount>/<path>#<field>\`); \`x_sealed\`, its value encrypted to the gateway's public key.
A duration is a number with a unit: \`30s\`, \`5m\`, \`1h30m\`, \`90d\`. A domain pattern is a host, or \`*.example.com\` for all hosts below it.`;

/** Both pages, one after the other. */
export function configReference(): string {
  return [...settingsPages().values()].join("\n");
}

/** @returns path of each page → text */
export function settingsPages(): ReadonlyMap<string, string> {
  const printed: Printed = { docs: new Map(), fields: new Map(), blocks: new Map() };
  const [fixed, dynamic] = [settingsFields.filter(isStatic), settingsFields.filter((field) => !isStatic(field))];
  const [fixedTable, dynamicTable] = [table(fixed, printed), table(dynamic, printed)];
  const routes = routeTables(printed);
  const mcp = routes.get(MCP_PART) ?? "";
  routes.set(MCP_PART, `Settings of \`mcp\`: [their own page](${MCP_SETTINGS_PAGE.slice("runtime/".length)}).`);
  const sections: readonly (readonly [title: string, ...parts: string[]])[] = [
    ["Static settings", "Main configuration file only. Changes require a restart.", fixedTable],
    [
      "Dynamic settings",
      "Main configuration file and published slices. Changes take effect without a restart.",
      dynamicTable,
    ],
    ["Routes", SURFACES, MATCHING, MESSAGES, ...[...routes].map(([title, text]) => `### ${title}\n\n${text}`)],
    [
      "Exit codes of commands",
      pageTable(
        ["Code", "Description"],
        EXIT_CODES.map(([code, meaning]) => [String(code), meaning]),
      ),
    ],
  ];
  const contents = sections.flatMap(([title]) => [
    `- [${title}](#${anchorOf(title)})`,
    ...(title === "Routes"
      ? ["Route matching", ...Object.keys(routeParts)].map((part) => `  - [${part}](#${anchorOf(part)})`)
      : []),
  ]);
  const main = [
    "# Reference",
    "All settings, and exit codes of commands. Criteria of policies: [policy](reference/policy.md). Tasks and details: [guide](guide/README.md), [operations](operations/README.md). Terms: [glossary](guide/glossary.md). [Endpoints](reference/endpoints.md) and [errors](reference/errors.md) have their own pages.",
    contents.join("\n"),
    INTRODUCTION,
    ...sections.flatMap(([title, ...parts]) => [`## ${title}`, ...parts]),
  ].join("\n\n");
  const ofMcp = [`# ${MCP_PART}`, MCP_INTRODUCTION, mcp].join("\n\n");
  return new Map([
    [SETTINGS_PAGE, `${main}\n`],
    [MCP_SETTINGS_PAGE, `${ofMcp}\n`],
  ]);
}

const MCP_PART = "MCP servers and clients";
const MCP_INTRODUCTION =
  "Settings of `mcp` in a route. All others, forms of secrets and durations, and what *K8s* means: [Reference](../REFERENCE.md#routes).";

function isStatic({ scope }: Field): boolean {
  return scope === "boot";
}

/** @returns heading → table */
function routeTables(printed: Printed): Map<string, string> {
  const left = new Map(routeFields.map((field) => [field.name, field]));
  const parts = Object.entries(routeParts).map(([title, names]): [string, string] => {
    const fields = names.flatMap((name) => left.get(name) ?? []);
    for (const name of names) left.delete(name);
    return [title, table(fields, printed)];
  });
  if (left.size > 0) throw new Error(`Cannot make the reference: no part has ${[...left.keys()].join(", ")}`);
  return new Map(parts);
}

function anchorOf(title: string): string {
  return title.toLowerCase().replaceAll(" ", "-");
}

export function pageTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

const SURFACES = `*K8s* marks settings that are also Kubernetes annotations, \`ingress.gateway.io/<setting>\` with \`_\` instead of dots, unless another
name is given. Lists, maps and blocks are YAML text there. Terraform has some settings in blocks of \`route\`:
[arguments](reference/terraform-arguments.md#block-route). The argument \`routes\` accepts all as a map of objects, for modules. Details:
[terraform/README.md](terraform/README.md), [cdktf/README.md](../cdktf/README.md),
[examples/kubernetes-ingress](../examples/kubernetes-ingress/README.md).`;

const MATCHING = `### Route matching

The order of routes has no effect. Two routes with the same match are an error.

1. **Host.** An exact host takes precedence over wildcards, a longer wildcard over a shorter one. An exact host never falls back to a wildcard.
2. **Path.** An exact \`path\` takes precedence. Next is \`regex\`: the highest \`regex_priority_order\`, then the longest literal
   prefix, then by text. Last is the longest \`prefix\`.
3. **Conditions.** \`match_methods\` come first, then more \`match_headers\`, then more \`match_query\`, then
   \`match_priority_order\`. A request that meets none goes to the route without conditions, or to the next shorter path.

Patterns are RE2 and match whole paths of up to 2,048 characters. A longer path gets 414 if a pattern might match.

Paths are compared and forwarded in normalized form, with unnecessary escapes decoded. \`%2F\`, \`//\` and dot segments are rejected,
and so are rewrites that result in them.`;

const MESSAGES = `### Message sizes and interim responses

A message to an MCP server route can have 4 KiB by default. A tool call with a file of 6 KB gets 413:
increase \`mcp.server.max_request_bytes\`. Messages are held in memory during evaluation.

Interim responses of upstreams are not forwarded: Early Hints (103) are dropped, and 100 Continue is sent by the gateway itself.`;

/** Where fields and texts are printed: doc → setting, field → setting, and member → the block that has it. */
interface Printed {
  readonly docs: Map<string, string>;
  readonly fields: Map<string, string>;
  readonly blocks: Map<string, string>;
}

function table(fields: readonly Field[], printed: Printed): string {
  return pageTable(["Setting", "Type", "Default", "Description"], rowsOf(fields, "", printed));
}

/**
 * A row for each setting, outer before inner. A block with members that were already printed has only its own row, as
 * have members that are also settings with a prefix.
 */
function rowsOf(fields: readonly Field[], above: string, printed: Printed): readonly (readonly string[])[] {
  return fields.flatMap((field) => {
    const path = above === "" ? field.name : `${above}.${field.name}`;
    const { doc, fields: members = [] } = field;
    const known = doc.length < LONG_DOC ? undefined : printed.docs.get(doc);
    if (known === undefined) printed.docs.set(doc, path);
    printed.fields.set(identityOf({ ...field, name: "" }), path);
    printed.blocks.set(identityOf(field), above);
    const inside = `${path}${INSIDE[shapeOf(field)] ?? ""}`;
    const blocks = new Set(members.map((member) => printed.blocks.get(identityOf(member))));
    const [block] = members.length > 1 && blocks.size === 1 ? blocks : [];
    const shared = new Map(members.map((member) => [member, prefixedSetting(member, printed)]));
    const own = members.filter((member) => shared.get(member) === undefined);
    const texts = [
      known === undefined ? doc : `See \`${known}\`.`,
      ...(block === undefined ? [] : [`Members: see \`${block}\`.`]),
      ...(own.length === members.length || block !== undefined ? [] : [sharedText(shared)]),
      ...surfacesOf(field, path),
    ];
    const row = [`\`${path}\``, typeOf(field), needOf(field), texts.join(" ")];
    return [row, ...(block === undefined ? rowsOf(own, inside, printed) : [])];
  });
}

/** The global setting that a member repeats: `idp_client_auth` for `client_auth`. */
function prefixedSetting(member: Field, printed: Printed): string | undefined {
  const path = printed.fields.get(identityOf({ ...member, name: "" }));
  return path?.endsWith(`_${member.name}`) === true ? path : undefined;
}

function sharedText(shared: ReadonlyMap<Field, string | undefined>): string {
  const same = [...shared].filter(([, path]) => path !== undefined);
  const [[field, path = ""] = []] = same;
  const prefix = path.slice(0, -(field?.name.length ?? 0));
  return `As the settings with the prefix \`${prefix}\`: ${same.map(([{ name }]) => `\`${name}\``).join(", ")}.`;
}

/** Shorter docs are repeated: reading them is faster than following a link. */
const LONG_DOC = 60;

const INSIDE: Partial<Record<ReturnType<typeof shapeOf>, string>> = { blocks: "[]", labelled: ".<name>" };

function identityOf(field: Field): string {
  return JSON.stringify(field);
}

function needOf(field: Field): string {
  if (field.required) return "required";
  const isAll = field.itemValues !== undefined && field.itemValues === field.default;
  return isAll ? "all" : (fallbackText(field) ?? "");
}

function surfacesOf({ annotation }: Field, path: string): readonly string[] {
  if (annotation === undefined) return [];
  return [annotation === path.replaceAll(".", "_") ? "*K8s.*" : `*K8s:* \`${annotation}\`.`];
}

function typeOf(field: Field): string {
  const type = field.values ? field.values.map((value) => `\`${value}\``).join(", ") : TYPES[field.kind];
  return field.many === true ? `${type} or list of them` : type;
}

function escapeCell(text: string): string {
  return text.replaceAll("|", String.raw`\|`).replaceAll("\n", " ");
}
