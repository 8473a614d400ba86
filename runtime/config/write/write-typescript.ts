/** A slice as a TypeScript program of constructs. */
import type { Field } from "../../settings/field.ts";
import { memberNames, readSecretName, type SecretForm } from "../../settings/secret-forms.ts";
import { partsOf } from "../../settings/shapes.ts";
import { parseVaultReference } from "../../settings/vault-reference.ts";
import { isRecord, type Members } from "../../shared/is-record.ts";
import { visibleLiteral } from "../../shared/json/visible-text.ts";
import { routeFields } from "../route.ts";
import { settingsFields } from "../settings.ts";
import type { WrittenSlice } from "./written-slice.ts";
import { camel, code, type PropertyEntry, list, object, type Use } from "./source-code.ts";
import { policyCode } from "./write-policy.ts";

export function writeTypescript({ owner, settings, routes }: WrittenSlice): string {
  const used = new Set(["Gateway"]);
  const use: Use = (name) => {
    used.add(name);
    return name;
  };
  const gateway = object([
    ["owner", JSON.stringify(owner)],
    ...settingsCode(LIVE_FIELDS, settings, use),
    ["file", '{ directory: "/etc/gateway/slices" }'],
  ]);
  const body = Object.entries(routes).map(([name, route]) => routeCode(name, route, use));
  const imports = [...used].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  return [
    'import { App, LocalBackend, TerraformStack } from "cdktf";',
    `import {\n${imports.map((name) => `  ${name},`).join("\n")}\n} from "gateform/cdktf";`,
    "",
    "const app = new App();",
    `const stack = new TerraformStack(app, ${JSON.stringify(owner)});`,
    "// Set the backend of your own: state must outlive the machine that runs this.",
    'new LocalBackend(stack, { path: "terraform.tfstate" });',
    "",
    `const gateway = new Gateway(stack, "gateway", ${gateway});`,
    ...body.flatMap((code) => ["", code]),
    "",
    "app.synth();",
    "",
  ].join("\n");
}

function routeCode(name: string, route: Members, use: Use): string {
  const { mcp, ...rest } = route;
  const server = isRecord(mcp) && isRecord(mcp["server"]) ? mcp["server"] : undefined;
  const construct = server ? "McpServerRoute" : mcp === undefined ? "Route" : "McpClientRoute";
  const entries = settingsCode(routeFields, rest, use);
  if (server) entries.push(...settingsCode(SERVER_FIELDS, server, use).map(serverEntry));
  return `new ${use(construct)}(gateway, ${visibleLiteral(name)}, ${object(entries)});`;
}

const SERVER_FIELDS = fieldsAt(routeFields, "mcp", "server");
const LIVE_FIELDS = settingsFields.filter(({ scope }) => scope === "live");

function fieldsAt(fields: readonly Field[], ...path: readonly string[]): readonly Field[] {
  return path.reduce((each, name) => each.find((field) => field.name === name)?.fields ?? [], fields);
}

/** The route also has a `path`. */
function serverEntry([name, value]: PropertyEntry): PropertyEntry {
  return [name === "path" ? "mcpPath" : name, value];
}

/**
 * Settings as props of the constructs, in the form that `documentFrom` of `cdktf/` reads. Only names of settings are
 * written: constructs reject others, and some props are not settings (where to publish, a route's name).
 */
function settingsCode(fields: readonly Field[], members: Members, use: Use): PropertyEntry[] {
  const byName = new Map(fields.flatMap((field) => memberNames(field).map((name) => [name, field] as const)));
  return Object.entries(members).flatMap(([name, value]): PropertyEntry[] => {
    const field = byName.get(name);
    if (!field) return [];
    if (field.kind !== "secret") return [[camel(name), settingCode(field, value, use)]];
    const secret = secretCode(readSecretName(name).form, value, use);
    return [secret === undefined ? [name, code(value)] : [camel(field.name), secret]];
  });
}

