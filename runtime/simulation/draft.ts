/**
 * Inserts a draft in place of its current version.
 *
 * Untrusted input: the text, which any user who can view an owner's routes can write. Promises: pure. Only the text is
 * read, so a draft cannot access files or secrets that it names. Other owners' parts stay unchanged.
 */
import { readOutline } from "../config/outline.ts";
import { readSlice, type SliceSource } from "../config/read-slice.ts";
import { HAND_WRITTEN_OWNER } from "../features/process/owners.ts";
import type { Problem, ValuePath } from "../settings/problem.ts";
import { readSource } from "../settings/source.ts";
import { isRecord, type Members } from "../shared/is-record.ts";
import { publishedName } from "../bundle/validation/protocol.ts";

export interface Draft {
  /** A whole slice, or the policy of one route. */
  readonly kind: "slice" | "policy";
  readonly owner: string;
  /** Key of the policy's route: "owner/name". */
  readonly route?: string;
  /** YAML or JSON. */
  readonly text: string;
}

/** Far above hand-written slices; generated slices are published, not pasted. */
export const MAX_DRAFT_BYTES: number = 512 * 1024;

/** Name of a draft in messages. */
export const DRAFT_FILE = "draft";

export type PlacedDraft =
  | {
      readonly ok: true;
      readonly sources: readonly SliceSource[];
      /** The source that contains the draft. */
      readonly file: string;
      /** The source equals the draft's text, so line numbers match. */
      readonly hasLines: boolean;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** @param sources all current sources */
export function insertDraft(sources: readonly SliceSource[], draft: Draft): PlacedDraft {
  const { value, problems } = readSource(DRAFT_FILE, draft.text);
  if (problems.length > 0) return { ok: false, problems };
  return draft.kind === "policy" ? insertPolicy(sources, draft, value) : insertSlice(sources, draft, value);
}

function insertSlice(sources: readonly SliceSource[], { owner, text }: Draft, value: unknown): PlacedDraft {
  if (!isRecord(value)) return refused("must be a slice: version, owner, settings, routes by name");
  const outline = readOutline(value, () => {});
  if (outline.owner !== owner)
    return refused(`names the owner ${JSON.stringify(outline.owner)}, and "${owner}" was chosen`);
  const own = sources.filter((source) => ownerOf(source) === owner);
  const [first, ...others] = own;
  if (first?.boot === true || (owner === HAND_WRITTEN_OWNER && others.length > 0))
    return insertRoutes(own, sources, value);
  const file = first?.file ?? publishedName(owner);
  const rest = sources.filter((source) => !own.includes(source));
  return { ok: true, sources: [...rest, { file, text, boot: false, isNew: true }], file, hasLines: true };
}

/** The operator's own file also has settings, which are not part of a draft. */
function insertRoutes(own: readonly SliceSource[], sources: readonly SliceSource[], value: Members): PlacedDraft {
  const [first, ...others] = own;
  const { routes, ...rest } = value;
  if (first === undefined || others.length > 0)
    return refused(
      `is of an owner with several files (${own.map(({ file }) => file).join(", ")}); draft one route's policy`,
    );
  if (Object.keys(rest).length > 0 || !Array.isArray(routes))
    return refused(`represents ${first.file}; only its list "routes" can be drafted, without settings`);
  return replaced(sources, first, ["routes"], routes);
}

function insertPolicy(sources: readonly SliceSource[], { owner, route: key = "" }: Draft, value: unknown): PlacedDraft {
  // As in a route, with its name, or only the value.
  const policy = isRecord(value) && Object.keys(value).join() === "policy" ? value["policy"] : value;
  for (const source of sources) {
    if (ownerOf(source) !== owner) continue;
    const slice = readSlice(source, []);
    const route = slice?.routes.find(({ name }) => `${owner}/${name}` === key);
    if (route) return replaced(sources, source, [...route.path, "policy"], policy);
  }
  return refused(`is the policy of "${key}", and there is no such route`);
}

function replaced(sources: readonly SliceSource[], source: SliceSource, path: ValuePath, part: unknown): PlacedDraft {
  const { value } = readSource(source.file, source.text);
  const text = JSON.stringify(withMember(value, path, part));
  const { file, boot } = source;
  const changed: SliceSource = { file, text, boot, ...(!boot && { isNew: true }) };
  return { ok: true, sources: sources.map((each) => (each === source ? changed : each)), file, hasLines: false };
}

/** A copy with another value at the path. */
function withMember(value: unknown, [step, ...rest]: ValuePath, part: unknown): unknown {
  if (step === undefined) return part;
  if (Array.isArray(value)) return value.map((each, index) => (index === step ? withMember(each, rest, part) : each));
  const members = isRecord(value) ? value : {};
  return { ...members, [step]: withMember(members[step], rest, part) };
}

/** @returns undefined for a source without a known owner */
export function ownerOf({ file, text }: Pick<SliceSource, "file" | "text">): string | undefined {
  const { value } = readSource(file, text);
  return isRecord(value) ? readOutline(value, () => {}).owner : undefined;
}

function refused(message: string): PlacedDraft {
  return { ok: false, problems: [{ severity: "error", file: DRAFT_FILE, path: [], message }] };
}
