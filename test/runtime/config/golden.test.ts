/** Every class of bad configuration with the messages its author sees, in test/golden/config. */
import { describe, expect, test } from "vitest";

import { checkFiles } from "../../../runtime/tools/check.ts";
import { goldenPairs } from "../../support/golden.ts";

describe("checkFiles()", () => {
  test.each(goldenPairs("config").map((pair) => [pair.name, pair] as const))("says of %s what it must", (_, pair) => {
    const sources = pair.sources.map((source, index) => ({ ...source, boot: index === 0 }));

    const { text } = checkFiles(sources);

    expect(`${text}\n`).toBe(pair.update(text));
  });

  test.each(goldenPairs("config").map((pair) => [pair.name, pair] as const))("repeats no secret of %s", (_, pair) => {
    const sources = pair.sources.map((source, index) => ({ ...source, boot: index === 0 }));

    expect(checkFiles(sources).text).not.toMatch(/hunter2|s3cret|Basic abc/);
  });
});
