/** Requests of the program on the PATH: test/golden/terraform/ has the same, and the provider knows all of their parts. */
import { expect, test } from "vitest";

import {
  knownPart,
  programName,
  readRecording,
  recordRequests,
  writeRecording,
} from "../../support/recorded-requests.ts";

test("the recorded requests are what this program sends", async () => {
  const seen = await recordRequests();
  if (process.env["GATEWAY_UPDATE_GOLDEN"] === "1") writeRecording(programName(), seen);
  for (const [method, bytes] of seen) expect(knownPart(method, bytes).equals(bytes), method).toBe(true);
  expect([...seen.keys()].toSorted()).toEqual([...readRecording(programName()).keys()]);
});
