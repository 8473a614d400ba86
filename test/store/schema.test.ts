/** SCHEMA.md is what people read who look into the store: every kind of record stands there, and nothing else. */
import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { APPROVALS_FEED } from "../../runtime/approvals/approval-records.ts";
import { ACTIONS_FEED } from "../../runtime/records/actions.ts";
import { DRIFT_FEED } from "../../runtime/mcp/tool-locks/shared-drift.ts";
import { recordFormats } from "../../runtime/record-kinds.ts";
import { BLOCK_FEED } from "../../runtime/identity/block-records.ts";
import { REVOCATION_FEED } from "../../runtime/identity/revocations.ts";
import { CONNECTION_FEED } from "../../runtime/oauth/client/changes.ts";

const text = readFileSync(new URL("../../runtime/store/SCHEMA.md", import.meta.url), "utf8");
const rowsOf = (heading: string): readonly string[] => {
  const section = text.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, key]) => key ?? "");
};

test("SCHEMA.md names every kind of record with a schema, and none that is gone", () => {
  // Without a schema of their own in formats.ts: kept by bundle/, which checks what it reads.
  const unversioned = ["slices", "slice", "kept", "status"];
  const kinds = [...new Set(rowsOf("Records").map((key) => key.split(":")[0] ?? ""))];
  expect(kinds.toSorted()).toEqual([...Object.keys(recordFormats), ...unversioned].toSorted());
});

test("SCHEMA.md names every feed", () => {
  expect(rowsOf("Feed").toSorted()).toEqual(
    [REVOCATION_FEED, CONNECTION_FEED, BLOCK_FEED, APPROVALS_FEED, DRIFT_FEED, ACTIONS_FEED].toSorted(),
  );
});
