/**
 * Publishes slices as files of a directory that gateways watch.
 *
 * Each file is replaced atomically, but several are not: intermediate states must not remove a route. So slices that gain a
 * host are written first, and removals come last. Meanwhile two slices may claim the same requests; gateways then keep their
 * active configuration. A gateway that starts at that moment waits for the end.
 */
import { readdir } from "node:fs/promises";

import { errorText, GatewayError } from "../../shared/errors.ts";
import { createFileTarget, type Published } from "../../terraform/publish/publish.ts";
import type { SlicePublisher, SliceText } from "./publisher.ts";
import { isMadeHere, namespaceIn } from "../translate/slices.ts";
import { isRecord } from "../../shared/is-record.ts";

/** @param owner of the controller */
export function createDirectoryPublisher(directory: string, owner: string): SlicePublisher {
  const targetOf = (sliceOwner: string) => createFileTarget({ directory, owner: sliceOwner, mode: undefined });

  return {
    place: directory,
    async publish(slices) {
      const found = await Promise.all(
        slices.map(async (slice) => ({ slice, before: await targetOf(slice.owner).read() })),
      );
      const changed = found.filter(({ slice, before }) => before.kind !== "slice" || before.digest !== slice.digest);
      const [gaining, others] = parted(changed, ({ slice, before }) => gainsHost(slice, before));
      const failures: unknown[] = [];
      for (const { slice, before } of [...gaining, ...others]) {
        // Repair a damaged file. The target rejects another owner's slice.
        const expected = before.kind === "slice" ? before.digest : before.kind === "absent" ? null : "";
        // A namespace's file that cannot be written must not delay the others.
        await targetOf(slice.owner)
          .write(slice.text, expected)
          .catch((error: unknown) => failures.push(error));
      }
      const current = new Set(slices.map((slice) => slice.owner));
      // The slice of all namespaces still serves those that could not be written.
      if (failures.length > 0) current.add(owner);
      for (const [sliceOwner, digest] of await ownSlices())
        if (!current.has(sliceOwner)) await targetOf(sliceOwner).remove(digest);
      if (failures.length > 0) throw failures[0];
      return { kind: "published" };
    },
    sealKey: async () => undefined,
  };

  /** Files of this controller, or of an earlier version of it: owner and digest. */
  async function ownSlices(): Promise<readonly (readonly [owner: string, digest: string])[]> {
    const owners = (await fileNames()).flatMap((name) => /^(.+)\.json$/.exec(name)?.[1] ?? []);
    const candidates = owners.filter((each) => each === owner || namespaceIn(owner, each) !== undefined);
    const removable = await Promise.all(
      candidates.map(async (each) => {
        const found = await targetOf(each).read();
        const isOwn = found.kind === "slice" && found.document["owner"] === each;
        return isOwn && isMadeHere(owner, each, found.document) ? ([[each, found.digest]] as const) : [];
      }),
    );
    return removable.flat();
  }

  async function fileNames(): Promise<readonly string[]> {
    try {
      return await readdir(directory);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw new GatewayError("publish.read", `Cannot read "${directory}": ${errorText(error)}`, { cause: error });
    }
  }
}

function gainsHost({ text }: SliceText, before: Published): boolean {
  if (before.kind !== "slice") return true;
  const had = new Set(addressesIn(before.document));
  return addressesIn(JSON.parse(text)).some((from) => !had.has(from));
}

function addressesIn(document: unknown): readonly unknown[] {
  const routes = isRecord(document) ? document["routes"] : undefined;
  if (!isRecord(routes)) return [];
  return Object.values(routes).map((route) => (isRecord(route) ? route["from"] : undefined));
}

function parted<T>(items: readonly T[], isFirst: (item: T) => boolean): readonly [readonly T[], readonly T[]] {
  const { first = [], second = [] } = Object.groupBy(items, (item) => (isFirst(item) ? "first" : "second"));
  return [first, second];
}
