/**
 * Golden pairs: a text file with the input above a line of dashes and the expected output below.
 * A line "==== name" begins a further source. Set GATEWAY_UPDATE_GOLDEN=1 to write what the code says now, then read it.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

export interface GoldenPair {
  /** File name without ".txt". */
  readonly name: string;
  /** First source has the name "gateway.yaml". */
  readonly sources: readonly { readonly file: string; readonly text: string }[];
  readonly expected: string;
  /** The output to compare; written to the file instead when updating. */
  readonly update: (actual: string) => string;
}

const RULE = "-".repeat(60);

/** @param folder below test/golden/ */
export function goldenPairs(folder: string): readonly GoldenPair[] {
  const directory = new URL(`../golden/${folder}/`, import.meta.url);
  const files = readdirSync(directory).filter((file) => file.endsWith(".txt"));
  return files.sort().map((file) => readPair(new URL(file, directory), file.replace(/\.txt$/, "")));
}

function readPair(url: URL, name: string): GoldenPair {
  const [input = "", expected = ""] = readFileSync(url, "utf8").split(`\n${RULE}\n`);
  const sources = `==== gateway.yaml\n${input}\n`
    .split(/^==== /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf("\n");
      return { file: part.slice(0, end), text: part.slice(end + 1) };
    });
  const update = (actual: string): string => {
    if (process.env["GATEWAY_UPDATE_GOLDEN"] !== "1") return expected;
    writeFileSync(url, `${input.trimEnd()}\n${RULE}\n${actual}\n`);
    return `${actual}\n`;
  };
  return { name, sources, expected, update };
}
