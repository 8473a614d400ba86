/**
 * `npm run release -- --out DIRECTORY [--key FINGERPRINT] [--json]`: everything that is published, from the last commit.
 *
 *   npm/             the npm package and its bill of materials
 *   terraform/       the files of a registry release: archives for six platforms, manifest, SHA256SUMS and its signature
 *   terraform-docs/  the pages a registry shows
 *   image/           the build context of the container image, and the image's bill of materials
 *   SHA256SUMS       of all files except signatures, and its signature
 *
 * Only files of the commit and packages of its lock file are used, in a temporary directory: the same commit, Node and npm
 * give the same bytes everywhere and at any time, except for signatures. `--key` names a key of your GnuPG; without it
 * nothing is signed.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

import { VERSION } from "../shared/version.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** The Dockerfile and what it copies. */
const CONTEXT =
  "package.json package-lock.json tsconfig.json .tsconfig.build.json .tsconfig.constructs.json runtime cdktf " +
  "examples/container/Dockerfile :!runtime/operations/pictures";

interface ReleaseOptions {
  /** Must be empty or not exist. */
  readonly out: string;
  /** Fingerprint of the signing key. */
  readonly key: string | undefined;
}

interface Release {
  readonly version: string;
  readonly commit: string;
  /** Of the commit, RFC 3339. */
  readonly date: string;
  readonly directory: string;
}

async function release({ out, key }: ReleaseOptions): Promise<Release> {
  if ((await readdir(out).catch(() => [])).length > 0) throw new Error(`${out} is not empty`);
  if (key !== undefined) requireKey(key);
  const commit = git("rev-parse", "HEAD").toString().trim();
  const seconds = git("show", "--no-patch", "--format=%ct", commit).toString().trim();
  if (git("status", "--porcelain").length > 0) console.error("Uncommitted changes are not in the release");
  const source = await mkdtemp(join(tmpdir(), "gateform-release-"));
  const run = (command: string, ...args: readonly string[]): void => {
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`,
      SOURCE_DATE_EPOCH: seconds,
      ...(key === undefined ? {} : { GATEFORM_GPG_KEY: key }),
    };
    // Paths of the surrounding `npm run` would lead npm to the checkout.
    for (const name of Object.keys(env)) if (/^npm_/i.test(name)) delete env[name];
    execFileSync(command, args, { cwd: source, env, stdio: ["ignore", "ignore", 2] });
  };
  try {
    console.error(`Sources of ${commit}`);
    execFileSync("tar", ["-xf", "-", "-C", source], { input: archive(commit) });
    console.error("Packages of its lock file");
    run("npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error");
    await mkdir(join(out, "image"), { recursive: true });
    const context = gzipSync(archive(commit, ...CONTEXT.split(" ")), { level: 9 });
    await writeFile(join(out, "image", `gateform-${VERSION}-image-context.tar.gz`), context);
    run(process.execPath, "runtime/package/release-files.ts", out);
  } finally {
    await rm(source, { recursive: true, force: true });
  }
  return { version: VERSION, commit, date: new Date(Number(seconds) * 1000).toISOString(), directory: out };
}

/** @throws Error now, not after minutes of building */
function requireKey(key: string): void {
  try {
    execFileSync("gpg", ["--batch", "--list-secret-keys", key], { stdio: "ignore" });
  } catch {
    throw new Error(`GnuPG has no secret key "${key}": import it, or set GNUPGHOME`);
  }
}

function git(...args: readonly string[]): Buffer {
  return execFileSync("git", args, { cwd: ROOT, maxBuffer: 1 << 30, stdio: ["ignore", "pipe", 2] });
}

/** The commit's files as tar, with its time and the same permissions for all users. */
function archive(commit: string, ...paths: readonly string[]): Buffer {
  return git("-c", "tar.umask=0022", "archive", "--format=tar", commit, "--", ...paths);
}

async function filesOf(directory: string): Promise<readonly object[]> {
  const sums = (await readFile(join(directory, "SHA256SUMS"), "utf8")).trimEnd().split("\n");
  return Promise.all(
    sums.map(async (line) => {
      const [sha256 = "", path = ""] = line.split("  ");
      return { path, bytes: (await stat(join(directory, path))).size, sha256 };
    }),
  );
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { out: { type: "string" }, key: { type: "string" }, json: { type: "boolean" } },
  });
  if (values.out === undefined) {
    console.error("Usage: npm run release -- --out DIRECTORY [--key FINGERPRINT] [--json]");
    process.exit(2);
  }
  const key = (values.key ?? process.env["GATEFORM_GPG_KEY"]) || undefined;
  // npm packs the permissions of files.
  process.umask(0o022);
  const facts = await release({ out: resolve(process.env["INIT_CWD"] ?? ".", values.out), key });
  const signed = key ?? null;
  const sums = await readFile(join(facts.directory, "SHA256SUMS"));
  const sha256 = createHash("sha256").update(sums).digest("hex");
  if (values.json === true) {
    const files = await filesOf(facts.directory);
    console.log(JSON.stringify({ ...facts, signed, sha256sums: sha256, files }, null, 2));
  } else {
    console.log(`${facts.directory}: release ${VERSION} of commit ${facts.commit}`);
    console.log(key === undefined ? "Not signed: name a key with --key FINGERPRINT" : `Signed with ${key}`);
    console.log(`SHA-256 of SHA256SUMS: ${sha256}`);
  }
}
