/** A whole gateway with a provider of its own, at which somebody has signed in, with as many routes as one wants. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { parse } from "yaml";

import { type IdentityProviderOptions, startIdentityProvider } from "../../../examples/demo/identity-provider.ts";
import { visit } from "../../../examples/demo/person.ts";
import { createBrowser } from "../../support/browser.ts";
import { signInClient } from "../../support/oauth-client.ts";
import { freePort } from "../../support/ports.ts";
import { type PeerStart, untilListening } from "../peers/peer.ts";
import type { Child } from "./child.ts";

export const MANY_ROUTES = 1000;
const FULL = join(import.meta.dirname, "full.ts");
/** With 100,000 routes on a busy machine. */
const PATIENCE_MS = 240_000;

export interface GatewayStart {
  readonly directory: string;
  readonly name: string;
  /** Origin. */
  readonly upstream: string;
  readonly start: PeerStart;
  /** Boot settings beside the usual ones, YAML. */
  readonly settings?: string;
  /** Default "memory:". */
  readonly storage?: string;
  /** Default "warn". */
  readonly logLevel?: string;
  /** With a console for Alice, on 127.0.0.1. */
  readonly hasConsole?: boolean;
  /** The listener speaks TLS; no MCP client signs in then. The certificate is for localhost and trusted by this process. */
  readonly tls?: { readonly certificateFile: string; readonly keyFile: string };
  /** Alice among them. */
  readonly users?: IdentityProviderOptions["users"];
  /** Beside those that are asked, each on a host of its own; default 1,000. */
  readonly otherRoutes?: number;
  /** One of them, without name and origin; default: with a policy of two rules and header settings. */
  readonly otherRoute?: (upstream: string, index: number) => object;
  /** Entries of `routes` before all others, YAML. */
  readonly moreRoutes?: (port: number) => string;
  /** Whose gateway runs; default this one. */
  readonly checkout?: string;
  /** The built program, instead of sources; see `builtProgram()`. */
  readonly program?: string;
  /** Of Node. */
  readonly flags?: readonly string[];
}

/** A whole gateway with a provider of its own, at which Alice has signed in. */
export async function startGateway({
  directory,
  name,
  upstream,
  start,
  settings = "",
  storage,
  logLevel = "warn",
  hasConsole,
  tls,
  users,
  otherRoutes = MANY_ROUTES,
  otherRoute = largeRoute,
  moreRoutes,
  checkout,
  program,
  flags = [],
}: GatewayStart) {
  const port = await freePort();
  const scheme = tls === undefined ? "http" : "https";
  const pages = `${scheme}://${hasConsole === true ? "127.0.0.1" : "localhost"}:${port}`;
  const redirect = `${pages}/.gateway/callback`;
  const more = hasConsole === true ? consoleSettings(pages) : "";
  const provider = await startIdentityProvider({
    clients: [{ client_id: "gateway", client_secret: "benchmark", redirect_uris: [redirect] }],
    ...(users && { users }),
  });
  const config = join(directory, `${name}.json`);
  const log = join(directory, `${name}.log`);
  const secret = randomBytes(32);
  const text = configuration({ port, upstream, issuer: provider.issuer, log, storage, secret, tls, moreRoutes });
  const document = parse(`log_level: ${logLevel}\n${settings}${more}${text}`) as { readonly routes: object[] };
  const others = Array.from({ length: otherRoutes }, (_, index) => ({
    name: `other-${index}`,
    from: `${scheme}://app-${index}.localhost`,
    ...otherRoute(upstream, index),
  }));
  // Plain JSON may be larger than YAML.
  await writeFile(config, JSON.stringify({ ...document, routes: [...document.routes, ...others] }));
  const started = await (program === undefined
    ? // Prints its port once it answers.
      start("target", process.execPath, ...flags, FULL, config, ...(checkout === undefined ? [] : [checkout]))
    : runProgram(start, port, [process.execPath, ...flags, program, "run", "--config", config]));
  const child = { ...started, port };
  const browser = createBrowser();
  await visit(browser, `${scheme}://localhost:${port}/web/`, { user: "alice@example.com" });
  const token = tls === undefined ? await tokenFor(port, "/mcp") : "";
  return {
    child,
    cookie: browser.cookieHeader("localhost"),
    bearer: `Bearer ${token}`,
    /** `shared_secret`. */
    secret,
    /** Of the host of our own pages. */
    pagesCookie: browser.cookieHeader(new URL(pages).hostname),
    close: () => provider.close(),
  };
}

