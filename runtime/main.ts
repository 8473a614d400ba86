/** The binary `gateway`. */
import { extname } from "node:path";

import { keepCompiledCode } from "./compile-cache.ts";

// Read when the first thread starts. Half of them is for look-ups of names, each of which may take tens of seconds.
process.env["UV_THREADPOOL_SIZE"] ||= "24";
// Before what is to be compiled is loaded. Sources that are run as they are change with every edit.
if (extname(import.meta.url) === ".js") keepCompiledCode(process.env);
const { runCli } = await import("./cli.ts");

process.exitCode = await runCli(process.argv.slice(2));
