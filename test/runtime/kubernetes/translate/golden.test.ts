/** Every pair in test/golden/kubernetes: manifests above the line; below it the slice and the messages. */
import { describe, expect, test } from "vitest";

import { readManifests } from "../../../../runtime/kubernetes/translate/manifests.ts";
import { renderProblems, renderSlices } from "../../../../runtime/kubernetes/render.ts";
import { translate } from "../../../../runtime/kubernetes/translate/translate.ts";
import { goldenPairs, type GoldenPair } from "../../../support/golden.ts";

/** A real seal is another text each time. */
async function output({ sources }: GoldenPair): Promise<string> {
  const { objects, problems } = readManifests(sources);
  if (problems.length > 0) return problems.join("\n");
  const translation = await translate(objects, {
    externalNames: true,
    seal: async (_value, { namespace, name, key }) => `sealed.${namespace}.${name}.${key.replaceAll("_", "-")}`,
  });
  return `${renderSlices(translation, "yaml")}\n${renderProblems(translation)}`.trimEnd();
}

const pairs = goldenPairs("kubernetes").map((pair) => [pair.name, pair] as const);

describe("translate()", () => {
  test.each(pairs)("makes of %s what it must", async (_, pair) => {
    const text = await output(pair);

    expect(`${text}\n`).toBe(pair.update(text));
  });

  test.each(pairs)("repeats no value of a Secret of %s", async (_, pair) => {
    expect(await output(pair)).not.toMatch(/hunter2|s3cret|aHVudGVyMg/);
  });
});
