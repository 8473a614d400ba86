/**
 * What is published, as one record: every owner's slice in force and the ones before it.
 *
 * The texts of slices are records of their own, named by their content. This record names them, and replacing it under
 * its version is the one moment at which a change happens: two publishers cannot both win, and nobody ever reads a set
 * of slices that were not validated together. Pure.
 */
import { KUBERNETES_PROGRAM, TERRAFORM_PROGRAM } from "../shared/version.ts";

export interface SliceVersion {
  /** Of the whole publication, when this version came: one change, one generation, whoever's slice it was. */
  readonly generation: number;
  /** Of the slice's canonical JSON; null says that the owner's slice was removed. */
  readonly digest: string | null;
  /** Epoch seconds. */
  readonly at: number;
  /** Who changed it; absent in records from before this was kept. */
  readonly by?: string;
  /** The program that published this text, by its own word: "gateform-terraform". Absent: unknown. */
  readonly program?: string;
  /** The text came back from an earlier version. */
  readonly isRollback?: true;
  /** Of the resource instance that published this text, by its own word: only that one removes the slice. Absent: anybody may. */
  readonly claim?: string;
}

/** What the publisher believes to find. */
export type Expected =
  | { readonly kind: "digest"; readonly digest: string }
  /** Any slice of this owner. */
  | { readonly kind: "some" }
  | { readonly kind: "none" };

/** One owner's slice as it shall be. */
export interface SliceChange {
  readonly owner: string;
  /** Its text, and the digest of its canonical JSON; null removes the owner's slice. */
  readonly slice: { readonly text: string; readonly digest: string } | null;
  readonly expected: Expected;
}

/** Who makes a change. */
export interface Publishing {
  /** A user's id, "root@host" for commands, which token for the admin listener. */
  readonly by: string;
  /** By its own word; undefined: unknown. */
  readonly program?: string | undefined;
  /** See `SliceVersion`; of a removal, the claim of whoever removes. */
  readonly claim?: string | undefined;
  /** Why, for the record. */
  readonly reason?: string | undefined;
}

export interface OwnerHistory {
  readonly owner: string;
  /** Oldest first; the last one is in force. */
  readonly versions: readonly SliceVersion[];
  /** Versions older than the first one were forgotten. */
  readonly trimmed: boolean;
}

export interface Publication {
  /** Of this record's form. */
  readonly schema: number;
  /** Random; tells this store from another one. */
  readonly id: string;
  /** Of the last change; 0 before the first. */
  readonly generation: number;
  /** By owner. */
  readonly owners: readonly OwnerHistory[];
}

export interface CurrentSlice {
  readonly owner: string;
  readonly generation: number;
  readonly digest: string;
  readonly at: number;
}

/** How many versions of each owner's slice are kept, the one in force included. */
export const VERSIONS_KEPT = 10;

/** Owner → digest of the slice that shall be in force; null removes it. */
export type Changes = ReadonlyMap<string, string | null>;

export function currentSlices({ owners }: Publication): readonly CurrentSlice[] {
  return owners.flatMap(({ owner, versions }) => {
    const last = versions.at(-1);
    return last?.digest ? [{ owner, generation: last.generation, digest: last.digest, at: last.at }] : [];
  });
}

/** For whoever publishes: an author may be a person. */
export function withoutAuthors({ owner, versions }: OwnerHistory): Pick<OwnerHistory, "owner" | "versions"> {
  return { owner, versions: versions.map(({ generation, digest, at }) => ({ generation, digest, at })) };
}

export function currentSlice(publication: Publication, owner: string): CurrentSlice | undefined {
  return currentSlices(publication).find((slice) => slice.owner === owner);
}

/** Whether the publisher believes what is so. */
export function asExpected(current: CurrentSlice | undefined, expected: Expected): boolean {
  switch (expected.kind) {
    case "digest":
      return current?.digest === expected.digest;
    case "some":
      return current !== undefined;
    case "none":
      return current === undefined;
    default:
      return expected satisfies never;
  }
}

/** When the wanted slices came: what everybody must have reached. */
export function generationOf(publication: Publication, wanted: Changes): number {
  const concerned = publication.owners.filter(({ owner }) => wanted.has(owner));
  return Math.max(0, ...concerned.map(({ versions }) => versions.at(-1)?.generation ?? 0));
}

/** The claim on the owner's slice; undefined: nobody's. */
export function claimOn({ owners }: Publication, owner: string): string | undefined {
  return owners.find((each) => each.owner === owner)?.versions.at(-1)?.claim;
}

