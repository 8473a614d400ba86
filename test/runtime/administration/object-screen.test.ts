/** The screen of a kind of stored objects: who owns what a form names. */
import { expect, test } from "vitest";

import { BLOCK } from "../../../runtime/administration/kinds/block.ts";
import type { ShownKind } from "../../../runtime/administration/kind.ts";
import { objectScreen, type ObjectScreenDeps } from "../../../runtime/console/objects/object-screen.ts";
import type { ConsoleRequest } from "../../../runtime/console/screen.ts";

test("an operator of one owner can act on that owner's objects, also of a kind that forms name by ID", async () => {
  const { byForm: _none, ...block } = BLOCK;
  const kind = {
    ...block,
    find: (_: unknown, id: string) => Promise.resolve(id === "1" ? { name: "team-a/db" } : undefined),
    ownerOf: () => "team-a",
  } as unknown as Parameters<typeof objectScreen>[0] & ShownKind<object>;
  const { actions } = objectScreen(kind, {} as ObjectScreenDeps);
  const ownerOf = (of: string) => actions?.["unblock"]?.ownerOf?.({} as ConsoleRequest, new Map([["of", of]]));
  expect([await ownerOf("1"), await ownerOf("2")]).toEqual(["team-a", undefined]);
});
