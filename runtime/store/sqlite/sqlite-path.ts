/** Path of the database of a `storage_url`, without opening it. */
import { resolve } from "node:path";

/** @returns the absolute path; undefined for another kind of store, and for an invalid path */
export function sqlitePath(url: string): string | undefined {
  if (!url.startsWith("sqlite:")) return undefined;
  const rest = url.slice("sqlite:".length);
  // Some tools would read "sqlite://host/path" as a path below a host; here it is invalid.
  const path = rest.startsWith("///") ? rest.slice(2) : rest;
  const isPath = path !== "" && !path.startsWith("//") && !path.startsWith(":") && !path.includes("\0");
  return isPath ? resolve(path) : undefined;
}
