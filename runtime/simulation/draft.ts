/**
 * A draft in the place of what it would replace.
 *
 * Untrusted input: the text, which anybody who may look at an owner's routes can write. Promises: pure; nothing is read
 * but the text, so that a draft names no file and no secret that would be looked at; what is another owner's stays as it is.
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
  /** Key of the route whose policy it is: "owner/name". */
  readonly route?: string;
  /** YAML or JSON. */
  readonly text: string;
}

/** Far above a slice that people write; a whole slice of a machine's is published, not pasted. */
export const MAX_DRAFT_BYTES: number = 512 * 1024;

/** Name of a draft in messages. */
export const DRAFT_FILE = "draft";

export type Placed =
  | {
      readonly ok: true;
      readonly sources: readonly SliceSource[];
      /** The source in which the draft stands now. */
      readonly file: string;
      /** The same text as in the draft, so that lines are its lines. */
      readonly hasLines: boolean;
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** @param sources all that is there now */
export function placeDraft(sources: readonly SliceSource[], draft: Draft): Placed {
  const { value, problems } = readSource(DRAFT_FILE, draft.text);
  if (problems.length > 0) return { ok: false, problems };
  return draft.kind === "policy" ? placePolicy(sources, draft, value) : placeSlice(sources, draft, value);
}

function placeSlice(sources: readonly SliceSource[], { owner, text }: Draft, value: unknown): Placed {
  if (!isRecord(value)) return refused("must be a slice: version, owner, settings, routes by name");
  const outline = readOutline(value, () => {});
  if (outline.owner !== owner)
    return refused(`names the owner ${JSON.stringify(outline.owner)}, and "${owner}" was chosen`);
  const own = sources.filter((source) => ownerOf(source) === owner);
  const [first, ...others] = own;
  if (first?.boot === true || (owner === HAND_WRITTEN_OWNER && others.length > 0))
    return placeRoutes(own, sources, value);
  const file = first?.file ?? publishedName(owner);
  const rest = sources.filter((source) => !own.includes(source));
  return { ok: true, sources: [...rest, { file, text, boot: false, isNew: true }], file, hasLines: true };
}

/** The operator's own file has settings beside its routes, which are no matter of a draft. */
function placeRoutes(own: readonly SliceSource[], sources: readonly SliceSource[], value: Members): Placed {
  const [first, ...others] = own;
  const { routes, ...rest } = value;
  if (first === undefined || others.length > 0)
    return refused(
      `is of an owner with several files (${own.map(({ file }) => file).join(", ")}); draft one route's policy`,
    );
  if (Object.keys(rest).length > 0 || !Array.isArray(routes))
    return refused(`stands for ${first.file}, of which only the list "routes" can be drafted, without settings`);
  return replaced(sources, first, ["routes"], routes);
}

function placePolicy(sources: readonly SliceSource[], { owner, route: key = "" }: Draft, value: unknown): Placed {
  // As a route has it, with its name, or without.
  const policy = isRecord(value) && Object.keys(value).join() === "policy" ? value["policy"] : value;
  for (const source of sources) {
    if (ownerOf(source) !== owner) continue;
    const slice = readSlice(source, []);
    const route = slice?.routes.find(({ name }) => `${owner}/${name}` === key);
    if (route) return replaced(sources, source, [...route.path, "policy"], policy);
  }
  return refused(`is the policy of "${key}", and there is no such route`);
}

function replaced(sources: readonly SliceSource[], source: SliceSource, path: ValuePath, part: unknown): Placed {
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

/** @returns undefined for a source of which nobody knows whose it is */
export function ownerOf({ file, text }: Pick<SliceSource, "file" | "text">): string | undefined {
  const { value } = readSource(file, text);
  return isRecord(value) ? readOutline(value, () => {}).owner : undefined;
}

function refused(message: string): Placed {
  return { ok: false, problems: [{ severity: "error", file: DRAFT_FILE, path: [], message }] };
}
