/** Characters that HTTP allows in a header's name and value. */

/** A field name. @see RFC 9110 §5.1 */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export function isHeaderName(name: string): boolean {
  return TOKEN.test(name);
}

/** Checks text for a header value: no control characters but tab, nothing outside latin1 (it could not be sent). */
export function headerValueProblem(value: string): string | undefined {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value))
    return "has a control character or line break, must be one line of text";
  // oxlint-disable-next-line no-control-regex
  if (/[^\u0000-\u00ff]/.test(value)) return "has a character outside latin1, which no header can carry";
  return undefined;
}
