/** Forms and queries of the OAuth endpoints: one value for each name, the same that URLSearchParams reads. */
import { namesMessageAddress, parseQuery } from "../../../runtime/shared/http/query.ts";
import { must, mustEqual, utf8 } from "../oracle.ts";

export function fuzz(data: Uint8Array): void {
  const text = utf8(data);
  const read = parseQuery(text);
  const reference = [...new URLSearchParams(text)];
  const names = reference.map(([name]) => name);
  if (new Set(names).size < names.length) must(!read.ok, "a name stands twice", names);
  if (!read.ok) return;
  mustEqual(
    [...read.values],
    reference.map(([name, value]) => [name, value]),
    "URLSearchParams reads something else",
  );
  if (read.values.has("gateway_endpoint") && !text.includes("%") && text.startsWith("?"))
    must(namesMessageAddress(text), "our parameter is overlooked", text);
}
