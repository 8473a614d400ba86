/** Mcp-Name and its like: coded and decoded to the same text. */
import { decodeMirror, encodeMirror, isIdentityCoding, isJsonMediaType } from "../../../runtime/mcp/message-headers.ts";
import { must, mustEqual, utf8 } from "../oracle.ts";

export function fuzz(data: Uint8Array): void {
  const text = utf8(data);
  const coded = encodeMirror(text);
  must(/^[\x20-\x7e]*$/.test(coded), "what is coded is no header", coded);
  mustEqual(decodeMirror(coded) ?? null, text, "decoded to something else");
  const decoded = decodeMirror(text);
  must(decoded === undefined || /^[\x20-\x7e\t]*$/.test(text), "a value that is no header was read", text);
  if (isJsonMediaType(text))
    mustEqual(text.split(";")[0]?.trim().toLowerCase(), "application/json", "another media type");
  if (isIdentityCoding(text)) must(/^[ \t]*(?:identity)?[ \t]*$/i.test(text), "another coding", text);
}
