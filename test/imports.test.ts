/** Who may import whom, with the reason; and who may open connections or call zod. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

interface Rule {
  /** Parts of runtime/ (rooms, or files at its top) that may be imported, types included. */
  readonly may: readonly string[];
  readonly why: string;
}

/** Floors from the ground up; each part names what it uses below, and nothing that it does not. */
const rules: Readonly<Record<string, Rule>> = {
  shared: { may: [], why: "the ground" },
  policy: { may: ["shared"], why: "pure: facts in, decision out" },
  audit: { may: ["shared", "policy"], why: "what is recorded of a decision" },
  settings: { may: ["shared", "policy"], why: "kinds of settings; knows no feature" },
  features: { may: ["shared", "policy", "audit", "settings"], why: "data in, data out: no socket, no store" },
  config: { may: ["shared", "policy", "settings", "features"], why: "the sums of all features" },
  pages: { may: [], why: "pages are text; they decide nothing" },
  http: {
    may: ["shared", "policy", "settings", "features", "config", "pages"],
    why: "the wire knows no users and no routes' business",
  },
  store: { may: ["shared"], why: "records belong to their owners above" },
  "record-queue": { may: ["shared", "audit"], why: "copies of records, once for all who read them" },
  "record-store": { may: ["shared", "audit", "store", "record-queue"], why: "copies of records, for questions" },
  limits: {
    may: ["shared", "policy", "features", "config", "store"],
    why: "how often, and after what: counts together, sends no response",
  },
  upstreams: { may: ["shared", "features", "config"], why: "connections and what is known of them" },
  issuers: {
    may: ["shared", "features", "http"],
    why: "keys and signatures of other issuers; knows no users",
  },
  identity: {
    may: ["shared", "policy", "settings", "features", "config", "http", "pages", "store", "issuers"],
    why: "who calls; knows nothing of OAuth clients or MCP messages",
  },
  directories: {
    may: ["shared", "policy", "features", "config", "http", "store", "identity"],
    why: "what a company's directory says of users; they sign in without knowing of it",
  },
  mcp: {
    may: ["shared", "policy", "features", "config", "http", "identity", "store"],
    why: "messages, what servers list, and the list of servers",
  },
  tracing: { may: ["shared", "policy", "features", "config", "http"], why: "told by others what happens; asks nobody" },
  "record-sinks": {
    may: ["shared", "audit", "features", "record-queue"],
    why: "records on their way to others; in the thread of the records",
  },
  webhook: { may: ["shared", "audit", "features", "http", "store"], why: "told by others what happens; asks nobody" },
  "oauth/server": {
    may: ["shared", "policy", "settings", "features", "config", "http", "pages", "store", "issuers", "identity"],
    why: "the authorization server never reaches into the upstream side",
  },
  "oauth/client": {
    may: ["shared", "policy", "settings", "features", "config", "http", "pages", "store", "identity"],
    why: "the upstream client never reaches into the authorization server",
  },
  approvals: {
    may: ["shared", "policy", "audit", "config", "http", "pages", "store", "identity"],
    why: "people who decide about single calls; knows no messages",
  },
  proxy: {
    may: [
      "shared",
      "policy",
      "audit",
      "features",
      "config",
      "http",
      "upstreams",
      "limits",
      "identity",
      "mcp",
      "approvals",
      "tracing",
    ],
    why: "the hot path: never OAuth, the admin listener, bundles",
  },
  vault: { may: ["shared", "settings", "features"], why: "secrets at a server; knows no configuration" },
  bundle: {
    may: ["shared", "settings", "features", "config", "store", "vault"],
    why: "where snapshots come from",
  },
  alerts: {
    may: ["shared", "audit", "features", "http", "store", "bundle"],
    why: "looks at what others know, and tells of it",
  },
  acme: {
    may: ["shared", "audit", "features", "config", "http", "store", "bundle"],
    why: "orders certificates for hosts of the active configuration; the listeners show them",
  },
  records: {
    may: ["shared", "audit", "features", "config", "store", "record-queue", "record-store", "record-sinks"],
    why: "what the records of one process need of the others, and of administrators",
  },
  simulation: {
    may: ["shared", "policy", "settings", "features", "config", "store", "limits", "mcp", "bundle"],
    why: "imagined requests, and drafts compared with what is in force; decided as the proxy decides them",
  },
  administration: {
    may: [
      "shared",
      "policy",
      "settings",
      "audit",
      "pages",
      "store",
      "identity",
      "directories",
      "mcp",
      "oauth/server",
      "oauth/client",
      "approvals",
    ],
    why: "stored objects of administrators, described once; console, commands and admin API are made from it",
  },
  catalog: {
    may: ["shared", "policy", "features", "config", "http", "identity"],
    why: "MCP servers as clients find them; the same that users see on the portal",
  },
  portal: {
    may: ["shared", "policy", "features", "config", "http", "pages", "identity", "oauth/client", "administration"],
    why: "the page on which users see what they can use and what acts for them",
  },
  "admin-listener": {
    may: [
      "shared",
      "policy",
      "audit",
      "settings",
      "features",
      "config",
      "http",
      "store",
      "issuers",
      "administration",
      "webhook",
      "bundle",
    ],
    why: "its own listener; jobs publish with the token of their platform",
  },
  health: {
    may: ["shared", "policy", "audit", "features", "config", "store", "webhook", "bundle", "acme", "admin-listener"],
    why: "what processes tell each other of themselves, for the console",
  },
  console: {
    // What its screens show; each adds what it uses.
    may: [
      "shared",
      "policy",
      "audit",
      "features",
      "config",
      "http",
      "pages",
      "store",
      "record-store",
      "identity",
      "mcp",
      "oauth/server",
      "oauth/client",
      "admin-listener",
      "approvals",
      "administration",
      "health",
      "bundle",
      "simulation",
    ],
    why: "what people see and do in their browsers; serves no clients",
  },
  workers: {
    may: [
      "shared",
      "config",
      "store",
      "identity",
      "webhook",
      "records",
      "bundle",
      "admin-listener",
      "health",
      "gateway",
      "record-kinds",
    ],
    why: "starts several composition roots, and speaks for them",
  },
  terraform: {
    may: ["shared", "policy", "settings", "features", "config"],
    why: "a separate process: configuration only",
  },
  kubernetes: {
    may: ["shared", "settings", "features", "config", "terraform"],
    why: "a publisher like the provider, with its targets and seals",
  },
  package: {
    may: [
      "shared",
      "policy",
      "settings",
      "features",
      "config",
      "http",
      "mcp",
      "oauth/server",
      "terraform",
      "tools/doctor",
      "audit",
    ],
    why: "makes what is published, pages included; never published itself",
  },
  "record-kinds": {
    may: [
      "store",
      "identity",
      "mcp",
      "approvals",
      "oauth/server",
      "oauth/client",
      "webhook",
      "directories",
      "bundle",
      "admin-listener",
      "records",
      "simulation",
      "health",
      "administration",
      "acme",
    ],
    why: "the kinds of records, from their owners",
  },
  "tools/doctor": { may: ["shared", "http"], why: "a client like any other: it sees what the wire shows" },
  "tools/lock": {
    may: ["shared", "features", "http", "mcp"],
    why: "a client like any other, which keeps what it was shown",
  },
  "tools/catalog": {
    may: ["shared", "settings", "features", "config", "bundle"],
    why: "a configuration's servers, as clients' files have them",
  },
  "tools/init": { may: ["shared"], why: "texts of a first configuration, from answers" },
  "tools/import-formats": { may: [], why: "names of them, for the command line" },
  "tools/import": {
    may: ["shared", "policy", "settings", "features", "config", "tools/import-formats"],
    why: "another product's text in",
  },
  "tools/file-classes": {
    may: ["shared", "settings", "features", "config"],
    why: "a configuration with the tool classes of its lock files, for commands",
  },
  "tools/explain": {
    may: ["policy", "config", "simulation", "tools/file-classes"],
    why: "a command over configuration and policy",
  },
  "tools/replay": {
    may: [
      "shared",
      "policy",
      "audit",
      "settings",
      "features",
      "config",
      "limits",
      "mcp",
      "bundle",
      "tools/explain",
      "tools/file-classes",
    ],
    why: "records in, verdicts out: configuration, policy, history rules and federated names",
  },
  "tools/audit": {
    may: ["shared", "audit", "bundle", "tools/replay"],
    why: "records in, what is wrong with them out",
  },
  "tools/diff": {
    may: ["shared", "policy", "audit", "settings", "config", "bundle", "tools/replay", "tools/file-classes"],
    why: "two configurations, and users out of records",
  },
  "tools/keys": {
    may: ["shared", "audit", "store", "identity", "oauth/server", "bundle", "record-kinds"],
    why: "which secrets processes have, and which records need",
  },
  "tools/version": { may: ["shared", "mcp", "terraform"], why: "what this program is, and which protocols it speaks" },
  "tools/check": { may: ["config", "features"], why: "what `gateway check` says of a configuration" },
  "tools/commands": {
    may: [
      "shared",
      "kubernetes",
      "policy",
      "settings",
      "audit",
      "administration",
      "admin-listener",
      "records",
      "simulation",
      "features",
      "config",
      "http",
      "store",
      "record-store",
      "identity",
      "directories",
      "oauth/server",
      "oauth/client",
      "bundle",
      "record-kinds",
      "tools/check",
      "tools/diff",
      "tools/keys",
      "tools/audit",
      "tools/replay",
    ],
    why: "administration from outside: records, no sockets",
  },
  verify: { may: [], why: "a public entry for upstream applications: small on purpose" },
  gateway: { may: ["*"], why: "the composition root" },
  "open-listeners": { may: ["*"], why: "the part of it that accepts connections" },
  services: { may: ["*"], why: "the part of it that serves people and clients" },
  people: { may: ["*"], why: "the part of it that knows who calls" },
  "open-console": { may: ["*"], why: "the part of it that is there only with a console" },
  "core-services": { may: ["*"], why: "what all other parts of the gateway use" },
  run: { may: ["*"], why: "starts the composition root" },
  main: { may: ["*"], why: "starts the composition root" },
  "process-memory": { may: [], why: "is there before anything else is loaded" },
  "compile-cache": { may: ["shared"], why: "is there before anything else is loaded" },
  cli: { may: ["*"], why: "text in and out" },
};

