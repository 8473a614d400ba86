import * as fc from "fast-check";
import { expect, test } from "vitest";

import { compileContains } from "../../../../runtime/shared/linear/contains.ts";

test("finds in long texts what the platform's search finds", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 9, maxLength: 40 });
  fc.assert(
    fc.property(letters, fc.array(letters, { maxLength: 8 }), fc.boolean(), (part, pieces, isThere) => {
      const text = `${"ab".repeat(1000)}${pieces.join("")}${isThere ? part : ""}${"a".repeat(20)}`;
      const long = part.repeat(1 + Math.ceil(16_384 / text.length / part.length));
      for (const each of [part, long]) expect(compileContains(each)(text)).toBe(text.includes(each));
    }),
  );
});
