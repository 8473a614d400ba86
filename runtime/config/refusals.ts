/** What only shows when a checked text is compiled (a secret that is missing, a key that is none), reported to its source. */
import { type SettingsDoc, settingsFields } from "./settings.ts";
import { canonicalJson } from "../shared/canonical-json.ts";
import { below, errorAt } from "../settings/problem.ts";
import type { ReadSlice } from "./read-slice.ts";
import { secretUses } from "../settings/secret-spellings.ts";

export interface Refusal {
  /** Of the route or certificate; undefined: the merged settings. */
  readonly key: string | undefined;
  /** Canonical JSON of what could not be compiled; anything else is not meant. */
  readonly text: string;
  readonly message: string;
}

/** Reports refusals to the slices that they mean. The boot file's are reported where it is compiled: it has no stand-in. */
export function refuse(slices: readonly ReadSlice[], settings: SettingsDoc, refusals: readonly Refusal[]): void {
  const published = slices.filter(({ source }) => !source.boot);
  const ofParts = new Map(refusals.map((refusal) => [`${refusal.key ?? ""} ${refusal.text}`, refusal.message]));
  const keys = new Set(refusals.map(({ key }) => key));
  for (const slice of published) {
    for (const { name, path, doc, canonical } of slice.routes) {
      const key = `${slice.owner}/${name}`;
      const message = doc && keys.has(key) ? ofParts.get(`${key} ${canonical(name).text}`) : undefined;
      if (message !== undefined) slice.report(below(path, errorAt([], message)));
    }
    for (const { host, path, doc } of slice.certificates) {
      const key = `${slice.owner}/${host}`;
      const message = keys.has(key) ? ofParts.get(`${key} ${canonicalJson(doc)}`) : undefined;
      if (message !== undefined) slice.report(errorAt(path, message));
    }
  }
  if (!keys.has(undefined)) return;
  const message = ofParts.get(` ${canonicalJson(settings)}`);
  if (message === undefined) return;
  for (const slice of published) {
    // Secrets are all that can be wrong with settings this late.
    for (const { path } of secretUses(settingsFields, slice.settings, slice.settingsPath)) {
      slice.report(errorAt(path, message));
    }
  }
}
