/** Publications by owner and generation, newest first. */
import type { ChangeRow } from "../../pages/console/policy/changes.ts";
import type { OwnerHistory, Publication, SliceVersion } from "../../bundle/publication.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { CONSOLE_PATH } from "../console-requests.ts";

export const CHANGES_PATH: string = `${CONSOLE_PATH}/changes`;
const PAGE = 50;

export interface ChangesAsked {
  /** "": all owners. */
  readonly owner: string;
  /** Only generations before this one. */
  readonly before?: number | undefined;
  readonly maySee: (owner: string) => boolean;
}

export interface ChangesPage {
  readonly rows: readonly ChangeRow[];
  /** `before` of the next page; absent at the end. */
  readonly next?: number;
}

export function listChanges({ owners }: Publication, { owner, before, maySee }: ChangesAsked): ChangesPage {
  const all = owners
    .filter((each) => maySee(each.owner) && (owner === "" || each.owner === owner))
    .flatMap((history) => history.versions.map((version) => ({ history, version })))
    .filter(({ version }) => before === undefined || version.generation < before)
    .toSorted((a, b) => b.version.generation - a.version.generation || (a.history.owner < b.history.owner ? -1 : 1));
  // A generation can have slices of several owners, which stay together.
  const last = all.at(PAGE - 1)?.version.generation ?? 0;
  const shown = all.filter(({ version }) => version.generation >= last);
  return {
    rows: shown.map(({ history, version }) => changeRow(history, version)),
    ...(shown.length < all.length && { next: last }),
  };
}

/** The owners of one generation. */
export function changesOf(
  { owners }: Publication,
  generation: number,
  maySee: (owner: string) => boolean,
): readonly { readonly history: OwnerHistory; readonly version: SliceVersion }[] {
  return owners.flatMap((history) => {
    const version = maySee(history.owner) ? history.versions.find((each) => each.generation === generation) : undefined;
    return version ? [{ history, version }] : [];
  });
}

export function changeRow({ owner, versions }: OwnerHistory, version: SliceVersion): ChangeRow {
  const { generation, at, digest, by, program, isRollback } = version;
  return {
    generation,
    href: `${CHANGES_PATH}/${generation}`,
    atMs: at * 1000,
    owner: showUntrusted(owner),
    what: isRollback === true ? "went back" : digest === null ? "removed" : "published",
    by: by === undefined ? "not known" : showUntrusted(by),
    program: program === undefined ? "not known" : showUntrusted(program),
    digest: digest?.slice(0, 12) ?? "",
    isInForce: versions.at(-1) === version && digest !== null,
  };
}
