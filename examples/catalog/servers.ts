/** The MCP reference servers from npm, each on a free port of loopback. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { freePort } from "../../test/support/ports.ts";
import { startBridge } from "./bridge.ts";

export interface Servers {
  readonly files: string;
  readonly memory: string;
  readonly everything: string;
  close(): Promise<void>;
}

/** Where the servers are: here after `npm install --prefix examples/catalog`. */
export function findServers(): string | undefined {
  const folder = process.env["CATALOG_SERVERS"] ?? import.meta.dirname;
  return existsSync(join(folder, "node_modules/@modelcontextprotocol/server-everything")) ? folder : undefined;
}

/** @param data a folder for the documents and the memory */
export async function startServers(folder: string, data: string): Promise<Servers> {
  const documents = join(data, "documents");
  await mkdir(documents);
  await writeFile(join(documents, "plan.txt"), "Ship on Friday.\n");
  const program = (name: string): string =>
    createRequire(join(folder, "package.json")).resolve(`@modelcontextprotocol/${name}/dist/index.js`);
  const files = await startBridge(process.execPath, [program("server-filesystem"), documents]);
  const memory = await startBridge(process.execPath, [program("server-memory")], {
    MEMORY_FILE_PATH: join(data, "memory.jsonl"),
  });
  const everything = await startEverything(program("server-everything"));
  return {
    files: files.origin,
    memory: memory.origin,
    everything: everything.origin,
    close: async () => void (await Promise.all([files.close(), memory.close(), everything.close()])),
  };
}

/** It speaks HTTP itself. */
async function startEverything(program: string): Promise<{ readonly origin: string; close(): Promise<void> }> {
  const port = await freePort();
  const child = spawn(process.execPath, [program, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const closed = once(child, "close");
  for await (const line of createInterface(child.stderr)) if (line.includes("listening")) break;
  if (child.exitCode !== null) throw new Error(`Cannot start server-everything: exit code ${child.exitCode}`);
  child.stderr.resume();
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      child.kill();
      await closed;
    },
  };
}
