/**
 * What is compared: the whole gateway (a real `gateway run` with a real sign-in before the measurement), nginx where it
 * is installed, `@fastify/http-proxy`, and the bare proxy; all before one upstream.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type IdentityProviderOptions, startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { visit } from "../../examples/demo/person.ts";
import { createBrowser } from "../support/browser.ts";
import { signInClient } from "../support/oauth-client.ts";
import { freePort } from "../support/ports.ts";
import { type Child, startChild } from "./child.ts";
import { NGINX, startNginx } from "./nginx.ts";

export interface Workload {
  readonly name: string;
  readonly title: string;
}

export interface Target {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  /** Request bytes by workload; absent where the target cannot do it. */
  readonly requests: Readonly<Record<string, Buffer>>;
}

export interface Bench {
  readonly workloads: readonly Workload[];
  readonly targets: readonly Target[];
  close(): Promise<void>;
}

const here = import.meta.dirname;
const MANY_ROUTES = 1000;

export async function startTargets(): Promise<Bench> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  const children: Child[] = [];
  const start = async (core: "target" | "rest", command: string, ...args: string[]): Promise<Child> => {
    const child = await startChild(core, command, args);
    children.push(child);
    return child;
  };
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const child of children) await child.stop();
    for (const closer of closers) await closer();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const upstream = await start("rest", process.execPath, join(here, "upstream.ts"));
    const origin = `http://127.0.0.1:${upstream.port}`;
    const bare = await start("target", process.execPath, join(here, "bare.ts"), origin);
    const fastify = await start("target", process.execPath, join(here, "fastify-proxy.ts"), origin);
    const nginx = existsSync(NGINX) ? await startNginx(directory, upstream.port, start) : undefined;

    const gateway = await startGateway({ directory, name: "gateway", upstream: origin, start });
    closers.push(gateway.close);
    const { cookie, bearer } = gateway;

    const plain = (name: string, child: Child): Target => ({
      name,
      pid: child.pid,
      port: child.port,
      requests: {
        // The same bytes as the gateway gets: a cookie or a token that the plain proxies pass on.
        get: webRequest(child.port, cookie),
        "mcp-get": getRequest(`localhost:${child.port}`, "/mcp", `${MCP_ACCEPT}\r\nauthorization: ${bearer}`),
        "mcp-post": messageRequest(child.port, bearer),
      },
    });
    return {
      workloads: [
        { name: "get", title: `GET, small JSON, session cookie, ${MANY_ROUTES} routes` },
        { name: "mcp-get", title: "GET on an MCP route, small JSON, External Token" },
        { name: "mcp-post", title: "POST tools/call of 4 KiB, External Token" },
      ],
      targets: [
        plain("gateway", gateway.child),
        plain("bare", bare),
        plain("fastify", fastify),
        ...(nginx ? [plain("nginx", nginx)] : []),
      ],
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

type Start = (core: "target" | "rest", command: string, ...args: string[]) => Promise<Child>;

export interface GatewayStart {
  readonly directory: string;
  readonly name: string;
  /** Origin. */
  readonly upstream: string;
  readonly start: Start;
  /** Boot settings beside the usual ones, YAML. */
  readonly settings?: string;
  /** Default "memory:". */
  readonly storage?: string;
  /** Default "warn". */
  readonly logLevel?: string;
  /** With a console for Alice, on 127.0.0.1. */
  readonly hasConsole?: boolean;
  /** Alice among them. */
  readonly users?: IdentityProviderOptions["users"];
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
  users,
}: GatewayStart) {
  const port = await freePort();
  const pages = `http://${hasConsole === true ? "127.0.0.1" : "localhost"}:${port}`;
  const redirect = `${pages}/.gateway/callback`;
  const more = hasConsole === true ? consoleSettings(pages) : "";
  const provider = await startIdentityProvider({
    clients: [{ client_id: "gateway", client_secret: "benchmark", redirect_uris: [redirect] }],
    ...(users && { users }),
  });
  const config = join(directory, `${name}.yaml`);
  const log = join(directory, `${name}.log`);
  await writeFile(
    config,
    `log_level: ${logLevel}\n${settings}${more}` + configuration(port, upstream, provider.issuer, log, storage),
  );
  // `gateway run` is quiet on standard output; the wrapper tells the port once it answers.
  const child = { ...(await start("target", process.execPath, join(here, "full.ts"), config)), port };
  const browser = createBrowser();
  await visit(browser, `http://localhost:${port}/web/`, { user: "alice@example.com" });
  const client = await signInClient({ resource: `http://localhost:${port}/mcp`, user: "alice@example.com" });
  return {
    child,
    cookie: browser.cookieHeader("localhost"),
    bearer: `Bearer ${client.tokens.access_token}`,
    /** Of the host of our own pages. */
    pagesCookie: browser.cookieHeader(new URL(pages).hostname),
    close: () => provider.close(),
  };
}

