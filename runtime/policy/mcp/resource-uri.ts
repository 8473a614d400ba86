/**
 * The one spelling of a resource's URI on which rules are decided.
 *
 * Untrusted input: the URI. What servers could read as another resource than the text says has no spelling, and rules about
 * it decide nothing: a path that goes up, an encoded separator, an empty segment, a user in the address.
 *
 * @see RFC 3986 §6.2.2
 */

/** @returns undefined for what is no URI, or could be read as another one */
export function normalResourceUri(text: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  if (/[\0-\x20\\\x7f-\x9f]/.test(text) || !text.isWellFormed()) return undefined;
  const parts = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s.exec(text);
  if (!parts) return undefined;
  const [, scheme = "", authority, path = "", rest = ""] = parts;
  if (authority?.includes("@") === true) return undefined;
  const spelled = spellPath(path);
  const host = authority === undefined ? "" : spellEscapes(authority);
  const tail = spellEscapes(rest);
  if (spelled === undefined || host === undefined || tail === undefined) return undefined;
  return `${scheme.toLowerCase()}:${authority === undefined ? "" : `//${host.toLowerCase()}`}${spelled}${tail}`;
}

function spellPath(path: string): string | undefined {
  const spelled = spellEscapes(path);
  // An encoded "/" or "\" is a separator for some, and text for others; NUL ends paths in C.
  if (spelled === undefined || /%(?:2F|5C|00)/.test(spelled)) return undefined;
  const segments = spelled.split("/");
  const isPlain = segments.every((segment, index) => {
    // Some servers cut parameters off before they go up.
    const name = segment.split(";", 1)[0] ?? "";
    if (name === "." || name === "..") return false;
    return segment !== "" || index === 0 || index === segments.length - 1;
  });
  return isPlain ? spelled : undefined;
}

/** Escapes of what needs none are written out, the others in upper case. @returns undefined for a "%" that begins none */
function spellEscapes(text: string): string | undefined {
  if (!text.includes("%")) return text;
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) return undefined;
  return text.replace(/%[0-9A-Fa-f]{2}/g, (escape) => {
    const char = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(char) ? char : escape.toUpperCase();
  });
}
