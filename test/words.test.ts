/**
 * Words that leave the program or outlive it: error codes, kinds of records, key purposes, cookies, headers, metrics,
 * reasons, messages of the log. Moving or renaming code must not change them unnoticed: others search for them, compare
 * them, or find what was stored under them.
 *
 * The list is what stands in the sources as a string in one of the forms that such words have. New words are added with
 * GATEWAY_UPDATE_GOLDEN=1; one that is missing is a change that users notice, to be decided on and named in the changelog.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { transformSync } from "esbuild";
import { expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;
const golden = new URL("golden/words.txt", import.meta.url);

/** What a word looks like that is sent, stored or compared; ordinary sentences are the business of their own tests. */
const FORMS: readonly RegExp[] = [
  // invalid_grant, gateway_requests_total, device-unauthorized, store.too-new, X-Gateway-Assertion
  /"([A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)+)"/g,
  /"(\/\.(?:gateway|well-known)\/[^"]*)"/g,
  // Keys of the store: `session:${id}`
  /[`"]([a-z][a-z-]*:)(?:\$\{|")/g,
  /\.(?:sealer|derive)\("([^"]+)"\)/g,
  // Messages of the log; what they are about is the object before.
  /\blog\.(?:debug|info|warn|error)\(\s*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\},\s*)?"((?:[^"\\]|\\.)+)"/g,
];

/** Files and modules: they may move. */
const PLACE = /\.(?:ts|js|cjs|mjs|json|md|tf|yaml|db|sh)$|^node\.|^\.\.?\//;

function wordsOfSources(): string[] {
  const words = new Set<string>();
  for (const entry of readdirSync(join(root, "runtime"), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(".ts")) continue;
    const source = readFileSync(join(entry.parentPath, entry.name), "utf8");
    // Comments go; strings come in one spelling.
    const { code } = transformSync(source, { loader: "ts", minifyWhitespace: false, legalComments: "none" });
    const body = code.replaceAll(/^(?:import|export) [^;]*?from "[^"]+";$|^import "[^"]+";$/gm, "");
    for (const form of FORMS) {
      for (const [, word = ""] of body.matchAll(form)) if (!PLACE.test(word)) words.add(word);
    }
  }
  return [...words].toSorted();
}

test("every word that is stored, derived, sent or logged is still there", () => {
  const now = wordsOfSources();
  if (process.env["GATEWAY_UPDATE_GOLDEN"] === "1") writeFileSync(golden, `${now.join("\n")}\n`);
  const before = readFileSync(golden, "utf8").trimEnd().split("\n");
  expect(before.length).toBeGreaterThan(1_000);
  const known = new Set(now);
  expect(before.filter((word) => !known.has(word))).toEqual([]);
});
