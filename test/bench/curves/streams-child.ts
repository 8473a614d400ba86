/**
 * The list of open streams that a gateway keeps, without their connections: `node streams-child.ts N` holds N, and tells when
 * it does. Told over IPC for how many milliseconds, it adds a further stream and removes it, again and again.
 */
import type { Snapshot } from "../../../runtime/config/snapshot.ts";
import type { Principal } from "../../../runtime/identity/principal.ts";
import { type OpenStream, Streams } from "../../../runtime/proxy/forwarding/streams.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { readUserId } from "../../../runtime/shared/user-id.ts";
import { snapshotFrom } from "../../support/config.ts";
import type { LoadResult } from "../common/load.ts";

const PER_USER = 10;
const AT_ONCE = 100;

const snapshot = snapshotFrom(
  'routes:\n  - { name: web, from: "http://localhost", to: "http://127.0.0.1:9", policy: [{ allow: { or: [{ accept: true }] } }] }\n',
);
const streams = new Streams({
  clock: systemClock,
  revocations: {
    epoch: 0,
    isRevoked: () => false,
    hasChanged: () => false,
    subscribe: () => () => {},
  } as unknown as ConstructorParameters<typeof Streams>[0]["revocations"],
});

const expiresAt = Math.floor(Date.now() / 1000) + 36_000;

function streamOf(index: number, at: Snapshot): OpenStream {
  const id = readUserId(`user-${Math.floor(index / PER_USER)}`);
  if (id === undefined) throw new Error(`Cannot make a user of ${index}`);
  const principal: Principal = {
    kind: "session",
    user: { id, email: `${id}@example.com`, name: "", groups: [], claims: {}, version: 1 },
    sid: `session-${index}`,
    // As sessions of many sign-ins end.
    expiresAt: expiresAt + (index % 3600),
    revocationKeys: [`session:session-${index}`, `user:${id}`],
  };
  return {
    routeKey: "web",
    snapshot: at,
    principal,
    facts: undefined,
    isEndless: true,
    endsWithCredential: true,
    listIndex: -1,
    end: () => {},
  };
}

function work(durationMs: number): LoadResult {
  const started = performance.now();
  let requests = 0;
  let errors = 0;
  while (performance.now() - started < durationMs)
    for (let each = 0; each < AT_ONCE; each += 1) {
      const stream = streamOf(requests % count, snapshot);
      if (streams.hasRoom(stream) && streams.add(stream)) streams.remove(stream);
      else errors += 1;
      requests += 1;
    }
  return { requests, errors, seconds: (performance.now() - started) / 1000, p50: 0, p99: 0 };
}

const count = Number(process.argv[2]);
for (let index = 0; index < count; index += 1) streams.add(streamOf(index, snapshot));
process.on("message", (durationMs: number) => void process.send?.(work(durationMs)));
process.send?.("ready");
