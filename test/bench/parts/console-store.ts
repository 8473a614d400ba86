/** A store in which much has happened: ten thousand people with sessions, three replicas that counted for two days. */
import { keepTraffic } from "../../../runtime/control/health/keep-traffic.ts";
import { createTraffic } from "../../../runtime/control/health/traffic.ts";
import { createRecords, identityTags, SESSIONS_TAG, userTag } from "../../../runtime/identity/identity-records.ts";
import { openRecords } from "../../../runtime/record-kinds.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import type { UserId } from "../../../runtime/shared/user-id.ts";
import type { Store } from "../../../runtime/store/store.ts";

const PEOPLE = 10_000;
const REPLICAS = 3;
const MINUTES = 49 * 60;
const ROUTES = 20;

/** @param url `storage_url` of a gateway that is not yet there */
export async function fillStore(url: string): Promise<void> {
  const log = silentLog();
  const now = Math.floor(Date.now() / 60_000) * 60_000;
  const store = await openRecords(url, { clock: { now: () => Date.now() }, log });
  try {
    await addPeople(store, Math.floor(now / 1000));
    await addTraffic(store, now);
  } finally {
    await store.close();
  }
}

async function addPeople(store: Store, now: number): Promise<void> {
  const { identities, sessions } = createRecords(store);
  const expiresAt = now + 12 * 3600;
  for (let index = 0; index < PEOPLE; index += 1) {
    const userId = `person-${index}` as UserId;
    const email = `${userId}@example.com`;
    const record = {
      userId,
      providerUrl: "https://id.example.com",
      providerClientId: "gateway",
      version: 1,
      email,
      name: `Person ${index}`,
      groups: ["engineering"],
      claims: {},
      confirmedAt: now,
      confirmations: 1,
      signIns: 1,
    };
    await identities.put(userId, record, { expiresAt, tags: identityTags(record) });
    const session = { userId, createdAt: now - index };
    await sessions.put(`session-${index}`, session, { expiresAt, tags: [SESSIONS_TAG, userTag(userId)] });
  }
}

/** Only the last step of each range may change; so each is written once, at the end of the run. */
async function addTraffic(store: Store, now: number): Promise<void> {
  const routes = Array.from({ length: ROUTES }, (_, index) => ({ key: `route-${index}`, owner: "" }));
  for (let replica = 0; replica < REPLICAS; replica += 1) {
    let time = now - MINUTES * 60_000;
    const rows = new Map<string, Parameters<Store["put"]>>();
    const gathers: Pick<Store, "put"> = {
      put(...of) {
        rows.set(of[0], of);
        return Promise.resolve({ ok: true, version: 1 });
      },
    };
    const traffic = createTraffic();
    const kept = keepTraffic({
      traffic,
      id: `replica-${replica}-1-abcd`,
      store: gathers,
      takeLoopMs: () => 2 + (time % 7),
      clock: { now: () => time },
      log: silentLog(),
    });
    for (let minute = 0; minute < MINUTES; minute += 1) {
      for (const [index, route] of routes.entries()) {
        for (let count = 0; count <= index; count += 1) {
          traffic.count(route, count % 9 === 8 ? "denied" : "allowed");
          traffic.answered(route, count % 11 === 10 ? 502 : 200, 3 + ((count * 7) % 90));
        }
      }
      time += 60_000;
      await kept.tick();
    }
    await kept.close();
    for (const [key, value, options] of rows.values()) {
      if ((options?.expiresAt ?? 0) > now / 1000) await store.put(key, value, options);
    }
  }
}
