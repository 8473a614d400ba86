/**
 * ID-JAGs for signed-in users: their stored ID token, renewed if expired, is exchanged at their own provider.
 *
 * Promise: an ID token is sent only to the provider and client that it came from.
 */
import * as jose from "jose";

import type { Snapshots } from "../config/snapshot.ts";
import type { Clock } from "../shared/clock.ts";
import { epochSeconds } from "../shared/clock.ts";
import type { Keys } from "../shared/keys.ts";
import type { IdpSettings } from "../features/sign-in/compiled.ts";
import { createTokenSeal, issuerOf, providerOf } from "./claims-record.ts";
import type { SessionRecords } from "./identity-records.ts";
import type { Identities, IdJags } from "./interfaces.ts";
import type { Discover } from "./provider/idp-discovery.ts";
import { requestIdJag } from "./provider/id-jag-request.ts";
import { createIdentityProof, readProven } from "./users/identity-proof.ts";

export interface IdJagsDeps {
  readonly records: Pick<SessionRecords, "identities">;
  readonly identities: Pick<Identities, "refresh">;
  readonly snapshots: Snapshots;
  readonly discover: Discover;
  readonly keys: Keys;
  readonly clock: Clock;
}

/** With less time left, an ID token may expire before the provider reads it. */
const MIN_LEFT_SECONDS = 30;

export function createIdJags(deps: IdJagsDeps): IdJags {
  const { records, snapshots, clock } = deps;
  const tokenSeal = createTokenSeal(deps.keys);
  const proof = createIdentityProof(deps.keys);

  const read = async (userId: string): Promise<Subject | undefined> => {
    const record = (await readProven(records, proof, userId))?.value;
    if (!record || record.refusedAt !== undefined || record.issuer !== issuerOf(record.userId)) return undefined;
    const settings = providerOf(record, snapshots.current().settings);
    const idToken = tokenSeal.open(record.userId, "id", record.idToken);
    return settings && idToken !== undefined ? { settings, idToken, signIns: record.signIns } : undefined;
  };

  const lasts = ({ idToken }: Subject): boolean => endOf(idToken) - MIN_LEFT_SECONDS > epochSeconds(clock);

  return {
    async signIns(userId) {
      return (await read(userId))?.signIns ?? 0;
    },
    async request(userId, idJagRequest) {
      let subject = await read(userId);
      if (!subject) return { ok: false, reason: "sign-in", detail: "no ID token of the user is known" };
      if (!lasts(subject)) {
        const refreshed = await deps.identities.refresh(userId);
        if (!refreshed.ok && refreshed.reason === "unavailable")
          return { ok: false, reason: "unavailable", detail: "the user's ID token cannot be renewed now" };
        subject = await read(userId);
        if (!subject || !lasts(subject))
          return { ok: false, reason: "sign-in", detail: "the user's ID token expired, and was not renewed" };
      }
      return requestIdJag(deps, subject.settings, subject.idToken, idJagRequest);
    },
  };
}

interface Subject {
  readonly settings: IdpSettings;
  readonly idToken: string;
  readonly signIns: number;
}

/** Epoch seconds. The signature was verified on arrival. */
function endOf(idToken: string): number {
  try {
    return jose.decodeJwt(idToken).exp ?? 0;
  } catch {
    return 0;
  }
}
