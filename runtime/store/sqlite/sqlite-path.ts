/** Where the database of a `storage_url` lies, for those who need to know without opening it. */
import { resolve } from "node:path";

/** @returns the absolute path; undefined for another kind of store, and for what is no path */
export function sqlitePath(url: string): string | undefined {
  if (!url.startsWith("sqlite:")) return undefined;
  const rest = url.slice("sqlite:".length);
  // "sqlite://host/path" would be taken for a path below a host by some and by us for nothing.
  const path = rest.startsWith("///") ? rest.slice(2) : rest;
  const isPath = path !== "" && !path.startsWith("//") && !path.startsWith(":") && !path.includes("\0");
  return isPath ? resolve(path) : undefined;
}
