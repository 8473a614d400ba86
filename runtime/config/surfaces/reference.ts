/**
 * The reference of all settings as Markdown, REFERENCE.md, generated from the Field tree so that it cannot be outdated.
 */
import { CRITERIA } from "../../policy/criteria.ts";
import { LIST_OPERATORS, STRING_OPERATORS } from "../../policy/match.ts";
import { OPERATORS } from "../../policy/parse.ts";
import { fallbackText, type Field, type FieldKind } from "../../settings/field.ts";
import { shapeOf } from "../../settings/shapes.ts";
import {
  ADMIN_ENDPOINTS,
  EXIT_CODES,
  MCP_ENDPOINTS,
  PUBLIC_ENDPOINTS,
  type ReferenceEndpoint,
} from "./reference-endpoints.ts";
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
A duration is a number with a unit: \`30s\`, \`5m\`, \`1h30m\`, \`90d\`.`;

export function configReference(): string {
  const printed: Printed = new Map();
  const [fixed, dynamic] = [settingsFields.filter(isStatic), settingsFields.filter((field) => !isStatic(field))];
  const sections: readonly (readonly [title: string, ...parts: string[]])[] = [
    ["Static settings", "Main configuration file only. Changes require a restart.", table(fixed, printed)],
    [
      "Dynamic settings",
      "Main configuration file and published slices. Changes take effect without a restart.",
      table(dynamic, printed),
    ],
    ["Routes", SURFACES, MATCHING, MESSAGES, GRPC, ...routeTables(printed)],
    [
      "Policy",
      POLICY,
      ["| Criterion | Description | Reasons |", "|---|---|---|", ...CRITERIA.map(criterionRow)].join("\n"),
    ],
    ["Endpoints", ...ENDPOINTS],
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
      ? ["Route matching", "gRPC", ...Object.keys(routeParts)].map((part) => `  - [${part}](#${anchorOf(part)})`)
      : []),
  ]);
  return [
    "# Reference",
    "All settings, endpoints and exit codes. Tasks: [guide](guide/README.md). Terms: [glossary](guide/glossary.md).",
    contents.join("\n"),
    INTRODUCTION,
    ...sections.flatMap(([title, ...parts]) => [`## ${title}`, ...parts]),
  ].join("\n\n");
}

function isStatic({ scope }: Field): boolean {
  return scope === "boot";
}

function routeTables(printed: Printed): readonly string[] {
  const left = new Map(routeFields.map((field) => [field.name, field]));
  const parts = Object.entries(routeParts).flatMap(([title, names]) => {
    const fields = names.flatMap((name) => left.get(name) ?? []);
    for (const name of names) left.delete(name);
    return [`### ${title}`, table(fields, printed)];
  });
  if (left.size > 0) throw new Error(`Cannot make the reference: no part has ${[...left.keys()].join(", ")}`);
  return parts;
}

function anchorOf(title: string): string {
  return title.toLowerCase().replaceAll(" ", "-");
}

function pageTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function endpointTable(endpoints: readonly ReferenceEndpoint[]): string {
  const rows = endpoints.map(({ path, methods, about }) => [`\`${path}\``, methods.join(", "), about]);
  return pageTable(["Path", "Methods", "Description"], rows);
}

const ENDPOINTS = [
  "Public listener, on every host with a route and on that of `authenticate_service_url`. Not forwarded to upstreams.",
  endpointTable(PUBLIC_ENDPOINTS),
  "With `runtime_flags.mcp`. An MCP server route with a base path also serves its metadata at these paths followed by that path.",
  endpointTable(MCP_ENDPOINTS),
  "Admin listener (`admin_address`), with `admin_token` or an owner's `publish_token`: [Admin listener](operations/admin-listener.md).",
  endpointTable(ADMIN_ENDPOINTS),
];

const SURFACES = `*K8s* marks settings that are also Kubernetes annotations, \`ingress.gateway.io/<setting>\` with \`_\` instead of dots, unless another
name is given. Lists, maps and blocks are YAML text there. *Terraform* names the block of the setting in \`route\`. The argument
\`routes\` accepts the same settings as a map of objects, for modules. Details:
[terraform/README.md](terraform/README.md), [cdktf/README.md](../cdktf/README.md),
[examples/kubernetes-ingress](../examples/kubernetes-ingress/README.md).`;

const MATCHING = `### Route matching

The order of routes has no effect. Two routes with the same match are an error.

1. **Host.** An exact host takes precedence over wildcards, a longer wildcard over a shorter one. An exact host never falls back to a wildcard.
2. **Path.** An exact \`path\` takes precedence. Next is \`regex\`: the highest \`regex_priority_order\`, then the longest literal
   prefix, then by text. Last is the longest \`prefix\`.

Patterns are RE2 and match whole paths of up to 2,048 characters. A longer path gets 414 if a pattern might match.

Paths are compared and forwarded in normalized form, with unnecessary escapes decoded. \`%2F\`, \`//\` and dot segments are rejected,
and so are rewrites that result in them.`;

