/** Calls that need an approval: asked for, approved by their user, and then made at two replicas at once. */
import { findForm } from "../../support/browser.ts";
import { obtain, refresh, register, type Grant } from "./grants.ts";
import { act, createActor, visit, type Actor, type Scene } from "./scene.ts";

const TOOL = "delete_item";

export function approveCalls(scene: Scene, name: string, user: string, kept: Grant[]): Promise<void> {
  const actor = createActor(scene, name);
  let grant: Grant | undefined;
  return act(actor, async () => {
    if (!grant) {
      grant = await obtain(actor, await register(actor, user, actor.world.addresses.tools, `Careful ${name}`), false);
      if (!grant) return actor.pause(1_000);
      kept.push(grant);
    }
    if (actor.world.now() - grant.since > 20_000 && !(await refresh(actor, grant, false)))
      return void (grant = undefined);
    await approveOne(actor, grant);
    return actor.pause(3_000);
  });
}

async function approveOne(actor: Actor, grant: Grant): Promise<void> {
  const { history, world } = actor;
  const key = actor.next();
  const make = () =>
    visit(actor, {
      route: "tools",
      url: grant.resource,
      by: { user: grant.user, grant: grant.id, client: grant.registration.client_id },
      // What was approved are these very arguments, so all of these have one tag.
      tag: key,
      call: { token: grant.access, tool: TOOL },
    });
  const page = /"approval_url":"([^"]+)"/.exec((await make())?.text ?? "")?.[1];
  if (page === undefined) return;
  const asked = await grant.browser.open(page);
  const form = findForm(asked, "/.gateway/approval");
  if (!form) return;
  const approval = history.begin("approve", { actor: actor.name }, { key, by: grant.user });
  try {
    const after = await grant.browser.submit(asked, form, { decision: "approve" });
    approval.end(after.status === 200 ? "ok" : after.status < 500 ? "refused" : "unknown");
  } catch {
    approval.end("unknown");
  }
  await Promise.all([make(), make()]);
  if (!world.ended.aborted) await make();
}
