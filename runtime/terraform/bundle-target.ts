/** Where a bundle's values say that it goes, and bringing it there. */
import { errorText } from "../errors.ts";
import { parseMode } from "./bundle-rules.ts";
import type { Diagnostic } from "./diagnostics.ts";
import { createFileTarget, type Target } from "./publish.ts";
import { isMap, type Value, type ValueMap } from "./value.ts";

/** Publishes and, after a change of target, takes the slice away from where it was. */
export async function publishBundle(prior: ValueMap | null, state: ValueMap): Promise<readonly Diagnostic[]> {
  const target = targetOf(state);
  const previous = prior ? targetOf(prior) : undefined;
  const seen = typeof prior?.["sha256"] === "string" ? prior["sha256"] : null;
  await target?.write(textOf(state["bundle_json"]), seen);
  if (!previous || target?.place === previous.place) return [];
  // Two names of one place (a link, a mount): removing "the old one" would remove what was just published.
  if (target && (await target.identity()) === (await previous.identity())) return [];
  try {
    await previous.remove();
    return [];
  } catch (error) {
    const detail = `The bundle is published, but its earlier place still holds it. ${errorText(error)}`;
    return [{ severity: "warning", summary: "Earlier slice not removed", detail }];
  }
}

/** Where a bundle is published; undefined when nowhere, or not known yet. */
export function targetOf(bundle: ValueMap): Target | undefined {
  const { owner, file } = bundle;
  if (!isMap(file) || typeof file["directory"] !== "string" || typeof owner !== "string") return undefined;
  const mode = typeof file["mode"] === "string" ? parseMode(file["mode"]) : undefined;
  return createFileTarget({ directory: file["directory"], owner, mode });
}

function textOf(value: Value | undefined): string {
  if (typeof value !== "string") throw new TypeError("Cannot publish the bundle: it has no text");
  return value;
}