const MESSAGES = `### Message sizes and interim responses

A message to an MCP server route can have 4 KiB by default. A tool call with a file of 6 KB gets 413:
increase \`mcp.server.max_request_bytes\`.

Interim responses of upstreams are not forwarded: Early Hints (103) are dropped, and 100 Continue is sent by the gateway itself.`;

const GRPC = `### gRPC

A route with \`http2: true\` forwards all four kinds of calls from clients that use HTTP/2.

- The path is \`/package.Service/Method\`. Routes, patterns and policies can name services and methods.
- Metadata are headers. Header settings apply, and \`authorization: Bearer …\` is read as on every route.
- \`idle_timeout\` applies as to event streams. \`timeout\` limits the time until the response starts, counted from the end of the
  request. A server that first responds after an hour needs \`timeout: 0s\`. The client's \`grpc-timeout\` can only shorten it.
  A client that opens a call must send a message within one minute.
- gRPC-Web works over HTTP/1.1 and HTTP/2, with the same idle times and with HTTP statuses. Pages of other origins require
  \`cors_allow_preflight\` and an upstream that responds to preflight requests.

Responses of the gateway itself (content type \`application/grpc\`) have a gRPC status, with the error code and request ID in the
message. Records and metrics contain the HTTP status.

| gRPC status | Cause |
|---|---|
| UNAUTHENTICATED | not signed in |
| PERMISSION_DENIED | denied by policy |
| UNIMPLEMENTED | no matching route |
| RESOURCE_EXHAUSTED | limit exceeded |
| UNAVAILABLE, DEADLINE_EXCEEDED | upstream unavailable, or too slow |
| INTERNAL | invalid call |`;

const POLICY = `A policy is a list of rules. Each has \`allow\`, \`deny\` or \`approve\` blocks, made of ${named(OPERATORS)}: lists of criteria of
which all match, at least one matches, **none** matches, **at least one does not** match (as in Pomerium; not the usual NOR).
One operator of a rule is enough. Truth tables: [guide](guide/policy.md#operators).

- Deny takes precedence over allow. Without a matching allow rule, the request is denied.
- Unknown values never allow a request, such as the email address of a request without sign-in.
- An approve rule that matches an otherwise allowed tool call requires approval on a page of the gateway: by the user, or by another
  user in one of the groups in \`approvers\`. It does not apply to other requests, and hides nothing from lists.
- \`gateway explain\` shows the deciding rule.
- Text matchers: a value, or ${named(STRING_OPERATORS)}. List matchers: a value, or ${named(LIST_OPERATORS)}.`;

function criterionRow({ name, takesPath, doc, reasons, omitted }: (typeof CRITERIA)[number]): string {
  const reasonCell = named([...new Set([reasons.ok, reasons.no, ...(omitted ? [omitted.reason] : [])])]);
  return `| \`${name}${takesPath ? "/<path>" : ""}\` | ${escapeCell(doc)} | ${reasonCell} |`;
}

function named(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

/** Already printed texts: doc → setting, and member docs → the block that has them. */
type Printed = Map<string, string>;

function table(fields: readonly Field[], printed: Printed): string {
  return pageTable(["Setting", "Type", "Default", "Description"], rowsOf(fields, "", printed));
}

/** A row for each setting, outer before inner; a block with members that were already printed has only its own row. */
function rowsOf(fields: readonly Field[], above: string, printed: Printed): readonly (readonly string[])[] {
  return fields.flatMap((field) => {
    const path = above === "" ? field.name : `${above}.${field.name}`;
    const { doc, fields: members = [] } = field;
    const known = doc.length < LONG_DOC ? undefined : printed.get(doc);
    if (known === undefined) printed.set(doc, path);
    printed.set(identityOf(field), above);
    const inside = `${path}${INSIDE[shapeOf(field)] ?? ""}`;
    const blocks = new Set(members.map((member) => printed.get(identityOf(member))));
    const [block] = members.length > 1 && blocks.size === 1 ? blocks : [];
    const texts = [
      known === undefined ? doc : `See \`${known}\`.`,
      ...(block === undefined ? [] : [`Members: see \`${block}\`.`]),
      ...surfacesOf(field, path),
    ];
    const row = [`\`${path}\``, typeOf(field), needOf(field), texts.join(" ")];
    return [row, ...(block === undefined ? rowsOf(members, inside, printed) : [])];
  });
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

function surfacesOf({ annotation, group }: Field, path: string): readonly string[] {
  const isSame = annotation === path.replaceAll(".", "_");
  return [
    ...(annotation === undefined ? [] : [isSame ? "*K8s.*" : `*K8s:* \`${annotation}\`.`]),
    ...(group === undefined ? [] : [`*Terraform:* \`${group.name}\`.`]),
  ];
}

function typeOf(field: Field): string {
  const type = field.values ? field.values.map((value) => `\`${value}\``).join(", ") : TYPES[field.kind];
  return field.many === true ? `${type} or list of them` : type;
}

function escapeCell(text: string): string {
  return text.replaceAll("|", String.raw`\|`).replaceAll("\n", " ");
}
