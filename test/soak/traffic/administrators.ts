/** Administrators: block and unblock users, and end all that a user has, by commands. */
import { act, createActor, type Actor, type Scene } from "./scene.ts";

async function run(actor: Actor, args: readonly string[]): Promise<boolean> {
  return (await actor.world.command(actor.replica(), args)).code === 0;
}

/** One user: blocked for a while, then not. */
export function block(scene: Scene, name: string, user: string): Promise<void> {
  const actor = createActor(scene, name);
  const { history } = actor;
  return act(actor, async () => {
    await actor.pause(3_000);
    if (actor.hasEnded()) return;
    const begun = history.begin("block", { actor: name }, { user });
    begun.end((await run(actor, ["block", "user", user, "--reason", "soak"])) ? "ok" : "unknown");
    await actor.pause(8_000);
    // Some blocks are there at the end.
    if (actor.hasEnded()) return;
    const lifted = history.begin("unblock", { actor: name }, { user });
    lifted.end((await run(actor, ["unblock", "user", user])) ? "ok" : "unknown");
  });
}

/** One user, whose sessions and grants are all ended now and then. */
export function endAll(scene: Scene, name: string, user: string): Promise<void> {
  const actor = createActor(scene, name);
  return act(actor, async () => {
    await actor.pause(15_000);
    if (actor.hasEnded()) return;
    const operation = actor.history.begin("revoke", { actor: name }, { right: "user", target: user });
    const sessions = await run(actor, ["sessions", "revoke", "--user", user]);
    const grants = await run(actor, ["grants", "revoke", "--user", user]);
    operation.end(sessions && grants ? "ok" : "unknown");
  });
}
