/** Which templates of resources a rule about their URIs leaves in a list. */
import { expect, test } from "vitest";

import { MAY_HOLD, MAY_MISS, POSSIBLY, possibleOnTemplate } from "../../../../runtime/policy/mcp/resource-template.ts";

test.each<[match: object, template: string, possible: number]>([
  [{ starts_with: "file:///docs/" }, "file:///docs/{name}", MAY_HOLD],
  [{ starts_with: "file:///docs/" }, "file:///docs/more/{name}", MAY_HOLD],
  [{ starts_with: "file:///docs/more/" }, "file:///docs/{name}", POSSIBLY],
  [{ starts_with: "file:///docs/" }, "file:///src/{name}", MAY_MISS],
  [{ starts_with: "file:///docs/", ends_with: ".md" }, "file:///docs/{name}", POSSIBLY],
  [{ is: "file:///docs/a" }, "file:///docs/{name}", POSSIBLY],
  [{ is: "file:///docs/a" }, "file:///src/{name}", MAY_MISS],
  [{ in: ["file:///src/a", "file:///docs/a"] }, "file:///src/{name}", POSSIBLY],
  [{ contains: "x" }, "file:///src/{name}", POSSIBLY],
  [{ starts_with: "file:///docs/" }, "{+anything}", POSSIBLY],
  [{ is: "file:///docs/ä" }, "file:///docs/%C3{rest}", POSSIBLY],
])("%j on %s: %i", (match, template, possible) => {
  expect(possibleOnTemplate(match, template)).toBe(possible);
});
