/** Users who connect an upstream with its own OAuth; the gateway keeps and refreshes their tokens. */
import { call, obtain, refresh, register, type Grant } from "./grants.ts";
import { act, createActor, press, type Actor, type Scene } from "./scene.ts";

const ROUTE = "connected";

/** By the authorization of a client, which leads to the upstream where there is no connection yet. */
async function connect(actor: Actor, user: string): Promise<Grant | undefined> {
  const operation = actor.history.begin("connect", { actor: actor.name }, { user, route: ROUTE });
  try {
    const holder = await register(actor, user, actor.world.addresses.connected, `Connector ${actor.next()}`);
    const grant = await obtain(actor, holder, false);
    const answer = grant && (await call(actor, grant, ROUTE));
    operation.end(answer && answer.status === 200 && answer.text.includes('"authorized":true') ? "ok" : "unknown");
    return grant;
  } catch (error) {
    operation.end("unknown");
    throw error;
  }
}

async function disconnect(actor: Actor, { browser, user }: Grant): Promise<void> {
  const page = await browser.open(`${actor.world.addresses.pages}/.gateway/`);
  if (!page.text.includes("Disconnect ")) return;
  const operation = actor.history.begin("disconnect", { actor: actor.name }, { user, route: ROUTE });
  try {
    const after = await press(browser, page, "Disconnect ");
    operation.end(after?.status === 200 && !after.text.includes("Disconnect ") ? "ok" : "unknown");
  } catch {
    operation.end("unknown");
  }
}

/** @param kept grants as they are left, for the end */
export function useConnection(scene: Scene, name: string, user: string, kept: Grant[]): Promise<void> {
  const actor = createActor(scene, name);
  return act(actor, async () => {
    const grant = await connect(actor, user);
    if (!grant) return actor.pause(1_000);
    kept.push(grant);
    for (let count = 40 + actor.random() * 60; count > 0 && !actor.hasEnded(); count -= 1) {
      if (actor.world.now() - grant.since > 20_000 && !(await refresh(actor, grant, false))) return undefined;
      await call(actor, grant, ROUTE);
      await actor.pause(500);
    }
    if (!actor.hasEnded() && actor.random() < 0.7) await disconnect(actor, grant);
    return undefined;
  });
}
