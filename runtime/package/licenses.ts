import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const PACKAGE = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * The licence texts of all packages that a bundle was made from; most licences ask for theirs to go with each copy.
 *
 * @param inputs paths of bundled files below `root`
 */
export async function thirdPartyLicenses(root: string, inputs: readonly string[]): Promise<string> {
  const directories = new Set(inputs.flatMap((input) => PACKAGE.exec(input)?.[0] ?? []));
  const parts = await Promise.all([...directories].sort().map((directory) => licenseOf(join(root, directory))));
  return `This program contains the following packages.\n\n${parts.join("\n")}`;
}

async function licenseOf(directory: string): Promise<string> {
  const about = JSON.parse(await readFile(join(directory, "package.json"), "utf8")) as Record<string, unknown>;
  const names = (await readdir(directory)).filter((name) => /^(licen[cs]e|notice)(\.|$)/i.test(name));
  const texts = await Promise.all(names.sort().map((name) => readFile(join(directory, name), "utf8")));
  const title = `${String(about["name"])} ${String(about["version"])} (${String(about["license"])})`;
  return [title, "-".repeat(title.length), "", ...texts.map((text) => `${text.trim()}\n`)].join("\n");
}
