/** Reports compilation failures of checked texts (a missing secret, an invalid key) to their source. */
import { type SettingsDoc, settingsFields } from "./settings.ts";
import { canonicalJson } from "../shared/canonical-json.ts";
import { below, errorAt } from "../settings/problem.ts";
import type { ReadSlice } from "./read-slice.ts";
import { secretUses } from "../settings/secret-forms.ts";

export interface Refusal {
  /** Key of the route or certificate; undefined: the merged settings. */
  readonly key: string | undefined;
  /** Canonical JSON of the text that failed; a refusal applies only to this text. */
  readonly text: string;
  readonly message: string;
}

/**
 * Reports refusals to the slices concerned. Those of the main configuration file are reported at compilation, because
 * it has no previous version.
 */
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
    // At this stage only secrets can be wrong in settings.
    for (const { path } of secretUses(settingsFields, slice.settings, slice.settingsPath)) {
      slice.report(errorAt(path, message));
    }
  }
}