/** `gateway run` is quiet on standard output, where its port is expected. */
async function runProgram(start: PeerStart, port: number, command: readonly string[]): Promise<Child> {
  const child = await start("target", "/bin/sh", "-c", 'echo "$0"; exec "$@"', String(port), ...command);
  await untilListening("the gateway", port, PATIENCE_MS, child.pid);
  return child;
}

/** For Alice. @param path of an MCP route */
export async function tokenFor(port: number, path: string): Promise<string> {
  const resource = `http://localhost:${port}${path}`;
  return (await signInClient({ resource, user: "alice@example.com" })).tokens.access_token;
}

function consoleSettings(pages: string): string {
  return `authenticate_service_url: ${pages}\nconsole: { operator: { allow: { and: [{ email: { is: alice@example.com } }] } } }\n`;
}

interface Configuration {
  readonly port: number;
  readonly upstream: string;
  readonly issuer: string;
  readonly log: string;
  readonly storage: string | undefined;
  readonly secret: Buffer;
  readonly tls: GatewayStart["tls"];
  readonly moreRoutes: ((port: number) => string) | undefined;
}

/** Policy, header settings and records on. */
function configuration(parts: Configuration): string {
  const { port, upstream, issuer, log, storage = "memory:", secret, tls, moreRoutes } = parts;
  // One deny rule each, about what requests of that kind have.
  const ofTools = "mcp_tool: { starts_with: delete_ }";
  const route = (name: string, from: string, rest: string, denied = "http_method: { is: DELETE }") =>
    `  - { name: ${name}, from: "${from}", to: "${upstream}", ${rest},\n` +
    `      policy: [{ allow: { and: [{ domain: { is: example.com } }, { groups: { has: engineering } }] } }, { deny: { or: [{ ${denied} }] } }],\n` +
    `      set_request_headers: { X-Team: platform }, remove_request_headers: [X-Debug], set_response_headers: { X-Served-By: gateway } }\n`;
  const own = `${tls === undefined ? "http" : "https"}://localhost:${port}`;
  const listener = tls
    ? `certificates: [{ certificate_file: ${tls.certificateFile}, certificate_key_file: ${tls.keyFile} }]`
    : "insecure_server: true";
  return `address: 127.0.0.1:${port}
admin_address: 127.0.0.1:0
${listener}
development: true
shared_secret: ${secret.toString("base64")}
storage_url: "${storage}"
authorize_log: ${log}
runtime_flags: { mcp: true }
idp_provider_url: ${issuer}
idp_client_id: gateway
idp_client_secret: benchmark
access_token_lifetime: 1h
routes:
${moreRoutes?.(port) ?? ""}${route("web", own, "prefix: /web")}${route("mcp", own, "prefix: /mcp, mcp: { server: { max_request_bytes: 65536 } }", ofTools)}`;
}

/** One of many, so that finding one is part of the work. */
function largeRoute(upstream: string): object {
  return {
    to: upstream,
    prefix: "/",
    policy: [
      { allow: { and: [{ domain: { is: "example.com" } }, { groups: { has: "engineering" } }] } },
      { deny: { or: [{ http_method: { is: "DELETE" } }] } },
    ],
    set_request_headers: { "X-Team": "platform" },
    remove_request_headers: ["X-Debug"],
    set_response_headers: { "X-Served-By": "gateway" },
  };
}