function settingCode(field: Field, value: unknown, use: Use): string {
  const { name, kind, fields = [] } = field;
  if (kind === "criteria") return code(value);
  if (kind === "policy") return name === "policy" ? policyCode(value, use) : code(value);
  if (kind === "template-map") return textsCode(value, (text) => headerCode(text, use));
  if (name === "set_response_headers") return textsCode(value, (text) => code(undoubled(text)));
  const parts = field.fields && partsOf(field, value);
  if (!parts?.every(([, part]) => isRecord(part))) return code(value);
  const items = parts.map(([step, part]): PropertyEntry => {
    const members = part as Members;
    if (name === "upstream_oauth2") return ["", oauthCode(fields, members, use)];
    if (name === "rewrite_response_headers") return ["", object(settingsCode(fields, literalRewrite(members), use))];
    const entries = settingsCode(fields, members, use);
    const [only] = fields;
    const isSecret = kind === "labelled" && fields.length === 1 && only?.kind === "secret" && entries.length === 1;
    return [String(step), isSecret ? (entries[0]?.[1] ?? "") : object(entries)];
  });
  if (kind === "labelled") return object(items);
  return kind === "block" ? (items[0]?.[1] ?? "{}") : list(items.map(([, item]) => item));
}

/** One of the three ways that the constructs distinguish. */
function oauthCode(fields: readonly Field[], oauth: Members, use: Use): string {
  const entries = settingsCode(fields, oauth, use);
  const way =
    oauth["endpoint"] !== undefined ? "endpoints" : oauth["client_id"] === undefined ? "discover" : "credentials";
  return `${use("UpstreamOauth2")}.${way}(${entries.length > 0 ? object(entries) : ""})`;
}

/** @returns undefined for a value that is not valid for a secret */
function secretCode(form: SecretForm, value: unknown, use: Use): string | undefined {
  if (typeof value !== "string") return undefined;
  if (form === "plain") return `${use("Secret")}.plainText(${code(value)})`;
  if (form === "sealed") return `${use("Secret")}.sealed(${code(value)})`;
  const vault = parseVaultReference(value);
  if (vault) {
    const { segments, field, version } = vault;
    const options = version === undefined ? "" : `, ${version}`;
    return `${use("Secret")}.fromVault(${code(segments.join("/"))}, ${code(field)}${options})`;
  }
  const colon = value.indexOf(":");
  const factory = new Map([
    ["env", "fromEnvironment"],
    ["file", "fromFile"],
  ]).get(value.slice(0, colon));
  return factory && `${use("Secret")}.${factory}(${code(value.slice(colon + 1))})`;
}

const SUBSTITUTION =
  /\$\$|\$\{gateway\.(access_token|id_token|client_cert_fingerprint|jwt|request\.headers\["([^"]+)"\])\}/g;

function textsCode(value: unknown, write: (text: string) => string): string {
  if (!isRecord(value)) return code(value);
  return object(
    Object.entries(value).map(([name, text]) => [name, typeof text === "string" ? write(text) : code(text)]),
  );
}

/** Plain text as a string; text with substitutions as the tagged template. */
function headerCode(template: string, use: Use): string {
  const values: string[] = [];
  const pieces = [""];
  let end = 0;
  for (const match of template.matchAll(SUBSTITUTION)) {
    pieces[pieces.length - 1] += template.slice(end, match.index);
    end = match.index + match[0].length;
    const [whole, token = "", header] = match;
    if (whole === "$$") {
      pieces[pieces.length - 1] += "$";
      continue;
    }
    values.push(
      header === undefined
        ? `${use("gatewayToken")}.${camel(token)}`
        : `${use("requestHeader")}(${visibleLiteral(header)})`,
    );
    pieces.push("");
  }
  pieces[pieces.length - 1] += template.slice(end);
  const [only = ""] = pieces;
  if (values.length === 0)
    return only.includes("${") ? `${use("literal")}(${visibleLiteral(only)})` : visibleLiteral(only);
  if (values.length === 1 && pieces.every((piece) => piece === "")) return values[0] ?? "";
  // As JSON, so that no character changes (a template reads CR as LF), but without escaping quotes.
  const escape = (piece: string): string =>
    visibleLiteral(piece)
      .slice(1, -1)
      .replaceAll(/\\.|`|\$(?=\{|$)/g, (found) => (found === '\\"' ? '"' : found[0] === "\\" ? found : `\\${found}`));
  return `${use("headerValue")}\`${pieces.map((piece, at) => escape(piece) + (at < values.length ? `\${${values[at]}}` : "")).join("")}\``;
}

/** Constructs take literal text; in files "$" is doubled. */
function literalRewrite(rule: Members): Members {
  return { ...rule, ...("value" in rule && { value: undoubled(rule["value"]) }) };
}

function undoubled(text: unknown): unknown {
  return typeof text === "string" ? text.replaceAll("$$", "$") : text;
}
