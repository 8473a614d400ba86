/**
 * `npm run build [-- DIRECTORY]`: dist/, or that directory, as the published package has it.
 *
 *   dist/runtime            JavaScript and declarations by tsc; the gateway's programs as few files
 *   dist/constructs/cdktf   the constructs, and what they need of runtime/, as CommonJS
 *   dist/constructs/cdktn   the same constructs over the framework `cdktn`
 *   dist/provider           the Terraform provider as one file, with the licences of what is in it
 *   dist/sbom.cdx.json, dist/THIRD_PARTY_LICENSES.txt   what the package needs to run, in the versions of the lock file
 *   dist/image-sbom.cdx.json   what examples/container/Dockerfile puts into an image
 *
 * Two builds of one commit have the same bytes, wherever they are made. Types are what `npm run check` is for, which
 * `npm test` and `npm publish` begin with.
 *
 * CommonJS, because that is what a project of `cdktf init` is: its tsc, ts-node and jest take nothing else. ES modules
 * import it by name all the same. Not both: classes of two builds in one program would not know each other.
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
  // Files of an earlier build that have no source any more would be published too.
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

/** tsc rewrites `.ts` to `.js` in JavaScript and leaves it in declarations, where nobody has the `.ts` any more. */
async function finishDeclarations(directory: string): Promise<void> {
  for (const file of await filesIn(directory, ".d.ts")) {
    await edit(file, file, (specifier) => specifier.replace(/^(\..*)\.ts$/, "$1.js"));
  }
}

/**
 * The constructs once more with `cdktn` in the place of `cdktf`: the one an archived framework, the other its
 * continuation with the same API. Their objects do not mix in one program, so each has its own entry point.
 */
async function writeOtherFramework(from: string, to: string): Promise<void> {
  for (const file of [...(await filesIn(from, ".js")), ...(await filesIn(from, ".d.ts"))]) {
    const copy = join(to, file.slice(from.length));
    await mkdir(dirname(copy), { recursive: true });
    await edit(file, copy, (specifier) => (specifier === "cdktf" ? "cdktn" : specifier));
  }
}

/** What the package needs is not in it: whoever installs it gets it from a registry. */
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
/** Without it `gateway ingress watch` does not start. */
const IMAGE_BRINGS = ["@kubernetes/client-node"];

/** What the base image has in it is its publisher's to list: it is named, and pulled long after this. */
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
 * The provider as one file, and the licences of what is in it.
 *
 * @returns the packages that are in it, as bills of materials refer to them
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
