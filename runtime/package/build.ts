/**
 * `npm run build [-- DIRECTORY]`: dist/, or that directory, as in the published package.
 *
 *   dist/runtime            JavaScript and declarations by tsc; the gateway's programs as few files
 *   dist/constructs/cdktf   the constructs, and the parts of runtime/ that they need, as CommonJS
 *   dist/constructs/cdktn   the same constructs over the framework `cdktn`
 *   dist/provider           the Terraform provider as one file, with the licenses of its contents
 *   dist/sbom.cdx.json, dist/THIRD_PARTY_LICENSES.txt   runtime dependencies of the package, in the versions of the lock file
 *   dist/image-sbom.cdx.json   contents that examples/container/Dockerfile adds to an image
 *
 * Two builds of one commit have the same bytes, wherever they are made. `npm run check` checks types; `npm test` and
 * `npm publish` start with it.
 *
 * CommonJS, because a project of `cdktf init` uses it: its tsc, ts-node and jest accept nothing else. ES modules can
 * still import it by name. Not both: classes of two builds in one program would not recognize each other.
 */
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { writeProviderFile } from "../terraform/provider-file.ts";
import { VERSION } from "../shared/version.ts";
import { installedPackages, packagesOf, thirdPartyLicenses } from "./licenses.ts";
import { writePrograms } from "./program-files.ts";
import { readBill, refsOf, renderBill } from "./sbom.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** A module's specifier in emitted code: of an import or export, a dynamic import, an import type, or a require. */
const SPECIFIER = /((?:\bfrom|\bimport\(|\bimport|\brequire\()\s*)(["'])([^"'\n]+)\2/g;

export async function build(dist: string): Promise<void> {
  // Files of an earlier build whose source is gone would be published as well.
  for (const part of ["runtime", "constructs", "provider"])
    await rm(join(dist, part), { recursive: true, force: true });
  compile(".tsconfig.build.json", dist);
  compile(".tsconfig.constructs.json", join(dist, "constructs"));
  await finishDeclarations(dist);
  await writePrograms(ROOT, join(dist, "runtime"));
  const constructs = join(dist, "constructs");
  await writeFile(join(constructs, "package.json"), '{ "type": "commonjs" }\n');
  await writeOtherFramework(join(constructs, "cdktf"), join(constructs, "cdktn"));
  await writeProvider(join(dist, "provider"));
  await writePapers(dist);
}

function compile(project: string, outDir: string): void {
  const options = ["-p", join(ROOT, project), "--noCheck", "--outDir", outDir];
  execFileSync(join(ROOT, "node_modules/.bin/tsc"), options, {
    stdio: ["ignore", 2, 2],
  });
}

/** tsc rewrites `.ts` to `.js` in JavaScript, but not in declarations; the package does not contain the `.ts` files. */
async function finishDeclarations(directory: string): Promise<void> {
  for (const file of await filesIn(directory, ".d.ts")) {
    await edit(file, file, (specifier) => specifier.replace(/^(\..*)\.ts$/, "$1.js"));
  }
}

/**
 * Copies the constructs with `cdktn` instead of `cdktf`: the latter is an archived framework, the former its
 * continuation with the same API. Their objects do not mix in one program, so each has its own entry point.
 */
async function writeOtherFramework(from: string, to: string): Promise<void> {
  for (const file of [...(await filesIn(from, ".js")), ...(await filesIn(from, ".d.ts"))]) {
    const copy = join(to, file.slice(from.length));
    await mkdir(dirname(copy), { recursive: true });
    await edit(file, copy, (specifier) => (specifier === "cdktf" ? "cdktn" : specifier));
  }
}

/** The package does not contain its dependencies: npm installs them from a registry. */
async function writePapers(dist: string): Promise<void> {
  const { description } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { description: string };
  const product = { name: "gateform", version: VERSION, description, purl: `pkg:npm/gateform@${VERSION}` };
  const needed = await readBill(ROOT);
  const refs = refsOf(needed);
  await writeFile(join(dist, "sbom.cdx.json"), renderBill(needed, product, refs));
  await writeFile(join(dist, IMAGE_BILL), await imageBill(description));
  const licenses = await thirdPartyLicenses("This package needs", await installedPackages(ROOT, refs));
  await writeFile(join(dist, "THIRD_PARTY_LICENSES.txt"), licenses);
}

const IMAGE_BILL = "image-sbom.cdx.json";
/** `gateway ingress watch` does not start without it. */
const IMAGE_BRINGS = ["@kubernetes/client-node"];

/** The contents of the base image are for its publisher to list: it is only named here, and pulled much later. */
export async function imageBill(description: string): Promise<string> {
  const needed = await readBill(ROOT, IMAGE_BRINGS);
  const file = await readFile(join(ROOT, "examples/container/Dockerfile"), "utf8");
  const [, name = "", version = ""] = /^FROM ([^\s:]+):(\S+)$/m.exec(file) ?? [];
  const base = { "bom-ref": `${name}:${version}`, type: "container", name, version };
  const self = { "bom-ref": `gateform@${VERSION}`, type: "application", name: "gateform", version: VERSION };
  const product = { type: "container", name: "gateform-image", version: VERSION, description } as const;
  return renderBill(needed, product, refsOf(needed), [base, { ...self, purl: `pkg:npm/gateform@${VERSION}` }]);
}

/**
 * The provider as one file, and the licenses of its contents.
 *
 * @returns the bundled packages, as bills of materials refer to them
 */
export async function writeProvider(directory: string): Promise<readonly string[]> {
  await mkdir(directory, { recursive: true });
  const inputs = await writeProviderFile(join(directory, "provider.cjs"));
  if (!inputs) throw new Error("Cannot bundle the provider: esbuild is not installed, run npm ci");
  const packages = await packagesOf(ROOT, inputs);
  const licenses = await thirdPartyLicenses("This program contains", packages);
  await writeFile(join(directory, "THIRD_PARTY_LICENSES.txt"), licenses);
  return packages.map(({ ref }) => ref);
}

async function edit(from: string, to: string, change: (specifier: string) => string): Promise<void> {
  const text = await readFile(from, "utf8");
  const edited = text.replaceAll(
    SPECIFIER,
    (_, before: string, quote: string, specifier: string) => `${before}${quote}${change(specifier)}${quote}`,
  );
  await writeFile(to, edited);
}

async function filesIn(directory: string, ending: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name));
}

if (import.meta.main) await build(resolve(process.argv[2] ?? join(ROOT, "dist")));
