/** Of a path or an address: without the slash at its end, if there is one. */
export function trimSlash(text: string): string {
  return text.endsWith("/") ? text.slice(0, -1) : text;
}
