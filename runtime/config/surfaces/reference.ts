/** The reference of all settings as Markdown, made from the Field tree so that it cannot lag behind; REFERENCE.md is it. */
import { CRITERIA } from "../../policy/criteria.ts";
import { LIST_OPERATORS, STRING_OPERATORS } from "../../policy/match.ts";
import { OPERATORS } from "../../policy/parse.ts";
import { fallbackText, type Field, type Kind } from "../../settings/field.ts";
import { eachField } from "../../settings/shapes.ts";
import {
  ADMIN_ENDPOINTS,
  EXIT_CODES,
  MCP_ENDPOINTS,
  PUBLIC_ENDPOINTS,
  type ReferenceEndpoint,
} from "./reference-endpoints.ts";
import { routeFields, routeParts } from "../route.ts";
import { settingsFields } from "../settings.ts";

const TYPES: Readonly<Record<Kind, string>> = {
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

const INTRODUCTION = `A file is YAML or JSON. Settings and a \`routes\` list stand side by side:

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

What one owner publishes is a slice with the same words: \`{ version: 1, owner, settings, routes }\`, its routes by name.
Write a secret \`x\` in exactly one of three ways: \`x\`, the value itself; \`x_ref\`, \`env:NAME\`, \`file:/path\` or \`vault:<mount>/<path>#<field>\`; \`x_sealed\`, a seal.
A duration is a number with a unit: \`30s\`, \`5m\`, \`1h30m\`, \`90d\`.`;

export function configReference(): string {
  const boot = settingsFields.filter(({ scope }) => scope === "boot");
  const live = settingsFields.filter(({ scope }) => scope === "live");
  const sections: readonly (readonly [title: string, ...parts: string[]])[] = [
    ["Boot settings", "Only in the file given to `gateway run`; changes need a restart.", table(boot)],
    ["Live settings", "In the boot file and in published slices; changes go live without a restart.", table(live)],
    ["Routes", SURFACES, MATCHING, MESSAGES, GRPC, ...routeTables()],
    [
      "Policy",
      POLICY,
      ["| Criterion | Meaning | Reasons |", "|---|---|---|", ...CRITERIA.map(criterionRow)].join("\n"),
    ],
    ["Endpoints", ...ENDPOINTS],
    [
      "Exit codes of commands",
      pageTable(
        ["Code", "Meaning"],
        EXIT_CODES.map(([code, meaning]) => [String(code), meaning]),
      ),
    ],
  ];
  const contents = sections.flatMap(([title]) => [
    `- [${title}](#${anchorOf(title)})`,
    ...(title === "Routes"
      ? ["Which route takes a request", "gRPC", ...Object.keys(routeParts)].map(
          (part) => `  - [${part}](#${anchorOf(part)})`,
        )
      : []),
  ]);
  return [
    "# Reference",
    "Every setting, on every surface. Tasks: [guide](guide/README.md); terms: [glossary](guide/glossary.md).",
    contents.join("\n"),
    INTRODUCTION,
    ...sections.flatMap(([title, ...parts]) => [`## ${title}`, ...parts]),
  ].join("\n\n");
}

function routeTables(): readonly string[] {
  const left = new Map(routeFields.map((field) => [field.name, field]));
  const parts = Object.entries(routeParts).flatMap(([title, names]) => {
    const fields = names.flatMap((name) => left.get(name) ?? []);
    for (const name of names) left.delete(name);
    return [`### ${title}`, table(fields)];
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
  return pageTable(["Path", "Methods", "Meaning"], rows);
}

const ENDPOINTS = [
  "On the public listener, on every host with a route and on that of `authenticate_service_url`. They never reach an upstream.",
  endpointTable(PUBLIC_ENDPOINTS),
  "Where `runtime_flags.mcp` is true. An MCP server route that does not begin at `/` also has its metadata behind its own path.",
  endpointTable(MCP_ENDPOINTS),
  "On the admin listener (`admin_address`), with `admin_token` or an owner's `publish_token`: [Admin listener](operations/admin-listener.md).",
  endpointTable(ADMIN_ENDPOINTS),
];

const SURFACES = `Kubernetes: annotations begin with \`ingress.gateway.io/\`; lists, maps and blocks are YAML text. Terraform: a block around the setting
in \`route\`, for those that most routes do not have; \`routes\` takes the same as a map of objects, from modules. Details:
[terraform/README.md](terraform/README.md), [cdktf/README.md](../cdktf/README.md),
[examples/kubernetes-ingress](../examples/kubernetes-ingress/README.md).`;

const MATCHING = `### Which route takes a request

The order of routes never matters. Two routes with the same match are an error.

1. **Host.** An exact host goes before wildcards, a longer wildcard before a shorter one. An exact host never falls back on a wildcard.
2. **Path.** On a host an exact \`path\` goes first. Then comes \`regex\`: the highest \`regex_priority_order\`, then the longest literal
   beginning, then by text. Last comes the longest \`prefix\`.

Patterns are RE2 and match whole paths of up to 2,048 characters; a longer path is refused with 414 where a pattern might match.

A path is compared and sent in one spelling: escapes of plain characters are undone. \`%2F\`, \`//\` and dot segments are refused, and
so is a rewrite whose result would need them.`;

const MESSAGES = `### Message sizes and interim answers

A message to an MCP server route may have 4 KiB by default: a tool call that carries a
file of 6 KB is answered 413. \`mcp.server.max_request_bytes\` allows more.

No interim answer of an upstream reaches the client: Early Hints (103) are dropped, and 100 Continue is the gateway's own.`;

const GRPC = `### gRPC

A route with \`http2: true\` forwards all four kinds of calls, from clients that reach the gateway over HTTP/2.

- A path is \`/package.Service/Method\`: routes, patterns and policies may name services and methods.
- Metadata are headers: header settings hold for them, and \`authorization: Bearer …\` is read as on every route.
- Calls may be silent as event streams may (\`idle_timeout\`). \`timeout\` bounds the wait for an answer to begin once the request is
  whole, so a server that first speaks after an hour needs \`timeout: 0s\`. The caller's \`grpc-timeout\` ends a call earlier, never
  later. A client that begins a call without a message has one minute.
- gRPC-Web passes as any request does, over HTTP/1.1 and HTTP/2. It may be silent, too, and gets HTTP statuses. Pages of other origins
  need \`cors_allow_preflight\`, and an upstream that answers preflights.

What the gateway itself answers to a call (content type \`application/grpc\`) is a gRPC status, with the error code and the request ID
in its message. Records and metrics keep the HTTP status.

| gRPC status | When |
|---|---|
| UNAUTHENTICATED | nobody is signed in |
| PERMISSION_DENIED | policy denies |
| UNIMPLEMENTED | there is no route |
| RESOURCE_EXHAUSTED | too much at once |
| UNAVAILABLE, DEADLINE_EXCEEDED | the upstream is away, or late |
| INTERNAL | the call cannot be understood |`;

const POLICY = `A policy is a list of rules; each has some of \`allow\`, \`deny\` and \`approve\`, made of ${named(OPERATORS)},
each a list of criteria: all true, at least one true, **none** true, **at least one not** true (as in Pomerium; not the usual NOR).
Operators of one rule are alternatives. What is unknown, such as the e-mail address of a request that nobody signed in for, never
opens a route. [The guide](guide/policy.md#operators) has truth tables. Deny wins over allow; where no allow rule matches, the
answer is no. An approve rule that matches a tool call which would pass otherwise has it wait until it is approved on a page of
the gateway: by its user, or by somebody else of one of the groups in \`approvers\`; it is false for every other request, and hides
nothing from lists. \`gateway explain\` tells which rule decides. Matchers of texts: a value alone, or ${named(STRING_OPERATORS)};
of lists: a value alone, or ${named(LIST_OPERATORS)}.`;

function criterionRow({ name, takesPath, doc, reasons, leftOut }: (typeof CRITERIA)[number]): string {
  const reasonCell = named([...new Set([reasons.ok, reasons.no, ...(leftOut ? [leftOut.reason] : [])])]);
  return `| \`${name}${takesPath ? "/<path>" : ""}\` | ${escapeCell(doc)} | ${reasonCell} |`;
}

function named(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

function table(fields: readonly Field[]): string {
  return pageTable(["Setting", "Type", "Default", "Meaning"], [...eachField(fields)].map(cellsOf));
}

function cellsOf({ path, field }: { path: readonly string[]; field: Field }): readonly string[] {
  const name = path.join(".").replaceAll(".[]", "[]");
  const annotation = field.annotation === undefined ? "" : ` Kubernetes: \`${field.annotation}\`.`;
  const block = field.group === undefined ? "" : ` Terraform: in \`${field.group.name}\`.`;
  return [`\`${name}\``, typeOf(field), defaultOf(field), field.doc + withoutIt(field) + annotation + block];
}

function typeOf(field: Field): string {
  const type = field.values ? field.values.map((value) => `\`${value}\``).join(", ") : TYPES[field.kind];
  return field.many === true ? `${type} or list of them` : type;
}

/** A value, "required" or "none". What happens without a setting that has no value is told with its meaning. */
function defaultOf(field: Field): string {
  const { required, default: value, unset } = field;
  if (required) return "required";
  const isTold = value !== undefined || (unset !== undefined && (isValue(unset) || unset.startsWith("required")));
  return (isTold ? fallbackText(field) : undefined) ?? "none";
}

function withoutIt({ required, default: value, unset }: Field): string {
  if (required || value !== undefined || unset === undefined || unset === "none") return "";
  return unset.startsWith("required") || isValue(unset) ? "" : ` Without it: ${unset.replace(/^none: /, "")}.`;
}

/** Words that are a value themselves: `` `200 alone` ``, `":443"; …`. */
function isValue(unset: string): boolean {
  return /^`[^`]*`$|^"/.test(unset);
}

function escapeCell(text: string): string {
  return text.replaceAll("|", String.raw`\|`).replaceAll("\n", " ");
}
