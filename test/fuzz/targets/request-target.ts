/** Request target and Host: what is accepted has one meaning, here and to URL parsers. */
import { canonicalPath, canonicalTarget, otherReadings } from "../../../runtime/shared/http/target.ts";
import { must, mustEqual, partsOf } from "../oracle.ts";

export function fuzz(data: Uint8Array): void {
  const [target = "", host] = partsOf(data);
  const read = canonicalTarget(target, host, "443");
  if (!read.ok) return;
  const { path, query } = read;
  mustEqual(canonicalTarget(path + query, read.host, "443"), read, "its form is not its own form");
  const url = new URL(`https://app.example.com${path}${query}`);
  mustEqual(url.pathname, path, "another path to URL");
  mustEqual(escaped(url.search), query === "?" ? "" : escaped(query), "another query to URL");
  mustEqual([url.host, url.username, url.hash], ["app.example.com", "", ""], "URL sees more in it");
  if (URL.canParse(`https://${read.host}/`) && /^[a-z]/.test(read.host))
    mustEqual(new URL(`https://${read.host}/`).host, read.host, "another host to URL");
  must(!/\/\/|\\|%2f|%5c|%00|\/\.{1,2}(?:\/|$)/i.test(path), "a path of two readings", path);
  for (const other of otherReadings(path) ?? []) {
    must(!other.includes(";"), "a reading keeps parameters", other);
    must(canonicalPath(other).ok || other.includes("//"), "a reading is no path", other);
  }
}

/** Characters of a query that URL parsers escape: servers see them either way. */
const escaped = (text: string): string => text.replaceAll(/["'<>]/g, encodeURIComponent).replaceAll("'", "%27");
