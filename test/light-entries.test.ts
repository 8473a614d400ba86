/**
 * What the entries load that start often or beside others: the Terraform provider, constructs, the translation of Ingresses,
 * the validating thread, the loader itself. They check what is written; nothing of what serves requests belongs there, and
 * each file more is paid at every start.
 */
import { resolve } from "node:path";

import { build } from "esbuild";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

const ENTRIES = [
  "runtime/terraform/main.ts",
  "cdktf/index.ts",
  "runtime/kubernetes/translate/translate.ts",
  "runtime/bundle/validation/validate-worker.ts",
  "runtime/config/load.ts",
];

/** Of the runtime, what serves requests. */
const HEAVY =
  /^runtime\/(?:http|store|upstreams|identity|oauth|mcp|proxy|tracing)\/|\/(?:compile|prepare|apply)(?:-[\w-]+)?\.ts$/;

/** Packages that they load, and no other. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "runtime/terraform/main.ts": [
    "@grpc/grpc-js",
    "@msgpack/msgpack",
    "ipaddr.js",
    "protobufjs/light.js",
    "re2js",
    "yaml",
    "zod/mini",
  ],
  "cdktf/index.ts": ["@msgpack/msgpack", "cdktf", "constructs", "ipaddr.js", "re2js", "yaml", "zod/mini"],
  "runtime/kubernetes/translate/translate.ts": ["ipaddr.js", "re2js", "yaml", "zod/mini"],
  "runtime/bundle/validation/validate-worker.ts": ["ipaddr.js", "re2js", "yaml", "zod/mini"],
  "runtime/config/load.ts": ["ipaddr.js", "re2js", "yaml", "zod/mini"],
};

/** Everything that is loaded at once with a file: imports of values, not of types, and not what is imported when needed. */
async function loads(
  entry: string,
): Promise<{ readonly files: readonly string[]; readonly packages: readonly string[] }> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    packages: "external",
    platform: "node",
    format: "esm",
    logLevel: "error",
  });
  const files = new Set<string>();
  const packages = new Set<string>();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const { path, kind, external } of metafile.inputs[file]?.imports ?? []) {
      if (kind !== "import-statement" || path.startsWith("node:")) continue;
      if (external === true) packages.add(path);
      else waiting.push(path);
    }
  }
  return { files: [...files], packages: [...packages].toSorted() };
}

test.each(ENTRIES)("%s loads nothing that serves requests", async (entry) => {
  const { files, packages } = await loads(entry);
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => HEAVY.test(file))).toEqual([]);
  expect(packages).toEqual(PACKAGES[entry]);
});

/** Loaded by a gateway that is asked for it. The formats of its records are not among it: a store has one list of them; nor are the ends of certificates, which /status shows. */
const ONLY_WHERE_SET =
  /^runtime\/(?:open-console\.ts|(?:pages\/)?console\/|simulation\/(?!draft-records)|health\/(?!tiers|certificate-ends)|record-store\/record-store\.ts)/;

test("a gateway without a console loads nothing of it", async () => {
  const { files } = await loads("runtime/gateway.ts");
  expect(files.length).toBeGreaterThan(400);
  expect(files.filter((file) => ONLY_WHERE_SET.test(file))).toEqual([]);
});

/** Loaded where the boot file asks for it, or by other commands. */
const NOT_FOR_ALL =
  /^runtime\/(?:terraform|kubernetes|tools|package)\/|^runtime\/(?:cli|main|run)\.ts|^runtime\/store\/(?:postgres|sqlite)\/(?!sqlite-path)|^runtime\/record-store\/(?:postgres|sqlite)\/|^runtime\/workers\/(?!descriptors)|^runtime\/tracing\/otlp/;

/** Of packages, all that a gateway has that keeps its state in memory: no database, tracing, gRPC, Kubernetes or WebAuthn. */
const GATEWAY_PACKAGES = [
  "ipaddr.js",
  "jose",
  "oauth4webapi",
  "openid-client",
  "pino",
  "prom-client",
  "re2js",
  "yaml",
  "zod/mini",
];

test("a gateway that is asked for little loads no databases, workers, tracing, Terraform or Kubernetes", async () => {
  const { files, packages } = await loads("runtime/gateway.ts");
  expect(files.filter((file) => NOT_FOR_ALL.test(file))).toEqual([]);
  expect(packages).toEqual(GATEWAY_PACKAGES);
});

test("a command loads what it is about, when it is given", async () => {
  const { files, packages } = await loads("runtime/main.ts");
  expect(files).toContain("runtime/compile-cache.ts");
  expect(files.length).toBeLessThan(5);
  expect(packages).toEqual([]);
  const words = await loads("runtime/cli.ts");
  expect(
    words.files.filter((file) =>
      /^runtime\/(?:config|settings|policy|bundle|console|admin-listener|workers|proxy|gateway)/.test(file),
    ),
  ).toEqual([]);
  expect(words.packages).toEqual(["commander"]);
});
