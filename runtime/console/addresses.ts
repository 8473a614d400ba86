/** Addresses of things in the console by their ids, which may have any character, and back. */

const BASE = "/.gateway/console";
/** What stands in a path as it is; "." and ".." do not. */
const PLAIN = /^(?!\.{1,2}(?:\/|$))[A-Za-z0-9_@.:+-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9_@.:+-]+)*$/;
/** Begins what stands for an id in another form; no plain one begins so. */
const CODED = "~";

/** @param screen its path, and what stands between that and the id: "clients/client" */
export function addressOfId(screen: string, id: string, query: Readonly<Record<string, string>> = {}): string {
  const path = PLAIN.test(id) ? id : CODED + Buffer.from(id).toString("base64url");
  return `${BASE}/${screen}/${path}${queryText(query)}`;
}

/** @param path of the visit, from the id on @returns undefined when there is none */
export function idOfPath(path: readonly string[]): string | undefined {
  const [first] = path;
  if (first === undefined) return undefined;
  if (!first.startsWith(CODED)) return path.join("/");
  const id = Buffer.from(first.slice(CODED.length), "base64url").toString();
  return path.length === 1 && id !== "" ? id : undefined;
}

/** Of a list, with what it is asked for; what is "" or undefined is left out. */
export function addressOfList(screen: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  return `${BASE}/${screen}${queryText(query)}`;
}

function queryText(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, value]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

/** What `after` of a page may be: a key of ours. Anything else of an address is no place in a list. */
export function placeIn(prefix: string, after: string | undefined): string | undefined {
  const isKey =
    after !== undefined &&
    after.startsWith(prefix) &&
    after.isWellFormed() &&
    !after.includes("\0") &&
    Buffer.byteLength(after) <= 1024;
  return isKey ? after : undefined;
}
