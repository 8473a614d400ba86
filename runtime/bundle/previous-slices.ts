/**
 * Each owner's last active slice, in the validation thread, as a fallback if the next one is invalid.
 *
 * Slices leave the thread sealed, because one may have a secret as plain text. A seal that does not open (another key,
 * another owner) is ignored.
 */
import { gunzipSync, gzipSync } from "node:zlib";

import type { PreviousSlice, OwnerStatus } from "../config/load-by-owner.ts";
import { createSealer } from "../shared/keys.ts";
import type { PreviousSliceChanges, SealedSlice } from "./validation/protocol.ts";

export interface PreviousSlices {
  readonly byOwner: ReadonlyMap<string, PreviousSlice>;
  /** Replaces all entries with those of the main thread. */
  open(sealed: readonly SealedSlice[]): void;
  /** Marks the slices that these owners are served from as active. @param at epoch milliseconds */
  keep(standings: readonly OwnerStatus[], at: number): PreviousSliceChanges;
}

/** Far above the size of one owner's files. */
const MAX_TEXT_BYTES = 256 * 1024 * 1024;

/** @param keys 32 bytes each, current first */
export function createPreviousSlices(keys: readonly Uint8Array[]): PreviousSlices {
  const sealer = createSealer(keys.map((key) => Buffer.from(key)));
  const byOwner = new Map<string, PreviousSlice>();
  /** Owner → the sources whose seal the main thread has. */
  const sealed = new Map<string, PreviousSlice["sources"]>();
  const aad = (owner: string): string => `kept:${owner}`;

  return {
    byOwner,
    open(slices) {
      byOwner.clear();
      sealed.clear();
      // A text sealed with a previous key is resealed, so that it outlives that key.
      const current = sealer.seal("", "").slice(0, KEY_ID_LENGTH);
      for (const { owner, since, sealed: text } of slices) {
        const sources = unpack(sealer.open(text, aad(owner)));
        if (!sources) continue;
        byOwner.set(owner, { owner, sources, ...(since !== null && { since }) });
        if (text.startsWith(current)) sealed.set(owner, sources);
      }
    },
    keep(standings, at) {
      const present = new Set(standings.flatMap(({ owner }) => owner ?? []));
      const removed = [...byOwner.keys()].filter((owner) => !present.has(owner));
      for (const owner of removed) {
        byOwner.delete(owner);
        sealed.delete(owner);
      }
      const changed = standings.flatMap((standing) => update(standing, at) ?? []);
      return { changed, removed };
    },
  };

  function update(
    { owner, standing, sources }: OwnerStatus,
    at: number,
  ): PreviousSliceChanges["changed"][number] | undefined {
    const before = owner === undefined ? undefined : byOwner.get(owner);
    if (owner === undefined || (standing === "absent" && !before)) return undefined;
    const isSame = before && (standing === "absent" || sameSources(before.sources, sources));
    const since = standing === "absent" ? undefined : ((isSame ? before.since : undefined) ?? at);
    const next = { owner, sources: isSame ? before.sources : sources, ...(since !== undefined && { since }) };
    byOwner.set(owner, next);
    const isSealed = sealed.get(owner) === next.sources;
    if (isSealed && before?.since === since) return undefined;
    sealed.set(owner, next.sources);
    const seal = isSealed ? {} : { sealed: sealer.seal(pack(next.sources), aad(owner)) };
    return { owner, since: since ?? null, ...seal };
  }
}

/** A seal starts with a key id of six bytes, see keys.ts. */
const KEY_ID_LENGTH = 8;

function pack(sources: PreviousSlice["sources"]): Buffer {
  return gzipSync(JSON.stringify(sources), { level: 1 });
}

function unpack(packed: Buffer | undefined): PreviousSlice["sources"] | undefined {
  if (!packed) return undefined;
  return JSON.parse(
    gunzipSync(packed, { maxOutputLength: MAX_TEXT_BYTES }).toString("utf8"),
  ) as PreviousSlice["sources"];
}

function sameSources(before: PreviousSlice["sources"], now: PreviousSlice["sources"]): boolean {
  return (
    before.length === now.length &&
    before.every(({ file, text }, index) => now[index]?.file === file && now[index].text === text)
  );
}
