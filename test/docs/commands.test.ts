/** Commands and configuration that pages print: run where they can be, and known to the command line in any case. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test, vi } from "vitest";
import { parse } from "yaml";

import { runCli } from "../../runtime/cli.ts";
import { formatProblem, loadSlices } from "../../runtime/config/load.ts";
import { IDENTITY_PORT, MCP_PORT, startServices } from "../../examples/demo/services.ts";
import { SYSTEMS } from "../real/systems.ts";
import { freePort } from "../support/ports.ts";
import { openPageShell, type PageShell } from "../support/page-shell.ts";
import { blocksOf, blockWith, pagesIn, readPage, type PageBlock } from "../support/page-blocks.ts";
import { exampleNames } from "../support/run-example.ts";
import { createWorkspace, serveInProcess, terraformMissing } from "../support/terraform.ts";
import { LONG_MS } from "../support/limits.ts";

const root = new URL("../../", import.meta.url).pathname;

const pages = [
  "README.md",
  ".github/CONTRIBUTING.md",
  "cdktf/README.md",
  ...["guide", "operations", "reference"].flatMap((folder) => pagesIn(`runtime/${folder}`)),
  "runtime/REFERENCE.md",
  "runtime/terraform/README.md",
  ...readdirSync(join(root, "examples"), { recursive: true })
    .map((file) => join("examples", String(file)))
    .filter((file) => file.endsWith("README.md") && !/node_modules|cdktf\.out/.test(file)),
];

interface Printed extends PageBlock {
  readonly page: string;
}

const blocks: readonly Printed[] = pages.flatMap((page) =>
  blocksOf(readPage(page)).map((block) => ({ page, ...block })),
);
const inLanguage = (language: string): readonly Printed[] => blocks.filter((each) => each.language === language);

async function withShell(use: (shell: PageShell) => Promise<void>): Promise<void> {
  const shell = openPageShell();
  try {
    await use(shell);
  } finally {
    shell.close();
  }
}

/** Blocks that a test below runs, by words in them. */
const RUN_HERE = [
  "gateway run --config gateway.yaml",
  "gateway schema >",
  "gateway explain --config gateway.yaml --route notes",
  "gateway import config.yaml",
  "gateway ingress translate ingresses.yaml",
  "gateway block user alice@example.com --config gateway.yaml --until 2h",
  "# SQLite, while the gateway runs",
];

