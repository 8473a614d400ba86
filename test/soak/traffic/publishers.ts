/** Programs that publish slices whose routes answer with the slice's number, and readers who see by which one they are answered. */
import type { Replica, SliceOwner } from "../world/types.ts";
import { act, createActor, visit, within, type Actor, type Scene } from "./scene.ts";

/** Numbers of all publishers of a soak: no two slices are equal. */
export interface Numbers {
  next(): number;
}

function sliceOf({ world }: Actor, owner: SliceOwner, number: number): string {
  return JSON.stringify({
    version: 1,
    owner,
    routes: {
      [owner]: {
        from: world.addresses.published[owner],
        to: world.upstreams.web.origin,
        allow_public_unauthenticated_access: true,
        set_response_headers: { "X-Bundle": String(number) },
      },
    },
  });
}

/** @param every milliseconds */
export function publish(scene: Scene, name: string, owner: SliceOwner, every: number, numbers: Numbers): Promise<void> {
  const actor = createActor(scene, name);
  const { world, history } = actor;
  return act(actor, async () => {
    const replica = actor.replica();
    const admin = world.admin(replica);
    // Whoever else publishes it meanwhile makes this one fail.
    const before = await within(admin.get(`/config/slices/${owner}`));
    const digest = /"([^"]+)"/.exec(String(before.headers["etag"] ?? ""))?.[1];
    if (before.status === 200 ? digest === undefined : before.status !== 404) return actor.pause(1_000);
    const number = numbers.next();
    const operation = history.begin("publish", { actor: name, replica: replica.name }, { owner, number });
    try {
      const answer = await within(admin.publish(owner, sliceOf(actor, owner, number), digest), 60_000);
      const { status, body } = answer;
      const generation = Number(body["generation"] ?? Number.NaN);
      const isDone = status === 200 || status === 201 || status === 202;
      operation.end(isDone ? "ok" : status < 500 ? "refused" : "unknown", {
        status,
        ...(Number.isNaN(generation) ? {} : { generation }),
      });
      // What is said to be live everywhere is asked for everywhere, at once.
      if (isDone) await Promise.all(world.replicas.map((each) => readAt(actor, owner, each)));
    } catch {
      operation.end("unknown");
    }
    return actor.pause(every);
  });
}

function readAt(actor: Actor, owner: SliceOwner, replica?: Replica) {
  return visit(actor, {
    route: owner,
    url: actor.world.addresses.published[owner],
    by: {},
    ...(replica && { replica }),
  });
}

export function read(scene: Scene, name: string, owner: SliceOwner): Promise<void> {
  const actor = createActor(scene, name);
  return act(actor, async () => {
    await readAt(actor, owner);
    await actor.pause(150);
  });
}
