/** The guards in the sources, by a name that stays when lines move. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** `FILE:LINE:COLUMN` of the call that made a guard, with the file as a URL. */
export type Place = string;

/** Which guard is to throw when it runs next. */
export interface FaultQuestion {
  readonly arm?: Place;
}

/** Since the question before. */
export interface FaultAnswer {
  readonly reached: readonly Place[];
  readonly thrown: boolean;
}

export const THROWN = "thrown by the fault injection";
const root = new URL("../../", import.meta.url).pathname;

/** Programs of their own, which serve no request. */
export const APART = /^runtime\/(?:terraform|kubernetes|tools|package|bin|pages)\//;
const MADE = /(?<![\w.#])(?:guard|guardEach|guardSocket|task)\((?=\s*[^)\s])/g;
/** Labels before a guard that name it. */
const LABELS = [
  /(?:const|readonly)\s+(#?\w+)(?:: [^=]+)?\s*=\s*$/,
  /\.((?:on|once|prependListener)\(\s*(?:"\w+"|\w+)),\s*(?:\([^)]*\)\s*=>\s*)?$/,
  /\b(setTimeout|setInterval|setImmediate|queueMicrotask|nextTick|setTimeout\(\w+|onClose)\([^()]*(?:\(\))?[^()]*$/,
];

/** @returns sources of the program that serves, by path from the root */
export function servingSources(): ReadonlyMap<string, string> {
  return new Map(
    readdirSync(join(root, "runtime"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
      .filter((file) => !APART.test(file))
      .toSorted()
      .map((file) => [file, readFileSync(join(root, file), "utf8")]),
  );
}

/** @returns names by place: `upstreams/http2/session.ts once("close")` */
export function guardedPlaces(): ReadonlyMap<Place, string> {
  const places = new Map<Place, string>();
  const counts = new Map<string, number>();
  for (const [file, text] of servingSources()) {
    if (file.startsWith("runtime/shared/faults/")) continue;
    for (const { index } of text.matchAll(MADE)) {
      const before = text.slice(0, index);
      const lines = before.split("\n");
      const base = `${file.slice("runtime/".length)} ${labelOf(before, text.slice(index))}`;
      const count = (counts.get(base) ?? 0) + 1;
      counts.set(base, count);
      places.set(
        `${pathToFileURL(join(root, file)).href}:${lines.length}:${(lines.at(-1) ?? "").length + 1}`,
        count === 1 ? base : `${base} #${count}`,
      );
    }
  }
  return places;
}

function labelOf(before: string, call: string): string {
  const work = /^task\(\s*"([^"]+)"/.exec(call)?.[1];
  if (work !== undefined) return work;
  for (const label of LABELS) {
    const name = label.exec(before.slice(-200))?.[1];
    if (name !== undefined) return name.replace(/\(\s*/, " ").replaceAll('"', "");
  }
  return call.split("\n")[0]?.slice(0, 40) ?? "";
}
