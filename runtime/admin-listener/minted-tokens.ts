/**
 * Short-lived publish tokens: issued for one owner with a token of the main configuration file, renewed while the run
 * that requested it continues, and revoked by it.
 *
 * A record in the store, not a signed text: a signed token could not be revoked early, nor extended without becoming
 * another one. All replicas share the records. Promises: the store has only the SHA-256 of a token. One that ended, or
 * whose token in the main configuration file is gone, opens nothing.
 */
import { hashSecret, randomSecret } from "../shared/keys.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import { firstFormats } from "../store/formats.ts";
import { pageOf, type PageOf, type PageRequest } from "../store/page-of.ts";
import type { Store, StoredRecord } from "../store/store.ts";

interface MintedRow {
  readonly owner: string;
  /** SHA-256 (base64url) of the main configuration file's token that it was issued with. */
  readonly by: string;
  readonly lifetimeSeconds: number;
}

export interface MintedToken {
  /** For renewing and revoking; opens nothing. */
  readonly id: string;
  readonly owner: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** All methods: @throws GatewayError `store.unavailable` */
export interface MintedTokens {
  /** Undefined when too many active ones were issued with the same token. */
  mint(of: MintedRow): Promise<(MintedToken & { readonly token: string }) | undefined>;
  /** Undefined for a foreign or ended token. */
  find(token: string): Promise<Pick<MintedRow, "owner" | "by"> | undefined>;
  /** Renews an active token: valid for its lifetime from now on. */
  renew(id: string, isAllowed: (owner: string) => boolean): Promise<MintedToken | undefined>;
  /** Active tokens, in no particular order. */
  page(request: PageRequest): Promise<PageOf<MintedToken>>;
  get(id: string): Promise<MintedToken | undefined>;
  /** @returns whether it existed */
  end(id: string, isAllowed: (owner: string) => boolean): Promise<boolean>;
}

export const MINTED_FORMATS = firstFormats(["publish-token"]);

/**
 * Limit per token of the main configuration file, approximately, in all replicas: a run needs one, and all owners share
 * the store.
 */
export const MOST_MINTED = 250;

/** Recognizable without a query to the store, and by searches of logs for leaked secrets. */
const PREFIX = "gateway-publish-";

export function createMintedTokens({ store, clock }: { readonly store: Store; readonly clock: Clock }): MintedTokens {
  const keyOf = (id: string): string => `publish-token:${id}`;
  const tagOf = (by: string): string => `minted-with:${by}`;
  const findRow = async (
    id: string,
    isAllowed: (owner: string) => boolean,
  ): Promise<StoredRecord<MintedRow> | undefined> => {
    const record = /^[A-Za-z0-9_-]{43}$/.test(id) ? await store.get<MintedRow>(keyOf(id)) : undefined;
    return record && isAllowed(record.value.owner) ? record : undefined;
  };
  const toMinted = ({ key, value, expiresAt = 0 }: StoredRecord<MintedRow>): MintedToken => ({
    id: key.slice(keyOf("").length),
    owner: value.owner,
    expiresAt,
  });
  /** Number being issued, by the issuing token. */
  const underWay = new Map<string, number>();
  const hasRoom = async (by: string): Promise<boolean> =>
    (await store.list(tagOf(by))).length + (underWay.get(by) ?? 0) <= MOST_MINTED;
  return {
    async mint({ owner, by, lifetimeSeconds }) {
      underWay.set(by, (underWay.get(by) ?? 0) + 1);
      try {
        if (!(await hasRoom(by))) return undefined;
        const token = `${PREFIX}${randomSecret()}`;
        const id = hashSecret(token);
        const expiresAt = epochSeconds(clock) + lifetimeSeconds;
        await store.put(keyOf(id), { owner, by, lifetimeSeconds }, { expiresAt, tags: [tagOf(by)] });
        return { token, id, owner, expiresAt };
      } finally {
        const left = (underWay.get(by) ?? 0) - 1;
        if (left === 0) underWay.delete(by);
        else underWay.set(by, left);
      }
    },
    async find(token) {
      if (!token.startsWith(PREFIX)) return undefined;
      return (await store.get<MintedRow>(keyOf(hashSecret(token))))?.value;
    },
    async renew(id, isAllowed) {
      const record = await findRow(id, isAllowed);
      if (!record) return undefined;
      const { owner, lifetimeSeconds } = record.value;
      const expiresAt = epochSeconds(clock) + lifetimeSeconds;
      // Fails if it ended meanwhile.
      const { ok } = await store.put(record.key, record.value, {
        expiresAt,
        ifVersion: record.version,
        tags: record.tags,
      });
      return ok ? { id, owner, expiresAt } : undefined;
    },
    page: (request) => pageOf(store, { prefix: keyOf("") }, request, toMinted),
    async get(id) {
      const record = await findRow(id, () => true);
      return record && toMinted(record);
    },
    async end(id, isAllowed) {
      const record = await findRow(id, isAllowed);
      return record !== undefined && store.delete(record.key);
    },
  };
}
