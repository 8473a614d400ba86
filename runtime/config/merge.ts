/**
 * Merges the settings of several slices: lists are joined, blocks and maps merged by member, all others must be equal.
 */
import { type BootDoc, type SettingsDoc } from "./settings.ts";
import { quote, type ValuePath } from "../settings/problem.ts";
import type { ReadSlice } from "./read-slice.ts";
import { settingsFields } from "./settings.ts";
import { isRecord } from "../shared/is-record.ts";
import { readSecretName } from "../settings/secret-forms.ts";

const SECRETS = settingsFields.filter((field) => field.kind === "secret").map((field) => field.name);

/** Reports each disagreement at the later slice. */
export function mergeSettings(slices: readonly ReadSlice[]): {
  readonly boot: BootDoc;
  readonly settings: SettingsDoc;
} {
  const boot: Record<string, unknown> = {};
  const settings: Record<string, unknown> = {};
  const writers = new Map<string, ReadSlice>();
  for (const slice of slices) {
    mergeInto(boot, slice.boot, [], slice, writers);
    mergeInto(settings, slice.settings, [], slice, writers);
  }
  return { boot, settings };
}

function mergeInto(
  target: Record<string, unknown>,
  added: Readonly<Record<string, unknown>>,
  path: ValuePath,
  slice: ReadSlice,
  writers: Map<string, ReadSlice>,
): void {
  for (const [name, value] of Object.entries(added)) {
    const here = [...path, name];
    const members = membersOf(target, path);
    const member = memberKey(name, path);
    const rival = members.get(member);
    if (rival === undefined) {
      members.set(member, name);
      // Copied, because the merge extends it and documents are immutable.
      target[name] = structuredClone(value);
      writers.set(writerKey(here), slice);
      continue;
    }
    const current = target[rival];
    if (rival === name && Array.isArray(current) && Array.isArray(value)) {
      const joined = new Set<unknown>(current);
      for (const item of value) joined.add(item);
      target[name] = [...joined];
    } else if (rival === name && isRecord(current) && isRecord(value)) {
      mergeInto(current, value, here, slice, writers);
    } else if (rival !== name || current !== value) {
      const writer = writers.get(writerKey([...path, rival])) ?? writers.get(writerKey(path.slice(0, 1)));
      // Already reported within one source, see secret-forms.ts and features/headers/rules.ts.
      if (writer === slice) continue;
      const file = writer?.source.file ?? "another slice";
      const isSecret = SECRETS.includes(readSecretName(name).name);
      const state = isSecret ? "differs" : `is ${quote(value)}, which differs`;
      slice.report({
        severity: "error",
        path: [...slice.settingsPath, ...here],
        message: `${state} from "${rival}" in ${file}, must be the same in all slices`,
        ...(writer && { rivals: [{ file: writer.source.file, path: [...writer.settingsPath, ...path, rival] }] }),
      });
    }
  }
}

/** Writers by member key: a block of one slice can have 100,000 members. */
const known = new WeakMap<object, Map<string, string>>();

function membersOf(target: Readonly<Record<string, unknown>>, path: ValuePath): Map<string, string> {
  let members = known.get(target);
  if (!members) {
    known.set(target, (members = new Map()));
    for (const name of Object.keys(target).reverse()) members.set(memberKey(name, path), name);
  }
  return members;
}

/** Equal for the same member: equal names, forms of one secret, or one header name in two cases. */
function memberKey(name: string, path: ValuePath): string {
  if (path.length === 0) return SECRETS.includes(readSecretName(name).name) ? readSecretName(name).name : name;
  const isHeader = path[0] === "set_response_headers" || path[0] === "jwt_claims_headers";
  return isHeader ? name.toLowerCase() : name;
}

function writerKey(path: ValuePath): string {
  return JSON.stringify(path);
}
