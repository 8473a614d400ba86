/** Who may import whom, with the reason; and who may open connections or call zod. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

interface Rule {
  /** Parts of runtime/ (folders, or files at its top) that may be imported. */
  readonly may: readonly string[];
  readonly why: string;
}

const ground = ["errors", "ports", "log", "keys", "version"];
const pure = [...ground, "config", "policy"];
const middle = [...pure, "http", "store", "pages"];

/** Imports within a part are always allowed. */
const rules: Readonly<Record<string, Rule>> = {
  ports: { may: [], why: "the ground" },
  errors: { may: [], why: "the ground" },
  version: { may: [], why: "the ground" },
  log: { may: ["errors"], why: "the ground" },
  keys: { may: ["errors"], why: "the ground" },
  policy: { may: ["errors", "ports", "log"], why: "pure: facts in, decision out" },
  config: { may: ["errors", "ports", "log", "policy"], why: "pure: text in, configuration out" },
  http: { may: [...pure, "pages"], why: "the wire knows no users and no routes' business" },
  store: { may: ["errors", "ports", "log", "keys", "config"], why: "records belong to their owners above" },
  pages: { may: ["errors", "ports", "config", "policy"], why: "pages are text; they decide nothing" },
  session: { may: [...middle], why: "identity knows nothing of OAuth clients or MCP messages" },
  issuer: { may: [...middle, "session"], why: "the authorization server never reaches into the upstream side" },
  upstream: { may: [...middle, "session"], why: "the upstream client never reaches into the authorization server" },
  device: {
    may: [...middle, "session"],
    why: "proofs of devices, written into sessions; who is asked for one is policy's",
  },
  mcp: { may: [...middle, "session"], why: "messages only" },
  tracing: { may: [...pure, "http"], why: "told by others what happens; asks nobody" },
  proxy: { may: [...middle, "session", "mcp", "issuer", "upstream", "admin", "tracing"], why: "the hot path" },
  bundle: { may: [...middle], why: "where snapshots come from" },
  admin: { may: [...middle, "bundle"], why: "its own listener" },
  kubernetes: { may: [...pure, "http", "terraform"], why: "a publisher like the provider, with its targets and seals" },
  doctor: { may: [...ground, "http"], why: "a client like any other: it sees what the wire shows" },
  "close-all": { may: ["ports"], why: "the ground, for the composition root" },
  records: { may: ["store", "session", "issuer", "upstream", "admin"], why: "the kinds of records, from their owners" },
  commands: {
    may: [...middle, "bundle", "session", "issuer", "device", "records"],
    why: "administration from outside: records, no sockets",
  },
  terraform: { may: pure, why: "a separate process: configuration and policy only" },
  import: { may: ["errors", "ports", "config", "policy"], why: "pure: another product's text in, programs out" },
  package: { may: ["terraform", ...pure], why: "makes what is published; never published itself" },
  verify: { may: ["errors"], why: "a public entry for upstream applications: small on purpose" },
  gateway: { may: ["*"], why: "the composition root" },
  workers: { may: ["*"], why: "starts several composition roots, and speaks for them" },
  run: { may: ["*"], why: "starts the composition root" },
  explain: { may: ["*"], why: "a command over configuration and policy" },
  main: { may: ["*"], why: "starts the composition root" },
  cli: { may: ["*"], why: "text in and out" },
};

/** Packages whose use is confined to one place. */
const confined: Readonly<Record<string, { readonly where: RegExp; readonly why: string }>> = {
  "@opentelemetry/sdk-trace": { where: /^runtime\/tracing\/otlp\.ts$/, why: "loaded only where spans are exported" },
  "@opentelemetry/exporter-trace-otlp-http": { where: /^runtime\/tracing\/otlp\.ts$/, why: "the same" },
  "@opentelemetry/resources": { where: /^runtime\/tracing\/otlp\.ts$/, why: "the same" },
  "@opentelemetry/api": { where: /^runtime\/tracing\/otlp\.ts$/, why: "the same" },
  zod: { where: /^runtime\/config\/kinds\.ts$/, why: "one vocabulary (kinds.ts)" },
  undici: {
    where: /^runtime\/(proxy\/forward[\w-]*|http\/\w+-fetch|proxy\/upgrade|kubernetes\/client)\.ts$/,
    why: "outgoing connections are opened in few places",
  },
  "openid-client": { where: /^runtime\/session\//, why: "sign-in at the provider" },
  "@simplewebauthn/server": { where: /^runtime\/device\/webauthn\.ts$/, why: "loaded at the first ceremony" },
  "@simplewebauthn/server/helpers": { where: /^runtime\/device\/webauthn\.ts$/, why: "the same" },
  oauth4webapi: { where: /^runtime\/upstream\//, why: "upstream OAuth" },
  "@kubernetes/client-node": { where: /^runtime\/kubernetes\/client\.ts$/, why: "only the controller loads it" },
  pg: { where: /^runtime\/store\//, why: "database driver" },
  "node:sqlite": { where: /^runtime\/store\//, why: "database driver" },
  "@grpc/grpc-js": { where: /^runtime\/terraform\//, why: "the provider process" },
  protobufjs: { where: /^runtime\/terraform\//, why: "the provider process" },
  "protobufjs/minimal.js": { where: /^runtime\/proxy\/health-check-grpc\.ts$/, why: "one message each way" },
  "@msgpack/msgpack": { where: /^runtime\/terraform\//, why: "the provider process" },
  re2js: { where: /^runtime\/(config|policy|proxy)\//, why: "patterns are compiled with the configuration" },
  "ipaddr.js": { where: /^runtime\/(http|policy|config|issuer|session|proxy)\//, why: "addresses" },
  commander: { where: /^runtime\/(cli|commands\/program)\.ts$/, why: "the command line" },
  cdktf: { where: /^cdktf\//, why: "a running proxy never loads it" },
  cdktn: { where: /^never/, why: "the build puts it in the place of cdktf" },
  constructs: { where: /^cdktf\//, why: "a running proxy never loads it" },
};

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

/** "runtime/proxy/handle.ts" → "proxy"; "runtime/gateway.ts" → "gateway". */
function partOf(file: string): string {
  return (file.split("/")[1] ?? "").replace(/\.(ts|js)$/, "");
}

const runtime = sources("runtime").flatMap(importsOf);

describe("imports", () => {
  test("every part of runtime/ has a rule", () => {
    const parts = new Set(sources("runtime").map(partOf));
    expect([...parts].filter((part) => !(part in rules) && part !== "bin")).toEqual([]);
  });

  test("parts import only what the table allows", () => {
    const wrong = runtime.filter(({ file, target }) => {
      if (!target.startsWith(".")) return false;
      const from = partOf(file);
      const to = partOf(relative(root, resolve(root, dirname(file), target)));
      const may = rules[from]?.may ?? ["*"];
      return from !== to && !may.includes("*") && !may.includes(to);
    });
    expect(wrong.map(({ file, target }) => `${file} imports ${target}: ${rules[partOf(file)]?.why}`)).toEqual([]);
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
    const graph = new Map<string, string[]>();
    for (const { file, target, isType } of runtime) {
      if (!target.startsWith(".") || isType) continue;
      const to = relative(root, resolve(root, dirname(file), target));
      graph.set(file, [...(graph.get(file) ?? []), to]);
    }
    expect(findCycle(graph)).toEqual([]);
  });
});

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
