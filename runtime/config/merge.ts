/** Settings of several slices → one: lists are joined, blocks and maps member by member, anything else must agree. */
import { type BootDoc, type SettingsDoc } from "./settings.ts";
import { quote, type ValuePath } from "../settings/problem.ts";
import type { ReadSlice } from "./read-slice.ts";
import { settingsFields } from "./settings.ts";
import { isRecord } from "../shared/is-record.ts";
import { readSecretName } from "../settings/secret-spellings.ts";

const SECRETS = settingsFields.filter((field) => field.kind === "secret").map((field) => field.name);

/** Reports every disagreement at the later slice. */
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
    const rival = Object.keys(target).find((other) => sameMember(other, name, path));
    if (rival === undefined) {
      // Copied, because the merge grows it and documents are never changed.
      target[name] = structuredClone(value);
      writers.set(writerKey(here), slice);
      continue;
    }
    const current = target[rival];
    if (rival === name && Array.isArray(current) && Array.isArray(value)) {
      target[name] = [...new Set<unknown>([...current, ...value])];
    } else if (rival === name && isRecord(current) && isRecord(value)) {
      mergeInto(current, value, here, slice, writers);
    } else if (rival !== name || current !== value) {
      const writer = writers.get(writerKey([...path, rival])) ?? writers.get(writerKey(path.slice(0, 1)));
      // Within one source it is reported already, see secret-spellings.ts and features/headers/rules.ts.
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

/** The same member: equal names, spellings of one secret, or one header name in two cases. */
function sameMember(one: string, other: string, path: ValuePath): boolean {
  if (one === other) return true;
  if (path.length === 0)
    return readSecretName(one).name === readSecretName(other).name && SECRETS.includes(readSecretName(one).name);
  return (
    (path[0] === "set_response_headers" || path[0] === "jwt_claims_headers") &&
    one.toLowerCase() === other.toLowerCase()
  );
}

function writerKey(path: ValuePath): string {
  return JSON.stringify(path);
}
