/**
 * The example with the real servers, and clients that read what `gateway catalog export` prints. The clients look for managed
 * settings below /etc, so each runs where /etc is another folder (a namespace of Linux), without a network.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  MANAGED_CLIENTS,
  type ExportedCatalog,
  type ManagedClientName,
} from "../../../runtime/tools/catalog/clients.ts";
import { startLegacyMember, startModernMember } from "../../support/federation.ts";
import { startPipeline } from "../../support/pipeline.ts";

const folder = process.env["CATALOG_SERVERS"] ?? "";
const LONG_MS = 120_000;
const CATALOG: ExportedCatalog = {
  servers: [{ id: "wiki", url: "https://wiki.example.com/mcp" }],
  registry: undefined,
};

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-clients-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** @returns what the commands print, standard error included */
async function withSettings(client: ManagedClientName, path: string, commands: string): Promise<string> {
  const file = join(directory, client);
  await writeFile(file, MANAGED_CLIENTS[client].text(CATALOG));
  const script = `set -e
mount -t tmpfs tmpfs /mnt
mkdir -p /mnt/etc/${dirname(path)} /mnt/home/work
cp /etc/passwd /etc/group /etc/nsswitch.conf /etc/hosts /mnt/etc/
cp ${file} /mnt/etc/${path}
mount --bind /mnt/etc /etc
export HOME=/mnt/home PATH=${folder}/node_modules/.bin:${dirname(process.execPath)}:/usr/bin:/bin
cd /mnt/home/work
exec 2>&1
set +e
${commands}
exit 0`;
  const { stdout } = await promisify(execFile)("unshare", ["-rmn", "bash", "-c", script]);
  return stdout;
}

const EVIL = "https://evil.example.com/mcp";

test(
  "the example passes with the reference servers",
  async () => {
    const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", "catalog"], { timeout: LONG_MS });
    const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
    expect(stdout.trim().split("\n").at(-1)).toBe("5 passed, 0 failed");
  },
  LONG_MS,
);

/** Starts Copilot's runtime, which needs no account for this, with MCP servers, and prints what it knows of them. */
const copilot = (servers: object, ask: string): string => `
import { CopilotClient } from "${folder}/node_modules/@github/copilot-sdk/dist/index.js";
const client = new CopilotClient({ useLoggedInUser: false, logLevel: "error" });
await client.start();
const session = await client.createSession({
  mcpServers: ${JSON.stringify(servers)},
  enableManagedSettings: true,
  onPermissionRequest: () => ({ kind: "denied" }),
});
const { mcp } = session.rpc;
for (let isOpen = true; isOpen; ) {
  const { host, servers } = await mcp.list();
  isOpen = host.pendingConnections.length > 0 || servers.length === 0;
  if (isOpen) await new Promise((resolve) => setTimeout(resolve, 100));
}
console.log("settings " + JSON.stringify(await client.rpc.managedSettings.read()));
console.log("answer " + JSON.stringify(${ask}));
await client.stop();
process.exit(0);
`;
const remote = (url: string, headers = {}): object => ({ type: "http", url, headers, tools: ["*"] });

test(
  "GitHub Copilot lists the tools of a federated endpoint, of members of both revisions",
  async () => {
    const [old, fresh] = await Promise.all([startLegacyMember(), startModernMember()]);
    const pipeline = await startPipeline("routes: []");
    const policy = "policy: [{ allow: { and: [{ domain: example.com }] } }]";
    const from = `from: "http://localhost:${pipeline.port}"`;
    pipeline.swap(`
runtime_flags: { mcp: true }
routes:
  - { name: all, ${from}, prefix: /all, mcp: { server: { members: { old: old, new: new } } }, ${policy} }
  - { name: old, ${from}, prefix: /old, to: "${old.origin}", mcp: { server: {} }, ${policy} }
  - { name: new, ${from}, prefix: /new, to: "${fresh.origin}", mcp: { server: {} }, ${policy} }
`);
    try {
      const file = join(directory, "list.mjs");
      const url = `http://localhost:${pipeline.port}/all`;
      const servers = { all: remote(url, { Authorization: "Bearer gwt_alice" }) };
      await writeFile(file, copilot(servers, 'await mcp.listTools({ serverName: "all" })'));
      const env = { ...process.env, HOME: directory };
      const { stdout } = await promisify(execFile)(process.execPath, [file], { env, timeout: LONG_MS });
      const { tools } = JSON.parse(/^answer (.*)$/m.exec(stdout)?.[1] ?? "{}") as { tools: { name: string }[] };
      expect(tools.map(({ name }) => name).toSorted()).toEqual([
        "new__echo",
        "new__sum",
        "old__ask",
        "old__confirm",
        "old__echo",
        "old__secret",
        "old__steps",
        "old__touch",
      ]);
    } finally {
      await Promise.all([pipeline.close(), old.close(), fresh.close()]);
    }
  },
  LONG_MS,
);

describe("exportCatalog() is enforced by", () => {
  test(
    "GitHub Copilot",
    async () => {
      const servers = { wiki: remote("https://wiki.example.com/mcp"), evil: remote(EVIL) };
      await writeFile(join(directory, "enforced.mjs"), copilot(servers, "(await mcp.list()).host"));
      const said = await withSettings(
        "copilot",
        "github-copilot/managed-settings.json",
        `node ${join(directory, "enforced.mjs")}`,
      );
      expect(said).toContain(
        'settings {"settingsJson":{"allowedMcpServers":[{"serverUrl":"https://wiki.example.com/mcp"}]}}',
      );
      expect(said).toContain('"filteredServers":["evil"]');
      // It was tried, which fails without a network.
      expect(said).toMatch(/"failedServers":\{"wiki":/);
    },
    LONG_MS,
  );

  test(
    "Claude Code",
    async () => {
      const said = await withSettings(
        "claude-code",
        "claude-code/managed-settings.json",
        `claude mcp add --transport http wiki https://wiki.example.com/mcp
claude mcp add --transport http evil ${EVIL}
claude mcp add local -- npx something`,
      );
      expect(said).toContain("Added HTTP MCP server wiki");
      expect(said).toContain('Cannot add MCP server "evil": not allowed by enterprise policy');
      expect(said).toContain('Cannot add MCP server "local": not allowed by enterprise policy');
    },
    LONG_MS,
  );

  test(
    "Codex",
    async () => {
      const said = await withSettings(
        "codex",
        "codex/requirements.toml",
        `codex mcp add wiki --url https://wiki.example.com/mcp; codex mcp add evil --url ${EVIL}; codex mcp list`,
      );
      expect(said).toMatch(/^wiki +https:\/\/wiki\.example\.com\/mcp .* enabled/m);
      expect(said).toMatch(/^evil .* disabled: requirements/m);
    },
    LONG_MS,
  );

  test(
    "Gemini CLI",
    async () => {
      const settings = `{"mcpServers":{"evil":{"httpUrl":"${EVIL}"}},"security":{"folderTrust":{"enabled":false}}}`;
      const said = await withSettings(
        "gemini",
        "gemini-cli/settings.json",
        `mkdir -p $HOME/.gemini; echo '${settings}' > $HOME/.gemini/settings.json; gemini mcp list`,
      );
      expect(said).toMatch(/evil: .* Blocked/);
      expect(said).toMatch(/wiki: https:\/\/wiki\.example\.com\/mcp \(http\) - Disconnected/);
    },
    LONG_MS,
  );
});
