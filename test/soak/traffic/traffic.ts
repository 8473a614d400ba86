/** All traffic of a soak: few of each kind, each at its own pace. */
import type { Recorder } from "../history/history.ts";
import type { Traffic, World } from "../world/types.ts";
import { block, endAll } from "./administrators.ts";
import { approveCalls } from "./approvals.ts";
import { useConnection } from "./connectors.ts";
import { lookAtTheEnd } from "./final-looks.ts";
import { useGrants, type Grant } from "./grants.ts";
import { sign } from "./machines.ts";
import { publish, read, type Numbers } from "./publishers.ts";
import { useSdk } from "./sdk-clients.ts";
import { browse, type Session } from "./sessions.ts";
import { holdStreams } from "./streams.ts";
import type { Scene } from "./scene.ts";

export interface TrafficOptions {
  /** Multiplies all pauses. */
  readonly ease?: number;
}

const MOST_EASE_OF_SELDOM = 1.5;

export interface SoakTraffic extends Traffic {
  /** Looks at what is left, once traffic has ended and all faults are healed. */
  look(): Promise<void>;
}

export function startTraffic(world: World, history: Recorder, { ease = 1 }: TrafficOptions = {}): SoakTraffic {
  const scene: Scene = { world, history, ease };
  // What comes seldom anyway: a fault has passed when all kinds of operations have worked again.
  const brisk: Scene = { ...scene, ease: Math.min(ease, MOST_EASE_OF_SELDOM) };
  const sessions: Session[] = [];
  const grants: Grant[] = [];
  const connected: Grant[] = [];
  const user = (index: number): string => world.users[index]?.email ?? `user${index + 1}@example.com`;
  let last = 0;
  const numbers: Numbers = { next: () => (last += 1) };
  const [blocked, leaver] = [user(15), user(16)];

  const actors: readonly Promise<void>[] = [
    ...[0, 1].map((index) => browse(scene, `browser-${index}`, user(index), sessions)),
    ...[3, 4, 5].map((index) => useGrants(scene, `client-${index}`, user(index), grants)),
    // Who comes and goes: that signing in and consenting work again is seen soon.
    browse(brisk, "passer-by", user(2), sessions, 2),
    useGrants(brisk, "newcomer", user(6), grants, 2),
    useSdk(scene, "sdk-v1", user(7), "v1", grants),
    useSdk(scene, "sdk-v2", user(8), "v2", grants),
    holdStreams(brisk, "events", user(9), "sse", sessions),
    holdStreams(brisk, "websocket", user(10), "websocket", sessions),
    useConnection(scene, "connector", user(11), connected),
    approveCalls(scene, "careful", user(12), grants),
    sign(scene, "signer"),
    publish(brisk, "publisher", "versions", 4_000, numbers),
    publish(brisk, "rival-1", "rival", 5_000, numbers),
    publish(brisk, "rival-2", "rival", 5_000, numbers),
    read(scene, "reader", "versions"),
    read(scene, "rival-reader", "rival"),
    // Whose users are blocked, and whose all is ended.
    browse(scene, "blocked-browser", blocked, sessions),
    useGrants(scene, "blocked-client", blocked, grants),
    block(scene, "administrator", blocked),
    browse(scene, "leaver-browser", leaver, sessions),
    useGrants(scene, "leaver-client", leaver, grants),
    endAll(scene, "leaving", leaver),
  ];

  return {
    kinds: ["request", "sign-in", "consent", "redeem", "publish", "stream"],
    stop: async () => void (await Promise.allSettled(actors)),
    look: () => lookAtTheEnd(scene, { sessions, grants, connected, blocked: [blocked], owners: ["versions", "rival"] }),
  };
}
