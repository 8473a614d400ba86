/**
 * The published slices as the store has them: read together, so that the set was validated together, and followed.
 *
 * Trusted: the store. What is read here was validated before it was written (publisher.ts), and is validated again by every
 * process with its own files before it goes in force.
 */
import { GatewayError } from "../shared/errors.ts";
import { randomSecret } from "../shared/keys.ts";
import type { Store } from "../store/store.ts";
import { currentSlices, type CurrentSlice, type Publication } from "./publication.ts";

export interface PublishedSlice extends CurrentSlice {
  /** As it was published. */
  readonly text: string;
}

export interface PublishedState {
  /** Of the last change; 0 when nothing was ever published. */
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

/** Key of the record that names everything published. */
export const PUBLICATION_KEY = "slices";
/** Feed whose entries wake those who follow. */
export const PUBLICATION_FEED = "slices";

/** Key of a slice's text: by content, so that writing it twice is writing it once. */
export function sliceKey(owner: string, digest: string): string {
  return `slice:${owner}:${digest}`;
}

const SCHEMA = 1;

/** How often a reader starts over because the slices changed while it read them. */
const MAX_READS = 5;

export function createPublishedSlices({ store }: { readonly store: Store }): PublishedSlices {
  // Texts of the last read: most changes are one owner's.
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

  /** @returns undefined when a text is gone: then a newer publication is there */
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

/** @param version for `ifVersion`: 0 when there is no record yet */
export async function readPublication(
  store: Store,
): Promise<{ readonly publication: Publication; readonly version: number }> {
  const record = await store.get<Publication>(PUBLICATION_KEY);
  if (!record) return { publication: { schema: SCHEMA, id: randomSecret(9), generation: 0, owners: [] }, version: 0 };
  if (record.value.schema !== SCHEMA) {
    // Written by a newer program: what it means is not guessed at.
    throw new GatewayError("store.unavailable", `Cannot read the published slices: schema ${record.value.schema}`);
  }
  return { publication: record.value, version: record.version };
}
