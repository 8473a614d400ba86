/**
 * The publication as one record: every owner's active slice and its previous versions.
 *
 * Texts of slices are separate records, named by their content. Replacing this record under its version is the one
 * moment at which a change happens. So two publishers cannot both win, and no reader sees a set of slices that were not
 * validated together. Pure.
 */
import { KUBERNETES_PROGRAM, TERRAFORM_PROGRAM } from "../shared/version.ts";

export interface SliceVersion {
  /**
   * Generation of the publication that added this version: one change is one generation, whichever owner it concerns.
   */
  readonly generation: number;
  /** Digest of the slice's canonical JSON; null: the owner's slice was removed. */
  readonly digest: string | null;
  /** Epoch seconds. */
  readonly at: number;
  /** Author of the change; absent in records of older versions. */
  readonly by?: string;
  /** Self-reported name of the publishing tool: "gateform-terraform". Absent: unknown. */
  readonly program?: string;
  /** The text was restored from an earlier version. */
  readonly isRollback?: true;
  /**
   * Self-reported resource instance that published this text; only it can remove the slice. Absent: any publisher can.
   */
  readonly claim?: string;
}

/** The publisher's expectation of the current slice. */
export type Expected =
  | { readonly kind: "digest"; readonly digest: string }
  /** Any slice of this owner. */
  | { readonly kind: "some" }
  | { readonly kind: "none" };

/** Requested state of one owner's slice. */
export interface SliceChange {
  readonly owner: string;
  /** Text, and digest of its canonical JSON; null removes the owner's slice. */
  readonly slice: { readonly text: string; readonly digest: string } | null;
  readonly expected: Expected;
}

/** Author and origin of a change. */
export interface Publishing {
  /** A user's ID, "root@host" for commands, or the token's name for the admin listener. */
  readonly by: string;
  /** Self-reported; undefined: unknown. */
  readonly program?: string | undefined;
  /** See `SliceVersion`; for a removal, the claim of the remover. */
  readonly claim?: string | undefined;
  /** Reason, for the audit record. */
  readonly reason?: string | undefined;
}

export interface OwnerHistory {
  readonly owner: string;
  /** Oldest first; the last one is active. */
  readonly versions: readonly SliceVersion[];
  /** Versions older than the first one were deleted. */
  readonly trimmed: boolean;
}

