/** The tree of prefixes against a search through a list of them. */
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { PathNode } from "../../../../runtime/features/routing/apply-path-tree.ts";

const path = fc.array(fc.constantFrom("a", "b", "aa"), { maxLength: 7 }).map((segments) => segments.join("/"));

/** As a host's routes are found: the longest prefix on the way. */
function find(root: PathNode<string, never>, wanted: string): string | undefined {
  let node = root;
  let { prefix } = node;
  for (let start = 0; !node.isLeaf && start <= wanted.length;) {
    const slash = wanted.indexOf("/", start);
    const end = slash === -1 ? wanted.length : slash;
    const child = node.find(wanted, start, end);
    const childEnd = child?.endIn(wanted, end) ?? -1;
    if (child === undefined || childEnd === -1) break;
    node = child;
    prefix = node.prefix ?? prefix;
    start = childEnd + 1;
  }
  return prefix;
}

test("finds the longest of the prefixes, whatever their order", () => {
  fc.assert(
    fc.property(fc.array(path, { maxLength: 12 }), fc.array(path, { minLength: 5, maxLength: 20 }), (prefixes, all) => {
      const root = new PathNode<string, never>();
      for (const each of prefixes) root.grow(each).prefix = each;
      for (const wanted of [...prefixes, ...all]) {
        const meant = prefixes.filter((each) => each === "" || `${wanted}/`.startsWith(`${each}/`));
        expect(find(root, wanted)).toBe(meant.toSorted((a, b) => b.length - a.length)[0]);
      }
    }),
    { numRuns: 500 },
  );
});

test("a node is created once, and stays valid when others are created above and below it", () => {
  const root = new PathNode<string, never>();
  root.grow("a/b/c/d").prefix = "d";
  root.grow("a/b").prefix = "b";
  root.grow("a/b/c/x").prefix = "x";
  root.grow("").prefix = "root";
  expect(["a/b/c/d", "a/b", "a/b/c/x", ""].map((each) => root.grow(each).prefix)).toEqual(["d", "b", "x", "root"]);
  expect(root.grow("a/b/c").prefix).toBeUndefined();
});
