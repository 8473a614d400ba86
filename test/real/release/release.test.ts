/** `npm run release` twice, and what its output stands up to: the steps of the documentation, and programs of others. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { PROVIDER_ADDRESS, PROVIDER_SOURCE } from "../../../runtime/terraform/schema/schema.ts";
import { VERSION } from "../../../runtime/shared/version.ts";
import { createGpgHome, type GpgHome } from "../../support/gpg.ts";
import { runSteps, stepsOf } from "../../support/release-steps.ts";
import { bundleConfig, createWorkspace } from "../../support/terraform.ts";

const checkout = new URL("../../../", import.meta.url).pathname;
const [verify = "", compare = "", rebuild = ""] = stepsOf("UPGRADING.md", "## Verify a release");
const PROVIDER = `terraform-provider-gateway_v${VERSION}`;
const ROUTE = '  route "a" {\n    from = "https://a.example.com"\n    to = ["http://a"]\n  }';
const CONFIG = bundleConfig(`  owner = "team"\n  file {\n    directory = "slices"\n  }\n${ROUTE}`);

/** For one release: two minutes, and much more on a busy host. */
const RELEASE_MS = 20 * 60_000;

interface Facts {
  readonly commit: string;
  readonly signed: string;
  readonly files: readonly { readonly path: string }[];
}