export interface Publication {
  /** Version of this record's format. */
  readonly schema: number;
  /** Random; distinguishes this store from others. */
  readonly id: string;
  /** Generation of the last change; 0 before the first. */
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

/** Versions stored for each owner's slice, including the active one. */
export const VERSIONS_KEPT = 10;

/** Owner → digest of the requested slice; null removes it. */
export type Changes = ReadonlyMap<string, string | null>;

export function currentSlices({ owners }: Publication): readonly CurrentSlice[] {
  return owners.flatMap(({ owner, versions }) => {
    const last = versions.at(-1);
    return last?.digest ? [{ owner, generation: last.generation, digest: last.digest, at: last.at }] : [];
  });
}

/** For publishers: an author may be a user. */
export function withoutAuthors({ owner, versions }: OwnerHistory): Pick<OwnerHistory, "owner" | "versions"> {
  return { owner, versions: versions.map(({ generation, digest, at }) => ({ generation, digest, at })) };
}

export function currentSlice(publication: Publication, owner: string): CurrentSlice | undefined {
  return currentSlices(publication).find((slice) => slice.owner === owner);
}

/** Whether the publisher's expectation is correct. */
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

/** Generation that added the requested slices, which every process must have reached. */
export function generationOf(publication: Publication, requested: Changes): number {
  const affected = publication.owners.filter(({ owner }) => requested.has(owner));
  return Math.max(0, ...affected.map(({ versions }) => versions.at(-1)?.generation ?? 0));
}

/** The claim on the owner's slice; undefined: unclaimed. */
export function claimOn({ owners }: Publication, owner: string): string | undefined {
  return owners.find((each) => each.owner === owner)?.versions.at(-1)?.claim;
}

/**
 * The same slices, with these owners' slices claimed by the publisher. @returns the same publication if nothing changes
 */
export function withClaims(publication: Publication, requested: Changes, claim: string): Publication {
  const isTaken = ({ owner, versions }: OwnerHistory): boolean =>
    typeof requested.get(owner) === "string" && versions.at(-1)?.claim !== claim;
  if (!publication.owners.some(isTaken)) return publication;
  const owners = publication.owners.map((history) => {
    const last = history.versions.at(-1);
    if (last === undefined || !isTaken(history)) return history;
    return { ...history, versions: [...history.versions.slice(0, -1), { ...last, claim }] };
  });
  return { ...publication, owners };
}

/** The publication one generation later. The caller omits changes without effect. */
export function withChanges(
  publication: Publication,
  changes: Changes,
  at: number,
  origin?: Publishing & { readonly isRollback: boolean },
): Publication {
  const generation = publication.generation + 1;
  const histories = new Map(publication.owners.map((history) => [history.owner, history]));
  for (const [owner, digest] of changes) {
    const { versions = [], trimmed = false } = histories.get(owner) ?? {};
    const next = [...versions, { generation, digest, at, ...(origin && authorOf(versions, origin)) }];
    const kept = next.slice(-VERSIONS_KEPT);
    histories.set(owner, { owner, versions: kept, trimmed: trimmed || kept.length < next.length });
  }
  const owners = [...histories.values()].sort((a, b) => (a.owner < b.owner ? -1 : 1));
  return { ...publication, generation, owners };
}

/** A rollback keeps the publishing tool and claim of the current version. */
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
 * The tool that publishes this slice, and would undo a change made here or show it as drift.
 *
 * @returns undefined if other tools published all stored versions. Unknown counts as Terraform.
 */
export function ownedBy({ versions }: Pick<OwnerHistory, "versions">): "terraform" | "kubernetes" | undefined {
  const programs = new Set(versions.map(({ program }) => program));
  if (programs.has(KUBERNETES_PROGRAM) && !programs.has(TERRAFORM_PROGRAM)) return "kubernetes";
  return programs.has(undefined) || programs.has(TERRAFORM_PROGRAM) ? "terraform" : undefined;
}

/** The changes that differ from the active slices. */
export function realChanges(publication: Publication, requested: Changes): Changes {
  return new Map(
    [...requested].filter(([owner, digest]) => (currentSlice(publication, owner)?.digest ?? null) !== digest),
  );
}

export type RollbackPlan =
  | { readonly ok: true; readonly changes: Changes; readonly to: number }
  | { readonly ok: false; readonly reason: string };

export interface RollbackRequest {
  /** One owner's slice; absent: all slices. */
  readonly owner?: string | undefined;
  /** Restores the state after this generation; absent: the state before the last change. */
  readonly to?: number | undefined;
  /** Newest generation of this owner that the caller has seen; any other is rejected as stale. */
  readonly from?: number | undefined;
}

/** The slices that must change to restore an earlier state. */
export function planRollback(publication: Publication, { owner, to }: RollbackRequest): RollbackPlan {
  const affected = owner === undefined ? publication.owners : publication.owners.filter((each) => each.owner === owner);
  if (affected.length === 0) {
    return refused(owner === undefined ? "nothing was ever published" : `owner "${owner}" never published a slice`);
  }
  const last = Math.max(...affected.map(({ versions }) => versions.at(-1)?.generation ?? 0));
  const target = to ?? last - 1;
  if (!Number.isSafeInteger(target) || target < 0) return refused(`generation ${target} is not valid`);
  if (target >= publication.generation) {
    return refused(`generation ${target} is not before the current one, which is ${publication.generation}`);
  }
  const changes = new Map<string, string | null>();
  for (const { owner: each, versions, trimmed } of affected) {
    const then = versions.findLast(({ generation }) => generation <= target);
    if (!then && trimmed) {
      const oldest = versions[0]?.generation ?? 0;
      return refused(`the slice of owner "${each}" is stored only from generation ${oldest} on`);
    }
    changes.set(each, then?.digest ?? null);
  }
  return { ok: true, changes: realChanges(publication, changes), to: target };
}

function refused(reason: string): RollbackPlan {
  return { ok: false, reason };
}