function consoleSettings(pages: string): string {
  return `authenticate_service_url: ${pages}\nconsole: { operator: { allow: { and: [{ email: { is: alice@example.com } }] } } }\n`;
}

/** Many routes, so that finding one is part of the work; policy, header settings and records on. */
function configuration(port: number, upstream: string, issuer: string, log: string, storage = "memory:"): string {
  // One deny rule each, about what requests of that kind have.
  const ofTools = "mcp_tool: { starts_with: delete_ }";
  const route = (name: string, from: string, rest: string, denied = "http_method: { is: DELETE }") =>
    `  - { name: ${name}, from: "${from}", to: "${upstream}", ${rest},\n` +
    `      policy: [{ allow: { and: [{ domain: { is: example.com } }, { groups: { has: engineering } }] } }, { deny: { or: [{ ${denied} }] } }],\n` +
    `      set_request_headers: { X-Team: platform }, remove_request_headers: [X-Debug], set_response_headers: { X-Served-By: gateway } }\n`;
  const others = Array.from({ length: MANY_ROUTES }, (_, index) =>
    route(`other-${index}`, `http://app-${index}.localhost`, "prefix: /"),
  );
  const own = `http://localhost:${port}`;
  return `address: 127.0.0.1:${port}
admin_address: 127.0.0.1:0
insecure_server: true
development: true
shared_secret: ${randomBytes(32).toString("base64")}
storage_url: "${storage}"
authorize_log: ${log}
runtime_flags: { mcp: true }
idp_provider_url: ${issuer}
idp_client_id: gateway
idp_client_secret: benchmark
access_token_lifetime: 1h
routes:
${route("web", own, "prefix: /web")}${route("mcp", own, "prefix: /mcp, mcp: { server: { max_request_bytes: 65536 } }", ofTools)}${others.join("")}`;
}

const MCP_ACCEPT = "accept: application/json, text/event-stream";

/** What browsers and SDKs send beside the credential: eight headers in all. */
function head(first: string, host: string, credential: string): string {
  return `${first} HTTP/1.1\r\nhost: ${host}\r\nuser-agent: bench/1.0\r\naccept-language: en\r\nx-request-source: bench\r\nx-debug: 1\r\n${credential}\r\n`;
}

function getRequest(host: string, path: string, credential: string): Buffer {
  return Buffer.from(`${head(`GET ${path}`, host, credential)}\r\n`);
}

export function webRequest(port: number, cookie: string): Buffer {
  return getRequest(`localhost:${port}`, "/web/items", `accept: application/json\r\ncookie: ${cookie}`);
}

/** 57 nested objects: a harsh body for whoever reads it. @param bearer the whole value of Authorization */
export function messageRequest(port: number, bearer: string): Buffer {
  const items = Array.from({ length: 57 }, (_, index) => ({
    id: index,
    name: `item ${index}`,
    tags: { a: "one", b: "two" },
  }));
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "create_issue", arguments: { repo: "gateway", items, text: "x".repeat(790) } },
  });
  return Buffer.from(
    `${head("POST /mcp", `localhost:${port}`, `${MCP_ACCEPT}\r\nauthorization: ${bearer}`)}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
