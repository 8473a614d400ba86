/** Users of company directories, for administrators. */
import { expect, test } from "vitest";

import { objectScreens } from "../../../runtime/console/objects/object-screen.ts";
import { openAdminApi } from "../../support/admin-api.ts";
import { openConsoleWorld, rightsTo, shown, textOfMarkup, VIEWER, visitTo } from "../../support/console-world.ts";

const record = (userName: string, more = {}) => ({
  attributes: { userName, externalId: `ext-${userName}`, ...more },
  createdAt: 60_000,
  changedAt: 61_000,
});

test("are listed by directory, with state and time of the last change", async () => {
  const api = await openAdminApi();
  await api.store.put("directory-user:corp:1", record("alice"));
  await api.store.put("directory-user:corp:2", record("bob", { active: false }));
  await api.store.put("directory-user:other:3", record("carol"));
  const { items } = (await api.ask("/directory-users?directory=corp")).json() as { items: readonly object[] };
  const changed = "1970-01-01T00:01:01Z";
  expect(items).toEqual([
    { id: "corp:1", directory: "corp", name: "alice", external: "ext-alice", active: "yes", changed },
    { id: "corp:2", directory: "corp", name: "bob", external: "ext-bob", active: "no", changed },
  ]);
  expect((await api.ask("/directory-users/other:3")).json()).toMatchObject({ name: "carol" });
  await api.close();
});

test("are shown to roles that can see everything, and not to an owner's viewer", async () => {
  const world = await openConsoleWorld("routes: []");
  await world.store.put("directory-user:corp:1", record("<img src=x>alice"));
  const screen = objectScreens(world.people).find(({ path }) => path === "directory-users");
  if (!screen) throw new Error("Cannot find the screen of directory users");
  const owners = rightsTo([], { "team-a": ["viewer"] });
  expect([screen.isFor?.(VIEWER), screen.isFor?.(owners)]).toEqual([true, false]);
  const body = await shown(screen, visitTo(world, "?text=ALICE", VIEWER));
  expect(body).not.toContain("<img");
  expect(textOfMarkup(body)).toContain("alice corp ext-");
  expect(textOfMarkup(await shown(screen, visitTo(world, "", owners)))).toContain("No directory users");
  await world.close();
});
