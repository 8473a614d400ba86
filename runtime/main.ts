/** The binary `gateway`. */
import { extname } from "node:path";

import { keepCompiledCode } from "./compile-cache.ts";
import { startWithMemorySettings } from "./process-memory.ts";

const isBuilt = extname(import.meta.url) === ".js";
// Other commands are short. Before all else, because it may start the process over.
if (isBuilt && process.argv[2] === "run") startWithMemorySettings();
// Read when the first thread starts. Half of the threads are for DNS look-ups, which may take tens of seconds each.
process.env["UV_THREADPOOL_SIZE"] ||= "24";
// Before the code to be cached is loaded. Sources run without a build change with every edit, so they are not cached.
if (isBuilt) keepCompiledCode(process.env);
const { runCli } = await import("./cli.ts");

process.exitCode = await runCli(process.argv.slice(2));
