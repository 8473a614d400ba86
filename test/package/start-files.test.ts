/** What the built program reads before it serves: none of what only later requests need. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { writePrograms } from "../../runtime/package/program-files.ts";
import { LONG_MS } from "../support/limits.ts";

const root = new URL("../../", import.meta.url).pathname;

/** Names all that was loaded: its own files, and what of Node's. */
const WITNESS = `
const { writeFileSync } = require("node:fs");
const files = [];
require("node:module").registerHooks({
  load(url, context, next) {
    files.push(url);
    return next(url, context);
  },
});
process.on("exit", () =>
  writeFileSync(process.env.WITNESS_FILE, JSON.stringify({
    files, builtins: process.moduleLoadList, flags: process.execArgv, arenas: process.env.MALLOC_ARENA_MAX, pid: process.pid,
  })));
`;

describe("the built program, started with one route", { timeout: LONG_MS }, () => {
  let directory = "";
  let files: readonly string[] = [];
  let builtins: readonly string[] = [];
  let memory: readonly unknown[] = [];
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "gateway-start-"));
    const programs = join(directory, "dist/runtime");
    mkdirSync(programs, { recursive: true });
    copyFileSync(join(root, "package.json"), join(directory, "package.json"));
    await writePrograms(root, programs);
    ({ files, builtins, memory } = await startAndEnd(join(programs, "main.js")));
  }, LONG_MS);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const own = () => files.filter((url) => url.startsWith("file:")).map((url) => fileURLToPath(url));

  test("loads no client for requests of its own", () => {
    const programs = join(directory, "dist/runtime");
    const all = readdirSync(programs).map((name) => join(programs, name));
    const withText = (paths: readonly string[], text: string) =>
      paths.filter((path) => readFileSync(path, "utf8").includes(text));
    expect(withText(own(), "ZodError")).not.toEqual([]);
    const ofUndici = "UND_ERR_REQ_CONTENT_LENGTH_MISMATCH";
    expect(withText(all, ofUndici)).not.toEqual([]);
    expect(withText(own(), ofUndici)).toEqual([]);
  });

  test("holds no character above Latin-1 in code that is loaded: V8 would keep its file with two bytes for each", () => {
    const wide = own().flatMap((path) => readFileSync(path, "utf8").match(/.{0,40}[^\0-\xFF]/g) ?? []);
    expect(wide).toEqual([]);
  });

  test("reads the default export of CommonJS packages that it loads later: they have no other in the build", () => {
    const programs = join(directory, "dist/runtime");
    const texts = readdirSync(programs).map((name) => [name, readFileSync(join(programs, name), "utf8")] as const);
    const later = texts.filter(([, text]) => /\bexport default require_\w+\(\)/.test(text)).map(([name]) => name);
    const imports = texts.flatMap(([, text]) => [...text.matchAll(/\bimport\("\.\/([^"]+)"\)[^;]{0,40}/g)]);
    const found = imports.filter(([, name = ""]) => later.includes(name)).map(([statement]) => statement);
    expect(found.length).toBeGreaterThan(0);
    expect(found.filter((statement) => !/\bdefault\b/.test(statement))).toEqual([]);
  });

  test("starts over in its own process with the memory settings of a service", () => {
    expect(memory).toEqual(["--max-semi-space-size=8", "1", "same process"]);
  });

  test("does not load Node's own fetch", () => {
    expect(builtins).toContain("NativeModule http");
    expect(builtins.filter((name) => name.includes("undici"))).toEqual([]);
  });

  async function startAndEnd(program: string) {
    const witness = join(directory, "witness.cjs");
    writeFileSync(witness, WITNESS);
    const config = join(directory, "config");
    mkdirSync(config);
    const boot = {
      shared_secret: Buffer.alloc(32, 7).toString("base64"),
      storage_url: "memory:",
      insecure_server: true,
      address: "127.0.0.1:0",
      admin_address: "127.0.0.1:0",
      authorize_log: join(directory, "authorize.log"),
    };
    const route = {
      from: "http://a.example.com",
      to: ["http://127.0.0.1:9"],
      allow_public_unauthenticated_access: true,
    };
    writeFileSync(join(config, "gateway.json"), JSON.stringify(boot));
    writeFileSync(join(config, "main.json"), JSON.stringify({ version: 1, owner: "main", routes: { a: route } }));
    const report = join(directory, "loaded.json");
    const child = spawn(process.execPath, ["--require", witness, program, "run", "--config", config], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, WITNESS_FILE: report, NODE_DISABLE_COMPILE_CACHE: "1", NODE_OPTIONS: "" },
    });
    let text = "";
    let serves = false;
    child.stderr.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      if (serves || !text.includes("gateway serves on")) return;
      serves = true;
      child.kill("SIGTERM");
    });
    const [code] = (await once(child, "close")) as [number | null];
    if (code !== 0) throw new Error(`The gateway ended with ${code}: ${text}`);
    const { flags, arenas, pid, ...loaded } = JSON.parse(readFileSync(report, "utf8")) as {
      readonly files: readonly string[];
      readonly builtins: readonly string[];
      readonly flags: readonly string[];
      readonly arenas: string;
      readonly pid: number;
    };
    return { ...loaded, memory: [flags.at(-1), arenas, pid === child.pid ? "same process" : "another process"] };
  }
});
