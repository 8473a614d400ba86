/**
 * The published slices in the store: read together, so that the set was validated together, and followed.
 *
 * Trusted: the store. Its slices were validated before they were written (publisher.ts). Every process validates them
 * again with its own files before they take effect.
 */
import { GatewayError } from "../shared/errors.ts";
import { randomSecret } from "../shared/keys.ts";
import type { Store } from "../store/store.ts";
import { currentSlices, type CurrentSlice, type Publication } from "./publication.ts";

export interface PublishedSlice extends CurrentSlice {
  /** The text as published. */
  readonly text: string;
}

export interface PublishedState {
  /** Generation of the last change; 0 if nothing was ever published. */
  readonly generation: number;
  /** By owner. */
  readonly slices: readonly PublishedSlice[];
}

export interface PublishedSlices {
  /** @throws GatewayError `store.unavailable` */
  read(): Promise<PublishedState>;
  /** Called soon after a change, and sometimes without one. @returns unsubscribe */
  onChange(listener: () => void): () => void;
}

/** Key of the publication record, which names every slice. */
export const PUBLICATION_KEY = "slices";
/** Feed that wakes followers. */
export const PUBLICATION_FEED = "slices";

/** Key of a slice's text. Based on its content, so a repeated write is harmless. */
export function sliceKey(owner: string, digest: string): string {
  return `slice:${owner}:${digest}`;
}

const SCHEMA = 1;

/** Limit of retries while slices change during the read. */
const MAX_READS = 5;

export function createPublishedSlices({ store }: { readonly store: Store }): PublishedSlices {
  // Texts of the last read: most changes concern one owner.
  let texts: ReadonlyMap<string, string> = new Map();

  return {
    async read() {
      for (let reads = 1; ; reads++) {
        const { publication } = await readPublication(store);
        const found = await readTexts(currentSlices(publication));
        if (found) return { generation: publication.generation, slices: found };
        if (reads === MAX_READS) {
          throw new GatewayError("store.unavailable", "Cannot read the published slices: a text is missing");
        }
      }
    },
    onChange: (listener) => store.onAppend(PUBLICATION_FEED, listener),
  };

  /** @returns undefined if a text is gone, because a newer publication exists */
  async function readTexts(slices: readonly CurrentSlice[]): Promise<readonly PublishedSlice[] | undefined> {
    const next = new Map<string, string>();
    const found: PublishedSlice[] = [];
    for (const slice of slices) {
      const key = sliceKey(slice.owner, slice.digest);
      const text = texts.get(key) ?? (await store.get<string>(key))?.value;
      if (text === undefined) return undefined;
      next.set(key, text);
      found.push({ ...slice, text });
    }
    texts = next;
    return found;
  }
}

/** @param version for `ifVersion`: 0 if there is no record yet */
export async function readPublication(
  store: Store,
): Promise<{ readonly publication: Publication; readonly version: number }> {
  const record = await store.get<Publication>(PUBLICATION_KEY);
  if (!record) return { publication: { schema: SCHEMA, id: randomSecret(9), generation: 0, owners: [] }, version: 0 };
  if (record.value.schema !== SCHEMA) {
    // Written by a newer version of Gateform: never guess its meaning.
    throw new GatewayError("store.unavailable", `Cannot read the published slices: schema ${record.value.schema}`);
  }
  return { publication: record.value, version: record.version };
}
