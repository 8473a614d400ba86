/**
 * Drafts, stored for a day: visible to users who have the link and may see the owner.
 *
 * Drafts never take effect: only the console reads these records.
 */
import { type Clock, epochSeconds } from "../shared/clock.ts";
import { randomSecret } from "../shared/keys.ts";
import { firstFormats } from "../store/formats.ts";
import type { Store } from "../store/store.ts";
import type { Draft } from "./draft.ts";

export const DRAFT_FORMATS = firstFormats(["draft"]);

export interface StoredDraft extends Draft {
  readonly id: string;
  /** User ID. */
  readonly author: string;
  /** Epoch seconds. */
  readonly at: number;
  readonly expiresAt: number;
}

export interface DraftRecords {
  /** @throws GatewayError `store.unavailable` */
  put(author: string, draft: Draft): Promise<string>;
  get(id: string): Promise<StoredDraft | undefined>;
  /** Drafts of one user, newest first. */
  list(author: string): Promise<readonly StoredDraft[]>;
  /** @returns false if it belongs to another user or does not exist */
  remove(id: string, author: string): Promise<boolean>;
}

type Row = Omit<StoredDraft, "id" | "expiresAt">;

const LIFETIME_SECONDS = 24 * 3600;
/** Limit per user; the oldest draft is removed. */
const MAX_DRAFTS = 20;

export function createDraftRecords({ store, clock }: { readonly store: Store; readonly clock: Clock }): DraftRecords {
  const list = async (author: string): Promise<readonly StoredDraft[]> => {
    const rows = await store.list<Row>(draftsTag(author));
    return rows.map(({ key, value }) => storedDraft(key.slice("draft:".length), value)).toSorted((a, b) => b.at - a.at);
  };
  const get = async (id: string): Promise<StoredDraft | undefined> => {
    if (!ID.test(id)) return undefined;
    const row = await store.get<Row>(`draft:${id}`);
    return row && storedDraft(id, row.value);
  };
  return {
    async put(author, draft) {
      const [id, at] = [randomSecret(15), epochSeconds(clock)];
      for (const old of (await list(author)).slice(MAX_DRAFTS - 1)) await store.delete(`draft:${old.id}`);
      const row: Row = { ...draft, author, at };
      await store.put(`draft:${id}`, { ...row }, { tags: [draftsTag(author)], expiresAt: at + LIFETIME_SECONDS });
      return id;
    },
    get,
    list,
    async remove(id, author) {
      if ((await get(id))?.author !== author) return false;
      await store.delete(`draft:${id}`);
      return true;
    },
  };
}

const ID = /^[A-Za-z0-9_-]{20}$/;

/** Tag to list and remove the drafts of one user. */
export function draftsTag(author: string): string {
  return `drafts:${author}`;
}

function storedDraft(id: string, { author, at, kind, owner, route, text }: Row): StoredDraft {
  return { id, author, at, kind, owner, text, expiresAt: at + LIFETIME_SECONDS, ...(route !== undefined && { route }) };
}
