/** Slices as published at an earlier generation, as far as history reaches. */
import { GatewayError } from "../shared/errors.ts";
import type { Store } from "../store/store.ts";
import type { Publication } from "./publication.ts";
import { sliceKey } from "./published.ts";
import type { PublishedSources } from "./validation/protocol.ts";
import { publishedSources } from "./validation/validate-candidates.ts";

/**
 * @param known texts already read, by `sliceKey` (owner and digest); newly read texts are added
 * @throws GatewayError `store.unavailable`
 */
export async function readPastSlices(
  store: Pick<Store, "get">,
  { owners }: Publication,
  generation: number,
  known: Map<string, string> = new Map(),
): Promise<PublishedSources> {
  const slices: { owner: string; digest: string; text: string }[] = [];
  for (const { owner, versions, trimmed } of owners) {
    // If older versions were deleted, the oldest remaining one is the closest.
    const oldest = trimmed ? versions[0] : undefined;
    const then = versions.findLast((version) => version.generation <= generation) ?? oldest;
    if (then === undefined || then.digest === null) continue;
    const key = sliceKey(owner, then.digest);
    const text = known.get(key) ?? (await store.get<string>(key))?.value;
    if (text === undefined) throw new GatewayError("store.unavailable", `Cannot read the slice of owner "${owner}"`);
    known.set(key, text);
    slices.push({ owner, digest: then.digest, text });
  }
  return publishedSources(slices);
}
