/** At the end, when all faults are healed: what is there, on every replica. */
import { setTimeout as delay } from "node:timers/promises";

import type { Answer } from "../../support/browser.ts";
import { createOAuthClient, createPkce, REDIRECT_URI } from "../../support/oauth-client.ts";
import { knownBy } from "../checks/evidence.ts";
import type { Kept } from "../history/operations.ts";
import type { Replica } from "../world/types.ts";
import { refresh, type Grant } from "./grants.ts";
import { ask, createActor, toolCall, type Actor, type Scene } from "./scene.ts";
import { trySignIn, type Session } from "./sessions.ts";

/** What actors left behind. */
export interface Left {
  readonly sessions: readonly Session[];
  readonly grants: readonly Grant[];
  /** Clients whose consent was given once. */
  readonly connected: readonly Grant[];
  readonly blocked: readonly string[];
  readonly owners: readonly ("versions" | "rival")[];
}

/** No more than these of each kind, the last ones. */
const LOOKED_AT = 40;
const TRIES = 10;
const CONVERGE_TRIES = 30;

interface Seen {
  readonly found: boolean;
  readonly bundle?: number;
}

export async function lookAtTheEnd(scene: Scene, left: Left): Promise<void> {
  // Traffic has ended; looking goes on.
  const world = { ...scene.world, ended: new AbortController().signal };
  const actor = createActor({ ...scene, world }, "looker");
  const { replicas, addresses } = world;
  // Whatever was acknowledged must be known everywhere then.
  const knownAt = knownBy(actor.history.faults, undefined, world.now());
  await delay(Math.max(0, knownAt - world.now()));

  /** @param asked undefined: no answer that says so, ask again */
  const look = async (
    what: Kept,
    id: string,
    replica: Replica,
    asked: () => Promise<Seen | undefined>,
  ): Promise<void> => {
    const operation = actor.history.begin("look", { actor: actor.name, replica: replica.name }, { what, id });
    let seen: Seen | undefined;
    for (let tries = 0; tries < TRIES && !seen; tries += 1) {
      seen = await asked().catch(() => undefined);
      if (!seen) await actor.pause(1_000);
    }
    operation.end(seen ? "ok" : "unknown", seen ?? {});
  };

  for (const { id, cookie } of left.sessions.slice(-LOOKED_AT)) {
    for (const replica of replicas) {
      await look("session", id, replica, async () =>
        letIn(await ask(world, replica, { method: "GET", url: addresses.web, headers: { cookie } })),
      );
    }
  }
  for (const grant of left.grants.slice(-LOOKED_AT)) {
    // Its newest tokens, once; then they are shown everywhere.
    const isAlive = await refresh(actor, grant, false);
    for (const replica of replicas) {
      await look("grant", grant.id, replica, async () =>
        isAlive ? letIn(await callAt(actor, replica, grant)) : { found: false },
      );
    }
  }
  const clients = new Map(left.grants.map((grant) => [grant.registration.client_id, grant]));
  for (const grant of [...clients.values()].slice(-LOOKED_AT)) {
    for (const replica of replicas.slice(0, 1)) {
      const id = `${grant.user} ${grant.registration.client_id}`;
      await look("consent", id, replica, () => asksForConsent(actor, grant));
    }
  }
  for (const grant of new Map(left.connected.map((each) => [each.user, each])).values()) {
    if (!(await refresh(actor, grant, false))) continue;
    for (const replica of replicas) {
      await look("connection", `${grant.user} connected`, replica, async () => {
        const answer = await callAt(actor, replica, grant);
        return answer && answer.status < 500 ? { found: answer.text.includes('"authorized":true') } : undefined;
      });
    }
  }
  for (const user of left.blocked) {
    for (const replica of replicas) {
      await look("block", user, replica, async () => {
        const fixed = createActor({ ...scene, world: { ...world, pick: () => replica } }, "looker");
        const session = await trySignIn(fixed, user);
        return session && { found: session === "refused" };
      });
    }
  }
  for (const owner of left.owners) {
    const bundleAt = async (replica: Replica): Promise<number | undefined> => {
      const answer = await ask(world, replica, { method: "GET", url: addresses.published[owner] });
      const bundle = answer?.headers["x-bundle"];
      return bundle === undefined ? undefined : Number(bundle);
    };
    // Of one that was answered 202 a replica may hear late.
    for (let tries = 0; tries < CONVERGE_TRIES; tries += 1) {
      if (new Set(await Promise.all(replicas.map(bundleAt))).size === 1) break;
      await actor.pause(1_000);
    }
    for (const replica of replicas) {
      await look("publish", owner, replica, async () => {
        const bundle = await bundleAt(replica);
        return bundle === undefined ? undefined : { found: true, bundle };
      });
    }
  }
}

/** Undefined where the answer says neither. */
function letIn(answer: Answer | undefined): Seen | undefined {
  if (!answer || answer.status >= 500) return undefined;
  return { found: answer.status === 200 };
}

function callAt({ world }: Actor, replica: Replica, { resource, access }: Grant): Promise<Answer | undefined> {
  return ask(world, replica, toolCall(resource, access, "echo", "end"));
}

async function asksForConsent(
  actor: Actor,
  { browser, registration, resource, user }: Grant,
): Promise<Seen | undefined> {
  const oauth = createOAuthClient({ resource, send: actor.send, browser });
  const outcome = await oauth.authorize({
    clientId: registration.client_id,
    redirectUri: REDIRECT_URI,
    challenge: createPkce().challenge,
    user,
    decision: "look",
  });
  if (outcome.at === "client") return outcome.parameters["code"] === undefined ? undefined : { found: true };
  const { text, status } = outcome.page;
  return text.includes("/.gateway/mcp/consent") || status === 403 ? { found: false } : undefined;
}
