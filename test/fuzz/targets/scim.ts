/** Filters, paths and PATCH of company directories: refused as SCIM refuses, or of one meaning. */
import {
  GROUP_SHAPE,
  USER_SCHEMA,
  USER_SHAPE,
  readResource,
  type AttributeObject,
} from "../../../runtime/directories/scim/attributes.ts";
import { readListQuery } from "../../../runtime/directories/scim/list-query.ts";
import { changesOf, patchResource, readOperations } from "../../../runtime/directories/scim/patch.ts";
import { matches, parseFilter, parsePath } from "../../../runtime/directories/scim/path.ts";
import { ScimRefusal } from "../../../runtime/directories/scim/refusal.ts";
import { jsonOf, must, mustEqual, orRefused, utf8 } from "../oracle.ts";

const isForeseen = (error: unknown): boolean =>
  error instanceof ScimRefusal && error.status >= 400 && error.status < 500;
const ALICE: AttributeObject = { userName: "alice@example.com", active: true };

export function fuzz(data: Uint8Array): void {
  const [kind, ...rest] = utf8(data).split("\0");
  const text = rest.join("\0");
  for (const shape of [USER_SHAPE, GROUP_SHAPE]) {
    if (kind === "filter") {
      const terms = orRefused(isForeseen, () => parseFilter(shape, text));
      if (!terms) continue;
      must(terms.length > 0, "a filter that asks for nothing", text);
      mustEqual(
        matches(ALICE, terms, shape),
        terms.every((term) => matches(ALICE, [term], shape)),
        "its terms are not joined",
      );
      orRefused(isForeseen, () => readListQuery(shape, new Map([["filter", text]])));
    } else if (kind === "path") {
      const path = orRefused(isForeseen, () => parsePath(shape, text));
      const spaced = orRefused(isForeseen, () => parsePath(shape, `${text} x`));
      must(!path || !spaced, "what follows a path is passed over", text);
    } else if (kind === "patch") {
      const patched = orRefused(isForeseen, () =>
        patchResource(shape, ALICE, changesOf(shape, readOperations(jsonOf(text)))),
      );
      if (shape === USER_SHAPE && patched) mustKeep(patched);
    } else {
      const resource = orRefused(isForeseen, () => readResource(shape, jsonOf(text)));
      if (shape === USER_SHAPE && resource) mustKeep(resource);
    }
  }
}

/** What is kept reads as itself, and its user has a name. */
function mustKeep(resource: AttributeObject): void {
  must(typeof resource["userName"] === "string" && resource["userName"] !== "", "a user without a name", resource);
  must(resource["active"] === undefined || typeof resource["active"] === "boolean", "active is no boolean", resource);
  const again = orRefused(isForeseen, () => readResource(USER_SHAPE, { schemas: [USER_SCHEMA], ...resource }));
  must(again !== undefined, "what is kept is refused", resource);
  const sorted = (value: AttributeObject): unknown =>
    Object.entries(value)
      .filter(([name]) => name !== "schemas")
      .toSorted(([one], [other]) => (one < other ? -1 : 1));
  mustEqual(sorted(again), sorted(resource), "what is kept reads as something else");
}
