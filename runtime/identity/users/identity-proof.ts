/** Proof that the gateway wrote a user's record: write access to the store must not change a user's email or groups. */
import { createHmac } from "node:crypto";

import { canonicalJson } from "../../shared/canonical-json.ts";
import { type Keys, sameSecret } from "../../shared/keys.ts";
import type { PutResult, StoredRecord } from "../../store/store.ts";
import { identityTags, type IdentityRecord, type SessionRecords } from "../identity-records.ts";

export interface IdentityProof {
  /** Returns the record with its proof, ready to store. */
  add(record: IdentityRecord): IdentityRecord;
  /** Returns true if the record is unchanged. @param userId key of the record: a copy under another user's key is rejected */
  holds(userId: string, record: IdentityRecord): boolean;
  /** "old": only an earlier shared secret verifies the proof. Store the record again before that secret is removed. */
  stateOf(userId: string, record: IdentityRecord): "changed" | "current" | "old";
}

/** The proof covers the whole record. */
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
    const index = proofs(record).findIndex((proof) => sameSecret(shown, proof));
    return index === -1 ? "changed" : index === 0 ? "current" : "old";
  };
  return {
    add: (record) => ({ ...record, proof: proofs(record)[0]?.toString("base64url") ?? "" }),
    holds: (userId, record) => stateOf(userId, record) !== "changed",
    stateOf,
  };
}

/** Returns the user's record. @returns undefined if there is none, or it was modified outside the gateway */
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

/** Stores the record with its proof and tags. */
export function putProven(
  { identities }: Pick<SessionRecords, "identities">,
  proof: IdentityProof,
  record: IdentityRecord,
  options: { readonly ifVersion: number; readonly expiresAt: number },
): Promise<PutResult> {
  return identities.put(record.userId, proof.add(record), { ...options, tags: identityTags(record) });
}
