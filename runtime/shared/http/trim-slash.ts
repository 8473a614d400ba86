/** A path or address without its final slash. */
export function trimSlash(text: string): string {
  return text.endsWith("/") ? text.slice(0, -1) : text;
}
