/** That this program wrote a user's record: who writes the store must not give a user another address or other groups. */
import { createHmac } from "node:crypto";

import { canonicalJson } from "../../shared/canonical-json.ts";
import { type Keys, sameSecret } from "../../shared/keys.ts";
import type { PutResult, StoredRecord } from "../../store/store.ts";
import { identityTags, type IdentityRecord, type SessionRecords } from "../identity-records.ts";

export interface IdentityProof {
  /** The record with its proof, as it is stored. */
  add(record: IdentityRecord): IdentityRecord;
  /** Whether nothing of the record was changed since. @param userId whose record it was found as: another's holds for nobody */
  holds(userId: string, record: IdentityRecord): boolean;
  /**
   * "old": only an earlier shared secret says that nothing was changed, so the record must be stored again before that
   * secret is removed.
   */
  stateOf(userId: string, record: IdentityRecord): "changed" | "current" | "old";
}

/** Over the record as a whole. */
export function createIdentityProof(keys: Keys): IdentityProof {
  const secrets = keys.derive("identity-record");
  const proofs = (record: IdentityRecord): readonly Buffer[] => {
    const { proof: _, schema: _schema, ...content } = record as IdentityRecord & { readonly schema?: number };
    const text = canonicalJson(content);
    return secrets.map((secret) => createHmac("sha256", secret).update(text).digest());
  };
  const stateOf: IdentityProof["stateOf"] = (userId, record) => {
    if (record.userId !== userId) return "changed";
    const shown = Buffer.from(record.proof ?? "", "base64url");
    const place = proofs(record).findIndex((proof) => sameSecret(shown, proof));
    return place === -1 ? "changed" : place === 0 ? "current" : "old";
  };
  return {
    add: (record) => ({ ...record, proof: proofs(record)[0]?.toString("base64url") ?? "" }),
    holds: (userId, record) => stateOf(userId, record) !== "changed",
    stateOf,
  };
}

/** The user's record as it stands. @returns undefined when there is none, or it was changed by others */
export async function readProven(
  records: Pick<SessionRecords, "identities">,
  proof: IdentityProof,
  userId: string,
): Promise<StoredRecord<IdentityRecord> | undefined> {
  const stored = await records.identities.get(userId);
  const state = stored && proof.stateOf(userId, stored.value);
  if (!stored || state === "changed") return undefined;
  if (state === "current") return stored;
  const { value, version: ifVersion, tags, expiresAt } = stored;
  const options = { ifVersion, tags, ...(expiresAt === undefined ? {} : { expiresAt }) };
  const renewed = await records.identities.put(userId, proof.add(value), options);
  return renewed.ok ? { ...stored, version: renewed.version } : stored;
}

/** Stores it with its proof and its tags. */
export function putProven(
  { identities }: Pick<SessionRecords, "identities">,
  proof: IdentityProof,
  record: IdentityRecord,
  options: { readonly ifVersion: number; readonly expiresAt: number },
): Promise<PutResult> {
  return identities.put(record.userId, proof.add(record), { ...options, tags: identityTags(record) });
}
