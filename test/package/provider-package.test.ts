/** `npm run package:provider`: archives, checksums, signature, documentation, and the real Terraform installing them. */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { providerDocs } from "../../runtime/package/docs.ts";
import { type Platform, PLATFORMS } from "../../runtime/package/executable.ts";
import { packageProvider, type Release, thisPlatform } from "../../runtime/package/provider.ts";
import { makeCertificate } from "../../runtime/terraform/protocol/certificate.ts";
import { PROVIDER_ADDRESS } from "../../runtime/terraform/schema/schema.ts";
import { PROVIDER_VERSION } from "../../runtime/terraform/version.ts";
import { bundleConfig, createWorkspace, terraformMissing } from "../support/terraform.ts";

const missing = terraformMissing();
if (missing !== undefined) console.log(`skipped: installing the packaged provider, ${missing}`);

const OTHER: Platform = thisPlatform() === "linux_arm64" ? "linux_amd64" : "linux_arm64";

describe("package:provider", { timeout: 120_000 }, () => {
  let root = "";
  let release: Release;
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), "gateform-release-"));
    const platform = thisPlatform();
    release = await packageProvider(join(root, "release"), [...(platform ? [platform] : []), OTHER]);
  }, 120_000);
  afterAll(() => rmSync(root, { recursive: true }));

  const archives = (...parts: string[]): string => join(release.directory, "archives", ...parts);
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

  test("the signature of SHA256SUMS verifies, and not for another text", () => {
    if (release.signer !== "gpg-test-key") {
      expect(existsSync(archives(`${sums}.ed25519.sig`))).toBe(true);
      return console.log("skipped: verifying by gpg, which is not on the PATH");
    }
    const home = join(root, "gpg");
    mkdirSync(home, { mode: 0o700 });
    const gpg = (...args: string[]): void => {
      execFileSync("gpg", ["--homedir", home, "--batch", "--quiet", ...args], { stdio: "pipe" });
    };
    gpg("--import", archives("test-key.asc"));
    gpg("--verify", archives(`${sums}.sig`), archives(sums));
    const manifest = archives(`terraform-provider-gateway_${PROVIDER_VERSION}_manifest.json`);
    expect(() => gpg("--verify", archives(`${sums}.sig`), manifest)).toThrow("Command failed");
    execFileSync("gpgconf", ["--homedir", home, "--kill", "all"], { stdio: "ignore" });
    return undefined;
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
    for (const [name] of pages) expect(existsSync(join(release.directory, "docs", name)), name).toBe(true);
    const bundle = pages.get("resources/bundle.md") ?? "";
    expect(bundle).toContain("- `host_rewrite` (string, optional) Set the Host header to this fixed");
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
    expect(await applied(join(release.directory, "mirror-packed"), ROUTE)).toContain("https://a.example.com");
  });

  test.skipIf(missing !== undefined)("terraform installs from the unpacked mirror and applies", async () => {
    expect(await applied(join(release.directory, "mirror"), ROUTE)).toContain("https://a.example.com");
  });

  test("the executable, and the launcher of other platforms, start; how soon is only reported", async () => {
    const name = `terraform-provider-gateway_v${PROVIDER_VERSION}`;
    const unpacked = (platform: string): string =>
      join(release.directory, "mirror", PROVIDER_ADDRESS, PROVIDER_VERSION, platform, name);
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

  test("knows the platforms it is made for", () => {
    expect(PLATFORMS).toEqual(["linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"]);
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
