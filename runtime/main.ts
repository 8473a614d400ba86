/** The binary `gateway`. */
import { extname } from "node:path";

import { keepCompiledCode } from "./compile-cache.ts";

// Before what is to be compiled is loaded. Sources that are run as they are change with every edit.
if (extname(import.meta.url) === ".js") keepCompiledCode(process.env);
const { runCli } = await import("./cli.ts");

process.exitCode = await runCli(process.argv.slice(2));
