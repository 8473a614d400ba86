import { expect, test } from "vitest";

import { Pieces } from "../../../../runtime/shared/http/pieces.ts";

test("Pieces of one byte become few, in their order, with large ones between them", () => {
  const pieces = new Pieces();
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 251));
  const large = Buffer.alloc(65_536, 1);
  for (let at = 0; at < bytes.length; at += 1) {
    if (at === 100_000) pieces.add(large);
    pieces.add(bytes.subarray(at, at + 1));
  }
  // Each has 150 bytes or more of its own.
  expect(pieces.count).toBeLessThan(2000);
  expect(pieces.whole().equals(Buffer.concat([bytes.subarray(0, 100_000), large, bytes.subarray(100_000)]))).toBe(true);
  expect(new Pieces().whole()).toHaveLength(0);
});
