/** Where `gateway tools` sends the tokens that it is given. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test, vi } from "vitest";

import { runCli } from "../../../../runtime/cli.ts";
import { formatToolLock } from "../../../../runtime/features/mcp/tool-lock-file.ts";

test("tokens go to the addresses of --url, and to no server that the lock names", async () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-tools-"));
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`);
    response.writeHead(401).end();
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  const usage = vi.spyOn(process.stderr, "write").mockImplementation(() => true);
  try {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const [lock, token] = [join(directory, "tools.lock.json"), join(directory, "alice.token")];
    const nothing = { kinds: new Set(["tool"] as const), items: [] };
    writeFileSync(lock, formatToolLock(new Map([`${origin}/evil`, `${origin}/notes`].map((url) => [url, nothing]))));
    writeFileSync(token, "gwt_alice");
    for (const command of ["lock", "diff"]) {
      expect(await runCli(["tools", command, lock, "--token-file", token])).toBe(2);
      expect(asked).toEqual([]);
      expect(await runCli(["tools", command, lock, "--token-file", token, "--url", `${origin}/notes`])).toBe(1);
      expect(new Set(asked.splice(0))).toEqual(new Set(["/notes Bearer gwt_alice"]));
      expect(printed).toHaveBeenLastCalledWith("Documentation: runtime/guide/tool-lock.md");
    }
  } finally {
    usage.mockRestore();
    printed.mockRestore();
    server.close();
    rmSync(directory, { recursive: true });
  }
});

test("a failed command with --json prints its error, message and documentation as JSON", async () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  try {
    expect(await runCli(["explain", "--config", "/nowhere", "--route", "notes", "--json"])).toBe(1);
    expect(printed.mock.calls.map(([text]) => JSON.parse(String(text)) as unknown)).toEqual([
      { error: "config.unreadable", message: "/nowhere: error: does not exist", docs: "runtime/REFERENCE.md" },
    ]);
  } finally {
    printed.mockRestore();
  }
});
