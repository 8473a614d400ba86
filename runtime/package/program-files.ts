/**
 * Bundles the gateway's programs into few files, next to the JavaScript that tsc emits per source: `main.js`, the
 * programs of its threads and workers, and shared chunks. Half of the start time was spent on finding, reading and
 * linking 1,300 modules.
 *
 * They include their packages, in the versions of the bill of materials, except optional peers.
 */
import { readdir, readFile } from "node:fs/promises";
import http from "node:http";
import { basename, dirname, join } from "node:path";

import { build, type Plugin } from "esbuild";

/** Names of thread and worker files in sources (shared/thread.ts). */
const STARTED = /\b(?:startThread|programUrl)\(import\.meta\.url, "([\w-]+)"/g;

/** Packages that users install if they need the features. */
const LEFT_OUT = ["@kubernetes/client-node", "esbuild", "pg-native", "cdktf", "cdktn", "constructs"];

/** CommonJS packages load Node's own modules with `require`, which ES modules lack. */
const REQUIRE =
  'import { createRequire as $createRequire } from "node:module";\nconst require = $createRequire(import.meta.url);';

/**
 * When an ES module imports `node:http`, Node copies all its members, and three of them (WebSocket and its events) load
 * the whole of Node's own fetch: a tenth of a start. They are omitted, since nothing here uses them.
 */
const WITHOUT_FETCH: Plugin = {
  name: "without-fetch",
  setup(bundler) {
    bundler.onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
      kind === "import-statement" ? { path: "node:http", namespace: "without-fetch" } : undefined,
    );
    bundler.onLoad({ filter: /^/, namespace: "without-fetch" }, () => ({ contents: httpMembers() }));
  },
};

/** prom-client loads OpenTelemetry's API at its start, for exemplars, which are off. */
const WITHOUT_EXEMPLARS: Plugin = {
  name: "without-exemplars",
  setup(bundler) {
    bundler.onResolve({ filter: /^@opentelemetry\/api$/ }, ({ importer }) =>
      /[\\/]prom-client[\\/]/.test(importer) ? { path: "none", namespace: "without-exemplars" } : undefined,
    );
    bundler.onLoad({ filter: /^/, namespace: "without-exemplars" }, () => ({ contents: "module.exports = {};" }));
  },
};

/** A module with all members of `node:http` that are values; those that load something are getters. */
function httpMembers(): string {
  const members = Object.entries(Object.getOwnPropertyDescriptors(http)).filter(([, { value }]) => value !== undefined);
  const names = members.map(([name]) => name).join(", ");
  return `const http = process.getBuiltinModule("node:http");\nexport default http;\nexport const { ${names} } = http;`;
}

/**
 * @param root of the checkout
 * @param outdir `dist/runtime`: all files in one folder, so that started programs are next to every chunk that starts
 *   them
 * @returns paths below `root` of all bundled files
 */
export async function writePrograms(root: string, outdir: string): Promise<readonly string[]> {
  const entries = ["runtime/main.ts", ...(await startedFiles(root))];
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(entries.map((entry) => [basename(entry, ".ts"), entry])),
    outdir,
    entryNames: "[name]",
    chunkNames: "part-[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    external: LEFT_OUT,
    plugins: [WITHOUT_FETCH, WITHOUT_EXEMPLARS],
    banner: { js: REQUIRE },
    inject: [join(root, "runtime/package/node-globals.ts")],
    // The same bytes in any location of the packages.
    preserveSymlinks: true,
    // Licenses are delivered as a file.
    legalComments: "none",
    // Comments and indentation are a third of the memory for code, and one character that is not Latin-1 doubles a file.
    minifyWhitespace: true,
    // For stack traces.
    lineLimit: 200,
    metafile: true,
    logLevel: "error",
  });
  return Object.keys(metafile.inputs);
}

/** Sources that are started as threads and processes. */
async function startedFiles(root: string): Promise<readonly string[]> {
  const files = await readdir(join(root, "runtime"), { recursive: true });
  const found: string[] = [];
  for (const file of files.filter((name) => name.endsWith(".ts")).toSorted()) {
    const text = await readFile(join(root, "runtime", file), "utf8");
    for (const [, name = ""] of text.matchAll(STARTED)) found.push(join("runtime", dirname(file), `${name}.ts`));
  }
  const names = found.map((file) => basename(file));
  if (new Set(names).size !== names.length)
    throw new Error(`Cannot put files of one name into one folder: ${names.join(", ")}`);
  return found;
}
