/**
 * Requests tokens that outlive the user's session at the provider, for MCP grants, where they need a separate
 * authorization (`asksOfflineApart`). It needs no user interaction. If the provider rejects it, only these tokens are
 * missing.
 */
import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import type { Snapshots } from "../../config/snapshot.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { Keys } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import { readUserId } from "../../shared/user-id.ts";
import type { Store, StoredRecord } from "../../store/store.ts";
import { createTokenSeal, identityEnd, providerOf } from "../claims-record.ts";
import { userTag, type IdentityRecord, type SessionRecords } from "../identity-records.ts";
import type { IdentityProvider, SignInChecks } from "../provider/idp.ts";
import { createIdentityProof, putProven, readProven } from "../users/identity-proof.ts";

export interface OfflineStep {
  /** Returns true if the user's tokens end with the provider's session, and longer-lived ones can be requested. */
  isMissing(userId: string): Promise<boolean>;
  /** Processes the provider's response. @throws GatewayError `store.unavailable` */
  take(idp: IdpSettings, query: string, checks: SignInChecks, userId: string): Promise<void>;
  /** Revokes the tokens once the user has no sessions, grants and runs. */
  release(userId: string): Promise<void>;
}

export interface OfflineDeps {
  readonly store: Pick<Store, "list">;
  readonly records: SessionRecords;
  readonly snapshots: Pick<Snapshots, "current">;
  readonly idp: Pick<IdentityProvider, "asksOfflineApart" | "exchangeCode" | "readUser" | "revoke">;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

const MAX_CONFLICTS = 4;

export function createOfflineStep(deps: OfflineDeps): OfflineStep {
  const { records, log } = deps;
  const tokenSeal = createTokenSeal(deps.keys);
  const proof = createIdentityProof(deps.keys);

  const change = async (
    userId: string,
    next: (earlier: IdentityRecord) => IdentityRecord | undefined,
  ): Promise<IdentityRecord | undefined> => {
    for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
      const stored: StoredRecord<IdentityRecord> | undefined = await readProven(records, proof, userId);
      const value = stored && stored.value.refusedAt === undefined ? next(stored.value) : undefined;
      if (!stored || !value) return undefined;
      const expiresAt = identityEnd(deps.snapshots.current().settings, epochSeconds(deps.clock));
      const { ok } = await putProven(records, proof, value, { ifVersion: stored.version, expiresAt });
      if (ok) return stored.value;
    }
    return undefined;
  };

  return {
    async isMissing(userId) {
      const record = (await readProven(records, proof, userId))?.value;
      if (record?.refreshToken === undefined || record.offline !== undefined) return false;
      const settings = providerOf(record, deps.snapshots.current().settings);
      return settings !== undefined && deps.idp.asksOfflineApart(settings).catch(() => false);
    },
    async take(idp, query, checks, expected) {
      const userId = readUserId(expected);
      if (userId === undefined) return;
      let refreshToken: string | undefined;
      try {
        const tokens = await deps.idp.exchangeCode(idp, query, checks);
        const { userId: found } = await deps.idp.readUser(idp, tokens, undefined);
        if (found !== userId) throw new GatewayError("idp.refused", "the provider answered for another user");
        ({ refreshToken } = tokens);
      } catch (error) {
        log.info(
          { user: userId, reason: errorText(error) },
          "no offline tokens from identity provider, grants end with its session",
        );
      }
      const sealed = refreshToken === undefined ? undefined : tokenSeal.seal(userId, "refresh", refreshToken);
      // Also after a rejection: it is requested again after the next sign-in.
      await change(userId, (earlier) =>
        sealed === undefined ? { ...earlier, offline: false } : { ...earlier, refreshToken: sealed, offline: true },
      );
    },
    async release(ended) {
      const userId = readUserId(ended);
      if (userId === undefined || (await readProven(records, proof, userId))?.value.offline !== true) return;
      const left = await deps.store.list(userTag(userId));
      if (left.some(({ key }) => /^(session|grant|run):/.test(key))) return;
      const before = await change(userId, (earlier) => {
        if (earlier.offline !== true) return undefined;
        const { refreshToken: _, refreshDueAt: __, offline: ___, ...rest } = earlier;
        return rest;
      });
      const settings = before && providerOf(before, deps.snapshots.current().settings);
      const token = before && tokenSeal.open(userId, "refresh", before.refreshToken);
      if (settings && token !== undefined) await deps.idp.revoke(settings, token);
    },
  };
}
