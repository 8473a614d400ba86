/** What `gateway audit verify` prints; GATEWAY_UPDATE_GOLDEN=1 renews it. */
import { expect, test } from "vitest";

import type { VerifyReport } from "../../../../runtime/tools/audit/findings.ts";
import { formatVerify } from "../../../../runtime/tools/audit/text.ts";
import { goldenPairs } from "../../../support/golden.ts";

test.each(goldenPairs("audit").map((pair) => [pair.name, pair] as const))("%s", (_, { sources, update }) => {
  const report = JSON.parse(sources[0]?.text ?? "") as VerifyReport;
  const actual = formatVerify(report);
  expect(`${actual}\n`).toBe(update(actual));
});
