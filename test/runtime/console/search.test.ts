/** The search box also finds tools and clients that only decisions name. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { searchScreen } from "../../../runtime/console/search/search.ts";
import {
  type ConsoleWorld,
  openConsoleWorld,
  rightsTo,
  shown,
  textOfMarkup,
  visitTo,
  VIEWER,
} from "../../support/console-world.ts";
import { findLinks } from "../../support/html-forms.ts";
import { createMemoryReader, keptDecision } from "../../support/record-reader.ts";

let world: ConsoleWorld;
const records = createMemoryReader([
  keptDecision({ route: "default/tools", tool: "delete_repo", clientId: "nightly-report", outcome: "denied" }),
]);
beforeAll(async () => {
  world = await openConsoleWorld(`
runtime_flags: { mcp: true }
routes:
  - name: tools
    from: https://tools.example.com
    to: http://127.0.0.1:9
    mcp: { server: {} }
    policy: [{ allow: { and: [{ groups: { has: staff } }] } }]
`);
});
afterAll(() => world.close());

const find = async (asked: string, rights = VIEWER) =>
  (await shown(searchScreen({ store: world.store, records }), visitTo(world, `?q=${asked}`, rights))) ?? "";

test("a tool and a client of decisions lead to these decisions, a tool also to its access, for readers who may see them", async () => {
  const hrefs = async (asked: string) => findLinks(await find(asked)).map(({ href }) => href);
  expect(await hrefs("delete_repo")).toContain("/.gateway/console/decisions?tool=delete_repo");
  expect(await hrefs("delete_repo")).toContain("/.gateway/console/servers/default/tools?tool=delete_repo");
  expect(await hrefs("nightly-report")).toContain("/.gateway/console/decisions?client=nightly-report");
  expect(textOfMarkup(await find("delete_repo", rightsTo([], { "team-b": ["viewer"] })))).toContain("No matches for");
  expect(textOfMarkup(await find("nobody"))).toContain("Denials of the console itself have no decision");
});
