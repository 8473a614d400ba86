/** The binary `gateway`. */
import { extname } from "node:path";

import { keepCompiledCode } from "./compile-cache.ts";

// Read when the first thread starts. Half of the threads are for DNS look-ups, which may take tens of seconds each.
process.env["UV_THREADPOOL_SIZE"] ||= "24";
// Before the code to be cached is loaded. Sources run without a build change with every edit, so they are not cached.
if (extname(import.meta.url) === ".js") keepCompiledCode(process.env);
const { runCli } = await import("./cli.ts");

process.exitCode = await runCli(process.argv.slice(2));
