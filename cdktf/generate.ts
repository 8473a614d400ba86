/**
 * `node cdktf/generate.ts` rewrites generated/; test/cdktf/generate/bindings.test.ts fails when its files differ from their
 * sources.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { providerSchemaJson } from "../runtime/terraform/schema/schema.ts";
import { generateBindings, type ProviderSchemaDocument } from "./generate/bindings.ts";
import { propsText } from "./generate/props.ts";

/** @returns file name below generated/ → text */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const bindings = await generateBindings(providerSchemaJson() as ProviderSchemaDocument, await versionConstraint());
  return new Map([...bindings, ["props.ts", propsText()]]);
}

/** Bindings and provider are published together: the same minor version. */
async function versionConstraint(): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return `~> ${version}`;
}

async function writeGenerated(directory: string): Promise<void> {
  const files = await generatedFiles();
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory);
  for (const [name, text] of files) await writeFile(join(directory, name), text);
}

if (import.meta.main) await writeGenerated(new URL("generated", import.meta.url).pathname);
