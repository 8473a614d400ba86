import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const PACKAGE = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/** An installed package. */
export interface InstalledPackage {
  /** "@scope/name@1.2.3", as bills of materials refer to it. */
  readonly ref: string;
  readonly directory: string;
}

/**
 * The packages that a bundle contains.
 *
 * @param inputs paths of bundled files below `root`
 */
export async function packagesOf(root: string, inputs: readonly string[]): Promise<readonly InstalledPackage[]> {
  const directories = new Set(inputs.flatMap((input) => PACKAGE.exec(input)?.[0] ?? []));
  return Promise.all(
    [...directories].toSorted().map(async (directory) => {
      const { name, version } = await readAbout(join(root, directory));
      return { ref: `${String(name)}@${String(version)}`, directory: join(root, directory) };
    }),
  );
}

/**
 * The packages of the lock file with these names and versions.
 *
 * @param refs from bills of materials
 */
export async function installedPackages(root: string, refs: readonly string[]): Promise<readonly InstalledPackage[]> {
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, { readonly version?: string }>>;
  };
  const places = new Map(
    Object.entries(packages)
      // Any of several locations is fine.
      .toReversed()
      .map(([place, { version = "" }]) => [
        `${place.slice(place.lastIndexOf("node_modules/") + 13)}@${version}`,
        place,
      ]),
  );
  return refs.map((ref) => ({ ref, directory: join(root, places.get(ref) ?? `node_modules/${ref}`) }));
}

/** License texts of packages; most licenses require a copy with the software. */
export async function thirdPartyLicenses(product: string, packages: readonly InstalledPackage[]): Promise<string> {
  const parts = await Promise.all(packages.map(({ directory }) => licenseOf(directory)));
  return `${product} the following packages.\n\n${parts.join("\n")}`;
}

async function licenseOf(directory: string): Promise<string> {
  const about = await readAbout(directory);
  const names = (await readdir(directory)).filter((name) => /^(licen[cs]e|notice|copying)(\.|$)/i.test(name));
  const texts = await Promise.all(names.toSorted().map((name) => readFile(join(directory, name), "utf8")));
  const title = `${String(about["name"])} ${String(about["version"])} (${String(about["license"])})`;
  if (texts.length === 0) texts.push(`The package has no text of its licence. ${sourceOf(about)}`);
  return [title, "-".repeat(title.length), "", ...texts.map((text) => `${text.trim()}\n`)].join("\n");
}

/** Author and origin, for packages without a license text. */
function sourceOf({ author, repository, homepage }: Record<string, unknown>): string {
  const part = (value: unknown, member: string): string | undefined => {
    if (typeof value === "string") return value;
    const found = (value as Record<string, unknown> | null | undefined)?.[member];
    return typeof found === "string" ? found : undefined;
  };
  const source = part(repository, "url") ?? part(homepage, "url") ?? "unknown";
  return `Author: ${part(author, "name") ?? "unknown"}. Source: ${source}`;
}

async function readAbout(directory: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(directory, "package.json"), "utf8")) as Record<string, unknown>;
}
