/** How many connections one user may begin without coming back from them. */
import { expect, test } from "vitest";

import { createFlows } from "../../../../../runtime/oauth/client/connect/flow.ts";
import { createClientChooser } from "../../../../../runtime/oauth/client/connect/client-choice.ts";
import { flowKey } from "../../../../../runtime/oauth/client/connection-records.ts";
import { findTarget } from "../../../../../runtime/oauth/client/target.ts";
import { createKeys } from "../../../../../runtime/shared/keys.ts";
import { silentLog } from "../../../../../runtime/shared/log.ts";
import type { Principal } from "../../../../../runtime/identity/principal.ts";
import { createMemoryStore } from "../../../../../runtime/store/memory.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { routeNamed, snapshotFrom } from "../../../../support/config.ts";

const LIMIT = 40;

test("a user begins 40 connections and one more each ten seconds; other users are not held up, and coming back gives one back", async () => {
  const clock = createTestClock();
  const store = createMemoryStore({ clock });
  const keys = createKeys([Buffer.alloc(32, 5)]);
  const snapshot = snapshotFrom(`
runtime_flags: { mcp: true }
routes:
  - name: up
    from: https://app.example
    to: https://up.example
    allow_any_authenticated_user: true
    mcp: { server: { upstream_oauth2: { client_id: us, endpoint: { auth_url: "https://as.example/a", token_url: "https://as.example/t" } } } }
`);
  const issuers = { find: async () => undefined, bind: async () => undefined };
  const deps = { store, keys, clock, log: silentLog(), fetch: () => expect.unreachable(), development: false, issuers };
  const flows = createFlows({
    ...deps,
    clients: createClientChooser(deps),
    needs: undefined as never,
    tokenStore: { find: async () => undefined } as never,
    isBlocked: () => false,
  });
  const target = findTarget(routeNamed(snapshot, "up")) ?? expect.unreachable();
  const of = (id: string): Principal => ({ user: { id }, sid: `session-of-${id}` }) as Principal;
  const begin = (user: string) =>
    flows.begin(of(user), target, snapshot.settings, { returnTo: "https://app.example/", routes: [], back: "Back" });

  let last = "";
  for (let flow = 0; flow < LIMIT; flow += 1) {
    const begun = await begin("alice");
    if (!begun.ok) expect.unreachable(`flow ${flow}: ${begun.detail}`);
    else last = begun.url;
  }
  const kept = async (): Promise<number> => (await store.keys({ prefix: flowKey(""), limit: 1000 })).length;
  const before = await kept();
  const refused = { ok: false, failure: "unavailable", isOfUser: true };
  expect(await begin("alice")).toMatchObject(refused);
  expect(await kept()).toBe(before);
  expect(await begin("bob")).toMatchObject({ ok: true });

  clock.advance(10_000);
  expect(await begin("alice")).toMatchObject({ ok: true });
  expect(await begin("alice")).toMatchObject(refused);

  // Whatever came of it: the user is back.
  const parameters = new Map([
    ["state", new URL(last).searchParams.get("state") ?? ""],
    ["error", "access_denied"],
  ]);
  expect(await flows.complete(of("alice"), target.route.host, parameters, snapshot)).toMatchObject({ ok: false });
  expect(await begin("alice")).toMatchObject({ ok: true });
  expect(await begin("alice")).toMatchObject(refused);
});
