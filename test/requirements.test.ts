/** The gate of the manifest: every requirement is verified by tests that exist, deferred, or not claimed, with a reason. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { requirements, type Requirement } from "./requirements.ts";

const root = join(import.meta.dirname, "..");
const texts = new Map<string, string>();

function textOf(file: string): string | undefined {
  const path = join(root, file);
  if (!texts.has(file) && existsSync(path)) texts.set(file, readFileSync(path, "utf8"));
  return texts.get(file);
}

/** What is wrong with one proof "file#title", or nothing. */
function problemOf(proof: string): string | undefined {
  const at = proof.indexOf("#");
  const file = proof.slice(0, at);
  const title = proof.slice(at + 1);
  const text = textOf(file);
  if (text === undefined) return `${file} does not exist`;
  if (title.length < 8) return `"${title}" is too short to name a test`;
  if (!text.includes(title)) return `${file} has no test "${title}"`;
  return undefined;
}

function outcomesOf({ verifiedBy, deferred, notClaimed }: Requirement): number {
  return [verifiedBy, deferred, notClaimed].filter((outcome) => outcome !== undefined).length;
}

describe("requirements", () => {
  test("ids are unique", () => {
    const ids = requirements.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test("each has one outcome, with proofs or a reason", () => {
    const open = requirements.filter((each) => outcomesOf(each) !== 1 || each.verifiedBy?.length === 0);
    expect(open.map(({ id }) => id)).toEqual([]);
    const unexplained = requirements.filter(
      ({ deferred, notClaimed }) => (deferred ?? notClaimed ?? "a reason").length < 8,
    );
    expect(unexplained.map(({ id }) => id)).toEqual([]);
  });

  test("every test named as a proof exists", () => {
    const problems = requirements.flatMap(({ id, verifiedBy = [] }) =>
      verifiedBy.flatMap((proof) => {
        const problem = problemOf(proof);
        return problem === undefined ? [] : [`${id}: ${problem}`];
      }),
    );
    expect(problems).toEqual([]);
  });

  test("the count by outcome", () => {
    const count = (key: "verifiedBy" | "deferred" | "notClaimed") => requirements.filter((each) => each[key]).length;
    console.log(
      `requirements: ${count("verifiedBy")} verified, ${count("deferred")} deferred, ${count("notClaimed")} not claimed, ${requirements.length} in all`,
    );
    expect(requirements.length).toBeGreaterThan(150);
  });
});
