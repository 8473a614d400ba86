/** Which resource template of several a URI belongs to. Pure. */

/** A template without this much text before its first expression claims nothing: it could produce any member's URI. */
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/**
 * Whether a URI can come from a template (RFC 6570): its literal parts occur in their order. Expressions produce any text, so
 * some URIs fit that no values give.
 *
 * @returns length of the text before the first expression, which tells the more specific of two; undefined: it cannot
 */
export function fitsTemplate(template: string, uri: string): number | undefined {
  const parts = template.split(/\{[^{}]*\}/);
  const first = parts[0] ?? "";
  if (!SCHEME.test(first) || !uri.startsWith(first)) return undefined;
  if (parts.length === 1) return uri === first ? first.length : undefined;
  const last = parts.at(-1) ?? "";
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = uri.indexOf(part, at);
    if (found === -1) return undefined;
    at = found + part.length;
  }
  return uri.length - last.length >= at && uri.endsWith(last) ? first.length : undefined;
}