describe("shell commands", () => {
  test("stand in blocks that say so", () => {
    const command = /^ *(?:npm|npx|gateway|docker|kubectl|terraform|openssl|curl) /;
    expect(inLanguage("").filter(({ text }) => command.test(text))).toEqual([]);
  });

  test("are run by tests, or their block says first what they need", () => {
    expect(inLanguage("sh").length).toBeGreaterThan(20);
    const open = inLanguage("sh").filter(
      ({ text }) =>
        !/^# Needs \S/.test(text) &&
        !/^npm run example [a-z-]+\n$/.test(text) &&
        !RUN_HERE.some((words) => text.includes(words)),
    );
    expect(open).toEqual([]);
    for (const words of RUN_HERE)
      expect(
        blocks.some(({ text }) => text.includes(words)),
        words,
      ).toBe(true);
  });

  test("`npm run example NAME` is run by some test for every example that can be", () => {
    const tests = readdirSync(join(root, "test"), { recursive: true })
      .map(String)
      .filter((file) => file.endsWith(".test.ts") && !file.startsWith("docs/"))
      .map((file) => readFileSync(join(root, "test", file), "utf8"))
      .filter((text) => text.includes("run-example.ts"));
    const isPlayed = (name: string): boolean => tests.some((text) => text.includes(`"${name}"`));
    expect(exampleNames().filter((name) => !isPlayed(name))).toEqual([]);
    const named = blocks.flatMap(({ text }) =>
      [...text.matchAll(/npm run example ([a-z-]+)/g)].map(([, name]) => name),
    );
    expect(named.filter((name) => !exampleNames().includes(name ?? ""))).toEqual([]);
  });

  test("`npm run NAME` is a script of package.json", () => {
    const { scripts } = JSON.parse(readPage("package.json")) as { scripts: Readonly<Record<string, string>> };
    const named = pages.flatMap((page) => [...readPage(page).matchAll(/npm run (?:--silent )?([a-z][a-z:-]*)/g)]);
    expect(named.length).toBeGreaterThan(10);
    expect(named.map(([, name = ""]) => name).filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});

/** What `gateway help COMMAND` prints. */
async function helpOf(command: readonly string[]): Promise<string> {
  let text = "";
  const write = vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  try {
    await runCli([...command, "--help"]);
  } finally {
    write.mockRestore();
  }
  return text;
}

test("`gateway …` names commands and options that exist, in text and in blocks, on every page", async () => {
  const more = ["runtime/SECURITY.md", "CHANGELOG.md", "runtime/DECISIONS.md"];
  const texts = [...pages, ...more].flatMap((page) => {
    const text = readPage(page);
    const inline = [...text.matchAll(/`(gateway [^`\n]+)`/g)].map(([, code = ""]) => code);
    const lines = blocksOf(text)
      .filter(({ language }) => language === "sh")
      .flatMap((block) => block.text.replaceAll("\\\n", " ").split("\n"))
      .filter((line) => line.startsWith("gateway "));
    return [...inline, ...lines].map((line) => ({ page, line: line.replace(/\s+#.*$/, "") }));
  });
  expect(texts.length).toBeGreaterThan(60);
  const groups = new Set([
    "ingress",
    "keys",
    "store",
    "sessions",
    "grants",
    "devices",
    "client",
    "service-account",
    "tools",
    "catalog",
    "audit",
    "users",
    "upstreams",
    "directory",
  ]);
  const known = new Map<string, string>();
  const wrong: string[] = [];
  for (const { page, line } of texts) {
    const [, first = "", second = ""] = line.split(/\s+/);
    for (const name of first.split("|")) {
      for (const below of groups.has(name) ? second.split("|") : [""]) {
        const command = [name, below].filter((word) => /^[a-z][a-z-]*$/.test(word));
        if (command.length === 0) continue;
        const key = command.join(" ");
        let help = known.get(key);
        if (help === undefined) known.set(key, (help = await helpOf(command)));
        const isKnown = help.startsWith(`Usage: gateway ${key} `);
        const unknown = [...line.matchAll(/\s(--[a-z][a-z-]*)/g)].filter(([, option = ""]) => !help.includes(option));
        // A mention may name one option; a whole command has all that it needs.
        const lacksConfig = help.includes("--config <path>") && /^(?!.*(?:--config|\[--)).* --.* --/.test(line);
        if (!isKnown || unknown.length > 0 || lacksConfig) wrong.push(`${page}: ${line}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});

describe("run as they stand", () => {
  test(
    "README: keys, check, explain, and a gateway to which curl, doctor and an SDK client go",
    { timeout: LONG_MS },
    async () => {
      const readme = readPage("README.md");
      // No port of this machine is for a test to choose, and no test leaves it: nothing else is changed.
      const ports = new Map<string, number>();
      for (const port of ["8443", String(IDENTITY_PORT), String(MCP_PORT)]) ports.set(port, await freePort());
      const changed = (text: string): string =>
        text.replaceAll(/:(\d{4})\b/g, (whole, port: string) => {
          const own = ports.get(port);
          return own === undefined ? whole : `:${own}`;
        });
      const [, gateway = ""] = /--services (\S+)/.exec(blockWith(readme, "sh", "npm start -- --services")) ?? [];
      const services = await startServices({
        gateway: changed(gateway),
        identityPort: ports.get(String(IDENTITY_PORT)) ?? 0,
        mcpPort: ports.get(String(MCP_PORT)) ?? 0,
      });
      try {
        await withShell(async (shell) => {
          const file = changed(blockWith(readme, "yaml", "# gateway.yaml")).replace("[known-clients]", "[]");
          shell.write("gateway.yaml", `${file}admin_address: 127.0.0.1:0\n`);
          const [curl = "", doctor = "", connect = ""] = changed(blockWith(readme, "sh", "curl --cacert tls.crt"))
            .split("\n")
            .filter((line) => /^[A-Zcg]/.test(line));
          const said: string[] = [];
          const output = await shell.run(blockWith(readme, "sh", "gateway run --config gateway.yaml"), {
            says: /gateway serves on https:\/\/127\.0\.0\.1:\d+, admin on/,
            ask: async () => {
              said.push(await shell.run(curl));
              said.push(await shell.run(doctor));
              const client = `node ${root}test/support/page-client.ts`;
              const line = connect.replace(/npx .*mcp-remote-client/, client).replace(/ +#.*/, "");
              said.push(await shell.run(`${line} alice@example.com`));
            },
          });
          expect(output).toMatch(/^good: 1 route, 0 errors, 0 warnings, digest/m);
          expect(output).toContain("alice@example.com calls list_repos on default/github: allowed");
          expect(said[0]).toContain(" 401");
          expect(said[0]).toContain(`resource_metadata="${changed(gateway)}/.well-known/oauth-protected-resource/mcp"`);
          expect(said[1]).toMatch(/^ +mcp-remote +connects$/m);
          const client = JSON.parse(/^\{.*\}$/m.exec(said[2] ?? "")?.[0] ?? "") as Record<string, unknown>;
          expect(client).toMatchObject({ tools: expect.not.arrayContaining(["delete_repo"]) as unknown });
          expect(String(client["called"])).toContain("gateway");
          expect(String(client["denied"])).toContain("denied by policy");
        });
      } finally {
        await services.close();
      }
    },
  );

  test("guide: schema, and a policy that is tried before it is published", async () => {
    await withShell(async (shell) => {
      await shell.run(blockWith(readPage("runtime/guide/install.md"), "sh", "gateway schema >"));
      expect(JSON.parse(readFileSync(join(shell.directory, "gateway.schema.json"), "utf8"))).toHaveProperty("$defs");
      const page = readPage("runtime/guide/policy.md");
      shell.write("gateway.yaml", blockWith(page, "yaml", "name: notes"));
      const output = await shell.run(blockWith(page, "sh", "--route notes"));
      expect(output).toContain("guest@partner.example calls list_notes on default/notes: allowed");
      expect(output).toContain("alice@example.com calls add_note on default/notes: allowed");
      expect(output).not.toContain("note:");
    });
  });

  test("guide: a Pomerium configuration becomes HCL and a main configuration file that check accepts", async () => {
    await withShell(async (shell) => {
      shell.write("config.yaml", POMERIUM);
      const output = await shell.run(
        blockWith(readPage("runtime/guide/migrate.md"), "sh", "gateway import config.yaml"),
      );
      expect(readFileSync(join(shell.directory, "routes.tf"), "utf8")).toContain('resource "gateway_bundle"');
      expect(output).toMatch(/^good: 0 routes, 0 errors/m);
    });
  });

  test("operations: blocks, and a backup of the store that has what was blocked", async () => {
    await withShell(async (shell) => {
      shell.write("gateway.yaml", "insecure_server: true\nroutes: []\n");
      const output = await shell.run(
        blockWith(
          readPage("runtime/operations/incidents.md"),
          "sh",
          "gateway block user alice@example.com --config gateway.yaml --until",
        ),
      );
      expect(output).toContain('user "alice@example.com" blocked until ');
      expect(output).toContain('user "alice@example.com" no longer blocked');
      await shell.run(blockWith(readPage("runtime/operations/backup.md"), "sh", "# SQLite, while the gateway runs"));
      shell.write("restored.yaml", "insecure_server: true\nstorage_url: sqlite:backup.db\nroutes: []\n");
      const restored = await shell.run("gateway blocks --config restored.yaml");
      expect(restored).toMatch(/^route +payments\/ledger/m);
      expect(restored).not.toContain("alice@example.com");
    });
  });

  test("kubernetes-ingress: manifests become slices", async () => {
    await withShell(async (shell) => {
      cpSync(join(root, "examples/kubernetes-ingress"), shell.directory, { recursive: true });
      const page = readPage("examples/kubernetes-ingress/README.md");
      const output = await shell.run(blockWith(page, "sh", "gateway ingress translate ingresses.yaml"));
      expect(output).toContain("10 of 15 Ingresses served");
      const slice = parse(readFileSync(join(shell.directory, "slices.yaml"), "utf8")) as { owner: string };
      expect(slice.owner).toBe("kubernetes.shop");
    });
  });
});

const POMERIUM = `
authenticate_service_url: https://auth.example.com
idp_provider: google
idp_client_id: client
idp_client_secret: secret
shared_secret: ${Buffer.alloc(32, 1).toString("base64")}
certificate_file: /etc/tls.crt
certificate_key_file: /etc/tls.key
routes:
  - from: https://app.example.com
    to: http://app.internal:8080
    policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
`;

describe("configuration", () => {
  /** Files that are something else. */
  const OTHERS = ["www.example.com: [shop, blog]", "groups:\n  - name: gateway", "image: registry.example.com/"];
  const files = inLanguage("yaml").filter(({ text }) => !OTHERS.some((words) => text.startsWith(words)));

  test.each(files)("$page, below $heading: YAML loads", ({ text }) => {
    const isWhole = /^certificates:/m.test(text);
    const listener = isWhole || /^acme:/m.test(text) ? "" : "insecure_server: true\n";
    const { problems } = loadSlices([{ file: "page.yaml", text: text + listener, boot: true }]);
    // A part may lack what a gateway needs besides, a whole file nothing.
    expect(problems.filter(({ severity }) => isWhole || severity === "error").map(formatProblem)).toEqual([]);
  });

  test("among the files are whole ones: of the README, which the page of the installation repeats, and of the production checklist", () => {
    const whole = files.filter(({ text }) => /^certificates:/m.test(text));
    expect(whole.map(({ page }) => page)).toEqual([
      "README.md",
      "runtime/guide/install.md",
      "runtime/operations/deploy.md",
    ]);
  });

  test("is in no other language than these, of which each has its test, or the page says that it has none", () => {
    const tested = new Set(["", "text", "sh", "yaml", "hcl", "ts", "js", "python", ...Object.keys(SYSTEMS)]);
    const others = blocks.filter(({ language }) => !tested.has(language));
    expect(others.map(({ language }) => language).toSorted()).toEqual(["nginx"]);
    for (const { language, page } of others)
      expect(readPage(page)).toMatch(new RegExp(`[^]The tests do not run\\s+this one:\\n\\n\`\`\`${language}`));
  });

  /** Each page with blocks that go together; those of the guide and of operations are configurations of their own. */
  const programs = (): readonly string[] => {
    // The example of the Terraform page is a file of its own that other tests apply; so are lists and actions, for later versions.
    const snippets = inLanguage("hcl").filter(
      ({ text }) => !/required_providers|^# Needs Terraform 1\.1[24]/.test(text),
    );
    const [alone, together] = [true, false].map((isAlone) =>
      snippets.filter(({ page }) => /^runtime\/(?:guide|operations)\//.test(page) === isAlone).map(({ text }) => text),
    );
    expect(together?.length).toBeGreaterThan(1);
    expect(alone?.length).toBeGreaterThan(1);
    return [together?.join("\n") ?? "", ...(alone ?? [])];
  };

  test.skipIf(terraformMissing() !== undefined)("HCL validates", { timeout: LONG_MS }, async () => {
    const provider = await serveInProcess();
    const workspace = createWorkspace(provider.env);
    try {
      const head =
        'terraform {\n  required_providers {\n    gateway = {\n      source = "gateform/gateway"\n    }\n  }\n}\n';
      workspace.write("ca.pem", "");
      workspace.write(
        "tools.lock.json",
        JSON.stringify({ servers: { "https://notes.example.com/mcp": { tools: [], instructions: [] } } }),
      );
      for (const program of programs()) {
        workspace.write("main.tf", head + program);
        await workspace.succeed("init");
        await workspace.succeed("validate");
      }
    } finally {
      workspace.close();
      provider.close();
    }
  });

  test("the program of the constructs' page synthesizes, and its policy tests hold", async () => {
    await withShell(async (shell) => {
      const page = readPage("cdktf/README.md");
      const constructs = JSON.stringify(join(root, "cdktf/index.ts"));
      const text = `${blockWith(page, "ts", "// main.ts")}\n${blockWith(page, "ts", "expectAllow(")}`
        .replaceAll('"gateform/cdktf"', constructs)
        .replaceAll('"gateform/cdktf/testing"', JSON.stringify(join(root, "cdktf/testing.ts")))
        .replace('from "cdktf"', `from ${JSON.stringify(join(root, "node_modules/cdktf/lib/index.js"))}`);
      writeFileSync(join(shell.directory, "main.ts"), text);
      await shell.run(`${JSON.stringify(process.execPath)} main.ts`);
      const slice = readFileSync(join(shell.directory, "cdktf.out/stacks/team/gateway.bundle.json"), "utf8");
      expect(Object.keys((JSON.parse(slice) as { routes: object }).routes)).toEqual(["github", "wiki"]);
    });
  });
});
