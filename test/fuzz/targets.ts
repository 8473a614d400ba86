/** The targets and what they begin with. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** As libFuzzer's drivers call it: what is wrong is thrown. Where a reader answers later, so does the target. */
export type Fuzz = (data: Uint8Array) => void | Promise<void>;

export interface Target {
  readonly name: string;
  readonly fuzz: Fuzz;
  readonly corpus: readonly Uint8Array[];
}

const targets = new URL("targets/", import.meta.url).pathname;
const corpora = new URL("corpora/", import.meta.url).pathname;

export const targetNames = (): readonly string[] =>
  readdirSync(targets)
    .map((file) => file.slice(0, -".ts".length))
    .toSorted();

export async function loadTarget(name: string): Promise<Target> {
  const { fuzz } = (await import(join(targets, `${name}.ts`))) as { readonly fuzz: Fuzz };
  const folder = join(corpora, name);
  const corpus = readdirSync(folder)
    .toSorted()
    .map((file) => readFileSync(join(folder, file)));
  return { name, fuzz, corpus };
}