/** The same slices, those of these owners claimed by whoever publishes them once more. @returns the same publication: nothing changes */
export function withClaims(publication: Publication, wanted: Changes, claim: string): Publication {
  const isTaken = ({ owner, versions }: OwnerHistory): boolean =>
    typeof wanted.get(owner) === "string" && versions.at(-1)?.claim !== claim;
  if (!publication.owners.some(isTaken)) return publication;
  const owners = publication.owners.map((history) => {
    const last = history.versions.at(-1);
    if (last === undefined || !isTaken(history)) return history;
    return { ...history, versions: [...history.versions.slice(0, -1), { ...last, claim }] };
  });
  return { ...publication, owners };
}

/** The publication one generation later. Changes that change nothing are left out by the caller. */
export function withChanges(
  publication: Publication,
  changes: Changes,
  at: number,
  said?: Publishing & { readonly isRollback: boolean },
): Publication {
  const generation = publication.generation + 1;
  const histories = new Map(publication.owners.map((history) => [history.owner, history]));
  for (const [owner, digest] of changes) {
    const { versions = [], trimmed = false } = histories.get(owner) ?? {};
    const next = [...versions, { generation, digest, at, ...(said && authorOf(versions, said)) }];
    const kept = next.slice(-VERSIONS_KEPT);
    histories.set(owner, { owner, versions: kept, trimmed: trimmed || kept.length < next.length });
  }
  const owners = [...histories.values()].sort((a, b) => (a.owner < b.owner ? -1 : 1));
  return { ...publication, generation, owners };
}

/** What a rollback brings back was published by whoever published the slice all the time. */
function authorOf(
  versions: readonly SliceVersion[],
  { by, program: own, claim: ownClaim, isRollback }: Publishing & { readonly isRollback: boolean },
): Pick<SliceVersion, "by" | "program" | "isRollback" | "claim"> {
  const { program, claim } = (isRollback ? versions.at(-1) : undefined) ?? { program: own, claim: ownClaim };
  return {
    by,
    ...(program !== undefined && { program }),
    ...(claim !== undefined && { claim }),
    ...(isRollback && { isRollback }),
  };
}

/**
 * The program that a slice comes from again and again, so that a change made here would not last, or would be drift there.
 *
 * @returns undefined where each version that is kept was published by something else. Unknown counts as Terraform.
 */
export function ownedBy({ versions }: Pick<OwnerHistory, "versions">): "terraform" | "kubernetes" | undefined {
  const programs = new Set(versions.map(({ program }) => program));
  if (programs.has(KUBERNETES_PROGRAM) && !programs.has(TERRAFORM_PROGRAM)) return "kubernetes";
  return programs.has(undefined) || programs.has(TERRAFORM_PROGRAM) ? "terraform" : undefined;
}

/** The changes that differ from what is in force. */
export function realChanges(publication: Publication, wanted: Changes): Changes {
  return new Map(
    [...wanted].filter(([owner, digest]) => (currentSlice(publication, owner)?.digest ?? null) !== digest),
  );
}

export type RollbackPlan =
  | { readonly ok: true; readonly changes: Changes; readonly to: number }
  | { readonly ok: false; readonly reason: string };

export interface RollbackRequest {
  /** One owner's slice; everybody's when absent. */
  readonly owner?: string | undefined;
  /** Back to how things were after this generation; before the last change when absent. */
  readonly to?: number | undefined;
  /** Newest generation of this owner that whoever asks has seen; another one is refused as stale. */
  readonly from?: number | undefined;
}

/** Which slices must change so that things are as they were. */
export function planRollback(publication: Publication, { owner, to }: RollbackRequest): RollbackPlan {
  const concerned =
    owner === undefined ? publication.owners : publication.owners.filter((each) => each.owner === owner);
  if (concerned.length === 0) {
    return refused(owner === undefined ? "nothing was ever published" : `owner "${owner}" never published a slice`);
  }
  const last = Math.max(...concerned.map(({ versions }) => versions.at(-1)?.generation ?? 0));
  const target = to ?? last - 1;
  if (!Number.isSafeInteger(target) || target < 0) return refused(`generation ${target} is no generation`);
  if (target >= publication.generation) {
    return refused(`generation ${target} is not before the current one, which is ${publication.generation}`);
  }
  const changes = new Map<string, string | null>();
  for (const { owner: each, versions, trimmed } of concerned) {
    const then = versions.findLast(({ generation }) => generation <= target);
    if (!then && trimmed) {
      const oldest = versions[0]?.generation ?? 0;
      return refused(`the slice of owner "${each}" is kept from generation ${oldest} on`);
    }
    changes.set(each, then?.digest ?? null);
  }
  return { ok: true, changes: realChanges(publication, changes), to: target };
}

function refused(reason: string): RollbackPlan {
  return { ok: false, reason };
}