/**
 * What rooms of features/ may take of each other, beside settings.ts and compiled.ts: parsers of one value, and what belongs
 * to connections. Never what another one compiles, applies or checks.
 */
const BETWEEN_FEATURES = new Set([
  "connection/failure",
  "connection/pool-key",
  "headers/names",
  "headers/template",
  "listener/certificate",
  "process/header-value",
  "process/owners",
  "routing/from",
  "routing/own-paths",
  "routing/path-rewrite",
  "sign-in/claim-problems",
  "sign-in/claim-rules",
  "sign-in/issuer-checks",
]);

/** Packages whose use is confined to one place. */
const confined: Readonly<Record<string, { readonly where: RegExp; readonly why: string }>> = {
  "@opentelemetry/sdk-trace": { where: /^runtime\/tracing\/otlp\.ts$/, why: "loaded only where spans are exported" },
  "@opentelemetry/exporter-trace-otlp-http": { where: /^runtime\/tracing\/otlp\.ts$/, why: "the same" },
  "@opentelemetry/resources": { where: /^runtime\/tracing\/otlp\.ts$/, why: "the same" },
  "@opentelemetry/api": { where: /^runtime\/tracing\/otlp\.ts$/, why: "the same" },
  "acme-client": { where: /^runtime\/acme\/client\.ts$/, why: "loaded with the first order" },
  "zod/mini": {
    where: /^runtime\/settings\/types\//,
    why: "one vocabulary; zod itself has all messages and methods, which nothing here uses",
  },
  undici: {
    where: /^runtime\/(shared\/net\/bounded-request|kubernetes\/controller\/client)\.ts$/,
    why: "requests of the gateway's own, never users'",
  },
  "openid-client": { where: /^runtime\/identity\/provider\//, why: "sign-in at the provider" },
  "@simplewebauthn/server": {
    where: /^runtime\/identity\/devices\/webauthn\.ts$/,
    why: "loaded at the first ceremony",
  },
  "@simplewebauthn/server/helpers": { where: /^runtime\/identity\/devices\/webauthn\.ts$/, why: "the same" },
  oauth4webapi: { where: /^runtime\/oauth\/client\//, why: "upstream OAuth" },
  "@kubernetes/client-node": {
    where: /^runtime\/kubernetes\/controller\/client\.ts$/,
    why: "only the controller loads it",
  },
  "node:dns": {
    where: /^runtime\/(shared\/net\/name-lookup|http\/fetch\/safe-fetch)\.ts$/,
    why: "each party has a share of the look-ups",
  },
  pg: { where: /^runtime\/(record-)?store\//, why: "database driver" },
  "node:sqlite": {
    where: /^runtime\/((record-)?store\/|record-queue\/slot-lock\.ts$)/,
    why: "database driver, and locks that a killed process leaves nobody",
  },
  "@grpc/grpc-js": { where: /^runtime\/terraform\//, why: "the provider process" },
  protobufjs: { where: /^runtime\/terraform\//, why: "the provider process" },
  "protobufjs/minimal.js": {
    where: /^runtime\/upstreams\/health\/health-check-grpc\.ts$/,
    why: "one message each way",
  },
  "@msgpack/msgpack": { where: /^runtime\/terraform\//, why: "the provider process" },
  re2js: {
    where: /^runtime\/(shared\/re2|features\/[\w-]+\/[\w-]+|config\/[\w-/]+)\.ts$/,
    why: "patterns are compiled with the configuration",
  },
  "ipaddr.js": { where: /^runtime\//, why: "addresses" },
  commander: {
    where: /^runtime\/(cli|tools\/(catalog|commands|init|lock)\/(program|ingress|object-groups))\.ts$/,
    why: "the command line",
  },
  cdktf: { where: /^cdktf\//, why: "a running proxy never loads it" },
  cdktn: { where: /^never/, why: "the build puts it in the place of cdktf" },
  constructs: { where: /^cdktf\//, why: "a running proxy never loads it" },
};

/** Of node:, what only computes, or waits a turn. */
const HARMLESS = new Set(["node:crypto", "node:timers/promises", "node:tls"]);

interface Import {
  readonly file: string;
  readonly target: string;
  /** Erased when the source runs; types may know each other. */
  readonly isType: boolean;
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|js)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes("generated/") && !file.includes("node_modules/"));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8");
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)(\s+type)?\s[^;"']*?from\s*["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)|(?:^|\n)import\s+["']([^"']+)["']/g,
  );
  return [...found].map((match) => ({
    file,
    target: match[2] ?? match[3] ?? match[4] ?? "",
    isType: match[1] !== undefined,
  }));
}

/** "runtime/proxy/handle.ts" → "proxy"; "runtime/oauth/server/grants/token.ts" → "oauth/server"; "runtime/gateway.ts" → "gateway". */
function partOf(file: string): string {
  const [, part = "", room = ""] = file.split("/");
  const whole = ["oauth", "tools"].includes(part) ? `${part}/${room}` : part;
  return whole.replace(/\.(ts|js)$/, "");
}

function targetOf({ file, target }: Import): string {
  return relative(root, resolve(root, dirname(file), target));
}

const runtime = sources("runtime").flatMap(importsOf);
const inside = runtime.filter(({ target }) => target.startsWith("."));

describe("imports", () => {
  test("every part of runtime/ has a rule, and every rule a part", () => {
    const parts = new Set(sources("runtime").map(partOf));
    parts.delete("bin");
    expect([...parts].toSorted()).toEqual(Object.keys(rules).toSorted());
  });

  test("parts import only what the table allows, types included", () => {
    const wrong = inside.filter((each) => {
      const from = partOf(each.file);
      const to = partOf(targetOf(each));
      const may = rules[from]?.may ?? [];
      return from !== to && !may.includes("*") && !may.includes(to) && !targetOf(each).endsWith("package.json");
    });
    expect(wrong.map(({ file, target }) => `${file} imports ${target}: ${rules[partOf(file)]?.why}`)).toEqual([]);
  });

  test("the table allows nothing that nobody uses", () => {
    const used = new Set(inside.map((each) => `${partOf(each.file)} ${partOf(targetOf(each))}`));
    const unused = Object.entries(rules).flatMap(([from, { may }]) =>
      may.filter((to) => to !== "*" && !used.has(`${from} ${to}`)).map((to) => `${from} may import ${to}`),
    );
    expect(unused).toEqual([]);
  });

  test("rooms of features take settings, types and single values of each other, nothing else", () => {
    const roomOf = (file: string): string => file.split("/").slice(2, -1).join("/");
    const wrong = inside.filter((each) => {
      const to = targetOf(each);
      if (partOf(each.file) !== "features" || partOf(to) !== "features" || roomOf(each.file) === roomOf(to))
        return false;
      const name = to.replace(/^runtime\/features\/|\.ts$/g, "");
      return !/\/(?:settings|compiled)$/.test(name) && !BETWEEN_FEATURES.has(name);
    });
    expect(wrong.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
  });

  test("policy, settings and features open nothing: no file, socket, process or thread", () => {
    const wrong = runtime.filter(
      ({ file, target }) => /^runtime\/(?:policy|settings|features)\//.test(file) && target.startsWith("node:"),
    );
    expect(wrong.filter(({ target }) => !HARMLESS.has(target)).map(({ file, target }) => `${file}: ${target}`)).toEqual(
      [],
    );
  });

  test("confined packages are imported only where the table says", () => {
    const all = [...runtime, ...sources("cdktf").flatMap(importsOf)];
    const wrong = all.filter(({ file, target }) => {
      const rule = confined[target];
      return rule !== undefined && !rule.where.test(file);
    });
    expect(wrong.map(({ file, target }) => `${file} imports ${target}: ${confined[target]?.why}`)).toEqual([]);
  });

  test("runtime/ has no cycles", () => {
    expect(findCycle(graphOf(inside.filter(({ isType }) => !isType)))).toEqual([]);
  });

  test("files of proxy/ have no cycles, types included", () => {
    expect(findCycle(graphOf(inside.filter(({ file }) => partOf(file) === "proxy")))).toEqual([]);
  });
});

function graphOf(imports: readonly Import[]): Map<string, string[]> {
  const graph = new Map<string, string[]>();
  for (const each of imports) graph.set(each.file, [...(graph.get(each.file) ?? []), targetOf(each)]);
  return graph;
}

function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] => {
    const at = path.indexOf(file);
    if (at !== -1) return [...path.slice(at), file];
    if (done.has(file)) return [];
    path.push(file);
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next);
      if (cycle.length > 0) return cycle;
    }
    path.pop();
    done.add(file);
    return [];
  };
  for (const file of graph.keys()) {
    const cycle = visit(file);
    if (cycle.length > 0) return cycle;
  }
  return [];
}