describe("a release", () => {
  const root = mkdtempSync(join(tmpdir(), "gateform release-"));
  const out = join(root, "release");
  let publisher: GpgHome;
  let user: GpgHome;
  let key = "";
  let facts: Facts;

  beforeAll(() => {
    [publisher, user] = [createGpgHome(), createGpgHome()];
    key = publisher.makeKey("Publisher <publisher@example.invalid>");
    const text = execFileSync("npm", ["run", "-s", "release", "--", "--out", out, "--key", key, "--json"], {
      cwd: checkout,
      env: { ...process.env, GNUPGHOME: publisher.directory },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    facts = JSON.parse(text) as Facts;
    writeFileSync(join(out, "publisher.asc"), publisher.run("--armor", "--export", key));
  }, RELEASE_MS);
  afterAll(() => {
    publisher?.close();
    user?.close();
    rmSync(root, { recursive: true, force: true });
  });

  const verified = (directory: string): string => runSteps(verify, directory, { GNUPGHOME: user.directory });
  /** A mirror as the provider's page describes it, in a workspace of Terraform. */
  const mirrored = (env: Readonly<Record<string, string>> = {}) => {
    const workspace = createWorkspace({ TF_CLI_CONFIG_FILE: join(root, "terraform.rc"), ...env });
    writeFileSync(
      join(root, "terraform.rc"),
      `provider_installation {\n  filesystem_mirror {\n    path = ${JSON.stringify(join(root, "provider-mirror"))}\n  }\n}\n`,
    );
    const target = join(root, "provider-mirror", PROVIDER_ADDRESS);
    mkdirSync(target, { recursive: true });
    for (const name of readdirSync(join(out, "terraform")))
      if (name.endsWith(".zip")) cpSync(join(out, "terraform", name), join(target, name));
    workspace.write("main.tf", CONFIG);
    return workspace;
  };

  test("lists its files, which the steps of UPGRADING verify; a changed file and another's signature do not pass", () => {
    expect(facts).toMatchObject({ version: VERSION, signed: key });
    expect(facts.files.length).toBeGreaterThan(15);
    const said = verified(out);
    expect(said).toContain("Good signature");
    for (const { path } of facts.files) expect(said).toContain(`${path}: OK`);
    runSteps(compare, out);
    const terraform = join(out, "terraform");
    const sums = `terraform-provider-gateway_${VERSION}_SHA256SUMS`;
    user.run("--verify", join(terraform, `${sums}.sig`), join(terraform, sums));

    const changed = join(root, "changed");
    cpSync(out, changed, { recursive: true });
    const bill = join(changed, `npm/gateform-${VERSION}.cdx.json`);
    writeFileSync(bill, readFileSync(bill, "utf8").replace('"MIT"', '"0BSD"'));
    expect(() => verified(changed)).toThrow("Command failed");
    expect(() => runSteps(compare, changed)).toThrow("Command failed");
    const stranger = createGpgHome();
    stranger.makeKey("Publisher <publisher@example.invalid>");
    rmSync(join(changed, "SHA256SUMS.sig"));
    stranger.run("--detach-sign", "--output", join(changed, "SHA256SUMS.sig"), join(changed, "SHA256SUMS"));
    stranger.close();
    expect(() => verified(changed)).toThrow("Command failed");
    rmSync(changed, { recursive: true });
  });

  test(
    "has the same bytes from another directory, with other permissions, time zone and language",
    { timeout: RELEASE_MS },
    () => {
      const clone = join(root, "another clone");
      execFileSync("git", ["clone", "-q", checkout, clone]);
      execFileSync("git", ["checkout", "-q", facts.commit], { cwd: clone });
      runSteps(`umask 077\n${rebuild}`, clone, { TZ: "Asia/Tokyo", LC_ALL: "C", GATEFORM_GPG_KEY: "" });
    },
  );

  test("Terraform locks all platforms from its archives, as the provider's page says, and installs by that lock file", async () => {
    const workspace = mirrored();
    try {
      const lock = stepsOf("terraform/README.md", "## Install").find((block) => block.includes("providers lock")) ?? "";
      symlinkSync(join(root, "provider-mirror"), workspace.path("provider-mirror"));
      const locked = runSteps(lock, workspace.directory, { CHECKPOINT_DISABLE: "1" });
      expect(locked.match(/Obtained \S+ checksums for \w+;/g)).toHaveLength(6);
      const text = workspace.read(".terraform.lock.hcl");
      // The pairs for macOS and for Windows have the same content.
      expect(text.match(/"h1:/g)).toHaveLength(4);
      await workspace.succeed("init", "-lockfile=readonly");
      await workspace.succeed("apply", "-auto-approve");
      expect(await workspace.succeed("plan", "-detailed-exitcode")).toContain("No changes.");
      expect(workspace.read(".terraform.lock.hcl")).toBe(text);
    } finally {
      workspace.close();
    }
  });

  test("the executable for arm64 serves Terraform under QEMU", async () => {
    const folder = join(root, "arm64");
    mkdirSync(folder);
    const archive = join(out, "terraform", `terraform-provider-gateway_${VERSION}_linux_arm64.zip`);
    execFileSync("python3", ["-m", "zipfile", "-e", archive, folder]);
    chmodSync(join(folder, PROVIDER), 0o755);
    const started = join(folder, "terraform-provider-gateway");
    cpSync(join(folder, PROVIDER), join(folder, "arm64"));
    rmSync(join(folder, PROVIDER));
    writeFileSync(started, `#!/bin/sh\nexec ${process.env["GATEWAY_QEMU_ARM64"] ?? ""} '${folder}/arm64'\n`, {
      mode: 0o755,
    });
    const rc = join(root, "arm64.rc");
    writeFileSync(
      rc,
      `provider_installation {\n  dev_overrides {\n    ${JSON.stringify(PROVIDER_SOURCE)} = ${JSON.stringify(folder)}\n  }\n  direct {}\n}\n`,
    );
    const workspace = createWorkspace({ TF_CLI_CONFIG_FILE: rc });
    try {
      workspace.write("main.tf", CONFIG);
      await workspace.succeed("apply", "-auto-approve");
      expect(workspace.read("slices/team.json")).toContain("https://a.example.com");
    } finally {
      workspace.close();
    }
  });

  test("the archives for Windows have one executable of Windows", () => {
    for (const architecture of ["amd64", "arm64"]) {
      const archive = join(out, "terraform", `terraform-provider-gateway_${VERSION}_windows_${architecture}.zip`);
      const script = `import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
head = archive.open("${PROVIDER}.exe").read(4096)
start = int.from_bytes(head[60:64], "little")
print(" ".join(archive.namelist()), head[:2].decode(), head[start:start + 2].decode(), hex(int.from_bytes(head[start + 4:start + 6], "little")))`;
      const said = execFileSync("python3", ["-c", script, archive], { encoding: "utf8" });
      expect(said.trim()).toBe(`${PROVIDER}.exe THIRD_PARTY_LICENSES.txt NODE_LICENSE.txt MZ PE 0x8664`);
    }
  });

  test("npm installs the package, whose command states the commit", () => {
    const project = join(root, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), "{}");
    const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--silent"];
    execFileSync("npm", ["install", join(out, `npm/gateform-${VERSION}.tgz`), ...options], { cwd: project });
    const said = execFileSync(join(project, "node_modules/.bin/gateway"), ["version", "--json"], { encoding: "utf8" });
    expect(JSON.parse(said)).toMatchObject({ version: VERSION, commit: facts.commit });
  });

  test("the image's context has all that the Dockerfile copies: its steps, a process without rights, and hadolint", () => {
    const context = join(root, "context");
    mkdirSync(context);
    execFileSync("tar", ["-xzf", join(out, `image/gateform-${VERSION}-image-context.tar.gz`), "-C", context]);
    const check = execFileSync(process.execPath, ["test/support/run-example.ts", "container", "--context", context], {
      cwd: checkout,
      encoding: "utf8",
    });
    expect(check).toMatch(/^\d+ passed, 0 failed$/m);
    expect(check).toContain("pass  the container's user is not root and can write nowhere but to its volume");
    const dockerfile = join(context, "examples/container/Dockerfile");
    // Layers of the first stage are not shipped: several RUN instructions are fine there.
    const options = ["--ignore", "DL3059", dockerfile];
    execFileSync(process.env["GATEWAY_HADOLINT"] ?? "hadolint", options, { encoding: "utf8" });
  });
});
