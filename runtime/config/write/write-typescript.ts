/** A slice as a program of constructs. */
import { readSecretName } from "../../settings/secret-spellings.ts";
import { isRecord, type Members } from "../../shared/is-record.ts";
import { routeFields } from "../route.ts";
import type { WrittenSlice } from "./written-slice.ts";
import { camel, camelCode, code, type Entry, key, object, type Use } from "./source-code.ts";
import { policyCode } from "./write-policy.ts";

export function writeTypescript({ owner, settings, routes }: WrittenSlice): string {
  const used = new Set(["Gateway"]);
  const use: Use = (name) => {
    used.add(name);
    return name;
  };
  const gateway = object([
    ["owner", JSON.stringify(owner)],
    ...settingsCode(settings, use),
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

function settingsCode(settings: Members, use: Use): Entry[] {
  return Object.entries(settings).map(([name, value]) => {
    const secret = readSecretName(name);
    if (secret.form === "ref") return [camel(secret.name), secretCode(String(value), use)];
    if (name === "set_response_headers") return [camel(name), literals(value)];
    return [camel(name), isRecord(value) && name === "runtime_flags" ? camelCode(value) : code(value)];
  });
}

function routeCode(name: string, route: Members, use: Use): string {
  const { mcp, policy, ...rest } = route;
  const server = isRecord(mcp) && isRecord(mcp["server"]) ? mcp["server"] : undefined;
  const construct = server ? "McpServerRoute" : mcp === undefined ? "Route" : "McpClientRoute";
  const entries: Entry[] = [];
  for (const [key, value] of Object.entries(rest)) {
    const secret = /^(.*)_ref$/.exec(key)?.[1];
    if (secret !== undefined) entries.push([camel(secret), secretCode(String(value), use)]);
    else if (key === "set_request_headers") entries.push([camel(key), requestHeaders(value, use)]);
    else if (key === "set_response_headers") entries.push([camel(key), literals(value)]);
    else if (key === "rewrite_response_headers")
      entries.push([camel(key), code((value as Members[]).map(literalRewrite))]);
    else entries.push([camel(key), BLOCKS.has(key) ? camelCode(value) : code(value)]);
  }
  if (policy !== undefined) entries.push(["policy", policyCode(policy, use)]);
  if (server) entries.push(...serverCode(server, use));
  return `new ${use(construct)}(gateway, ${JSON.stringify(name)}, ${object(entries)});`;
}

/** Settings whose members are settings too, and so are props. */
const BLOCKS = new Set(
  routeFields.filter(({ kind }) => kind === "block" || kind === "block-list").map(({ name }) => name),
);

function serverCode(server: Members, use: Use): Entry[] {
  return Object.entries(server).map(([key, value]) => {
    if (key === "path") return ["mcpPath", code(value)];
    if (key === "upstream_oauth2" && isRecord(value)) return ["upstreamOauth2", oauthCode(value, use)];
    return [camel(key), code(value)];
  });
}

/** One of the three ways, as the constructs tell them apart. */
function oauthCode(oauth: Members, use: Use): string {
  const { client_secret_ref: secret, endpoint, ...rest } = oauth;
  const entries: Entry[] = Object.entries(rest).map(([key, value]) => [camel(key), code(value)]);
  if (typeof secret === "string") entries.push(["clientSecret", secretCode(secret, use)]);
  if (isRecord(endpoint)) entries.push(["endpoint", camelCode(endpoint)]);
  const way = endpoint !== undefined ? "endpoints" : oauth["client_id"] === undefined ? "discover" : "credentials";
  return `${use("UpstreamOauth2")}.${way}(${entries.length > 0 ? object(entries) : ""})`;
}

function secretCode(reference: string, use: Use): string {
  const colon = reference.indexOf(":");
  const factory = reference.slice(0, colon) === "env" ? "fromEnvironment" : "fromFile";
  return `${use("Secret")}.${factory}(${JSON.stringify(reference.slice(colon + 1))})`;
}

const SUBSTITUTION =
  /\$\$|\$\{gateway\.(access_token|id_token|client_cert_fingerprint|jwt|request\.headers\["([^"]+)"\])\}/g;

function requestHeaders(value: unknown, use: Use): string {
  if (!isRecord(value)) return code(value);
  return object(Object.entries(value).map(([name, text]) => [key(name), headerCode(String(text), use)]));
}

/** Plain text as a string; with something to fill in, as the tagged template. */
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
        : `${use("requestHeader")}(${JSON.stringify(header)})`,
    );
    pieces.push("");
  }
  pieces[pieces.length - 1] += template.slice(end);
  const [only = ""] = pieces;
  if (values.length === 0)
    return only.includes("${") ? `${use("literal")}(${JSON.stringify(only)})` : JSON.stringify(only);
  if (values.length === 1 && pieces.every((piece) => piece === "")) return values[0] ?? "";
  const escape = (piece: string): string => piece.replaceAll(/[`\\]|\$(?=\{|$)/g, String.raw`\$&`);
  return `${use("headerValue")}\`${pieces.map((piece, at) => escape(piece) + (at < values.length ? `\${${values[at]}}` : "")).join("")}\``;
}

/** Constructs take literal text, files a doubled "$". */
function literals(value: unknown): string {
  if (!isRecord(value)) return code(value);
  return object(Object.entries(value).map(([name, text]) => [key(name), code(undoubled(text))]));
}

function literalRewrite(rule: Members): Members {
  return { ...rule, value: undoubled(rule["value"]) };
}

function undoubled(text: unknown): unknown {
  return typeof text === "string" ? text.replaceAll("$$", "$") : text;
}
