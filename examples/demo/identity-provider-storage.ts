/** Where the development identity provider keeps its codes, tokens and sessions: in memory, per provider. */
import type { Adapter, AdapterPayload } from "oidc-provider";

export interface TokenStorage {
  readonly adapter: (model: string) => Adapter;
  removeRefreshTokens(accountId: string): void;
}

interface Stored {
  readonly model: string;
  readonly id: string;
  readonly payload: AdapterPayload;
  readonly endsAtMs: number;
}

export function createTokenStorage(): TokenStorage {
  const stored = new Map<string, Stored>();

  const removeWhere = (isMeant: (entry: Stored) => boolean): void => {
    for (const [key, entry] of stored) if (isMeant(entry)) stored.delete(key);
  };
  const live = (entry: Stored | undefined): AdapterPayload | undefined =>
    entry && entry.endsAtMs > Date.now() ? entry.payload : undefined;

  const adapter = (model: string): Adapter => ({
    upsert(id, payload, expiresIn) {
      const endsAtMs = expiresIn ? Date.now() + expiresIn * 1000 : Number.POSITIVE_INFINITY;
      stored.set(`${model} ${id}`, { model, id, payload, endsAtMs });
      return Promise.resolve();
    },
    find: (id) => Promise.resolve(live(stored.get(`${model} ${id}`))),
    findByUid: (uid) =>
      Promise.resolve(live([...stored.values()].find((entry) => entry.model === model && entry.payload.uid === uid))),
    findByUserCode: () => Promise.resolve(undefined),
    consume(id) {
      const entry = stored.get(`${model} ${id}`);
      if (entry) entry.payload["consumed"] = Math.floor(Date.now() / 1000);
      return Promise.resolve();
    },
    destroy(id) {
      stored.delete(`${model} ${id}`);
      return Promise.resolve();
    },
    revokeByGrantId(grantId) {
      removeWhere(({ payload }) => payload.grantId === grantId);
      return Promise.resolve();
    },
  });

  return {
    adapter,
    removeRefreshTokens: (accountId) =>
      removeWhere((entry) => entry.model === "RefreshToken" && entry.payload.accountId === accountId),
  };
}
