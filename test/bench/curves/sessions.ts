/** A gateway with so many sessions in its store: one of a real sign-in, the others written as copies of its records. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { createCookies } from "../../../runtime/identity/cookie.ts";
import {
  type IdentityRecord,
  identityTags,
  SESSIONS_TAG,
  userTag,
} from "../../../runtime/identity/identity-records.ts";
import { createIdentityProof } from "../../../runtime/identity/users/identity-proof.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { createKeys, type Keys, randomHandle } from "../../../runtime/shared/keys.ts";
import { readUserId } from "../../../runtime/shared/user-id.ts";
import { webRequest } from "../common/requests.ts";
import type { Stage } from "../common/stage.ts";
import { asking, ofGateway, startOne, type Subject } from "./start.ts";

const FEW_ACTIVE = 1000;
/** More than the process keeps, so that beyond it hardly any request finds its session in memory. */
const MANY_ACTIVE = 60_000;

export async function holdSessions(count: number, stage: Stage): Promise<Subject> {
  const file = join(stage.directory, `sessions-${count}.db`);
  const { child, cookie, secret } = await startOne(stage, `sessions-${count}`, "common/upstream.ts", () => ({
    storage: `sqlite:${file}`,
  }));
  const keys = createKeys([secret]);
  const ids = copySessions(file, keys, count);
  const cookies = cookiesOf(ids, keys, cookie);
  const requests = cookies.map((each) => webRequest(child.port, each));
  const inTurn = (some: readonly Buffer[]): (() => Buffer) => {
    let next = 0;
    return () => some[next++ % some.length] as Buffer;
  };
  const few = requests.slice(0, FEW_ACTIVE);
  return ofGateway(
    { child },
    { line: "GET, 1,000 active", run: asking(child.port, inTurn(few)) },
    { line: "GET, all active", run: asking(child.port, inTurn(requests)) },
  );
}

const PER_USER = 10;

interface Row {
  readonly value: string;
  readonly expires_at: number;
}

interface CopiedSession {
  readonly sessionId: string;
  readonly userId: string;
  readonly expiresAt: number;
}

/** Users with ten sessions each, with the tags that a sign-in gives them. @returns the sessions that can be active */
function copySessions(file: string, keys: Keys, count: number): readonly CopiedSession[] {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  const find = database.prepare("SELECT value, expires_at FROM gateway_records WHERE key GLOB ? LIMIT 1");
  const [session, identity] = ["session:*", "identity:*"].map((pattern) => find.get(pattern) as unknown as Row);
  if (!session || !identity) throw new Error(`Cannot find the session of the sign-in in ${file}`);
  const addRecord = database.prepare("INSERT INTO gateway_records VALUES (?, ?, 1, ?)");
  const addTag = database.prepare("INSERT INTO gateway_tags VALUES (?, ?)");
  const add = (key: string, value: object, expiresAt: number, tags: readonly string[]): void => {
    addRecord.run(key, JSON.stringify(value), expiresAt);
    for (const tag of tags) addTag.run(tag, key);
  };
  const proof = createIdentityProof(keys);
  const [ofSession, ofIdentity] = [JSON.parse(session.value) as object, JSON.parse(identity.value) as IdentityRecord];
  const active: CopiedSession[] = [];
  const every = Math.max(1, Math.floor(count / MANY_ACTIVE));
  // In the order of keys, and with room for all of them: otherwise a million take minutes.
  const named = (index: number): string => String(index).padStart(7, "0");
  database.exec("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -2000000; BEGIN IMMEDIATE");
  for (let index = 0; index < count; index += 1) {
    const userId = readUserId(`user-${named(Math.floor(index / PER_USER))}`);
    if (userId === undefined) throw new Error(`Cannot make a user of ${index}`);
    if (index % PER_USER === 0) {
      const user = { ...ofIdentity, userId, email: `${userId}@example.com` };
      add(`identity:${userId}`, proof.add(user), identity.expires_at, identityTags(user));
    }
    const sessionId = `copy-${named(index)}-${randomHandle(9)}`;
    const tags = [SESSIONS_TAG, userTag(userId)];
    add(`session:${sessionId}`, { ...ofSession, userId }, session.expires_at, tags);
    if (index % every === 0 && active.length < MANY_ACTIVE)
      active.push({ sessionId, userId, expiresAt: session.expires_at });
  }
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  return active;
}

/** Sealed as the gateway does. @param cookie of the sign-in, for its name */
function cookiesOf(sessions: readonly CopiedSession[], keys: Keys, cookie: string): readonly string[] {
  const cookies = createCookies({ keys, clock: systemClock });
  const [name = ""] = cookie.split("=");
  const site = {
    origin: "http://localhost",
    host: "localhost",
    hostname: "localhost",
    secure: false,
    authenticateOrigin: "http://localhost",
    authenticates: true,
  };
  const settings = { name, expirationSeconds: 86_400, sameSite: "lax" } as const;
  return sessions.map((session) => cookies.setSession(session, site, settings).split(";")[0] ?? "");
}
