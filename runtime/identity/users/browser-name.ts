/** Display name of a browser. */

const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];

const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bAndroid\b/, "Android"],
  [/\b(?:iPhone|iPad)\b/, "iOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b|\bMacintosh\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

const MAX_CHARACTERS = 1000;

/**
 * "Chrome on macOS", from a fixed list of words: nothing of the header itself is stored.
 *
 * @param userAgent self-reported, unverified
 * @returns "Browser" for an unknown one
 */
export function browserName(userAgent: string | undefined): string {
  const text = (userAgent ?? "").slice(0, MAX_CHARACTERS);
  const name = BROWSERS.find(([pattern]) => pattern.test(text))?.[1] ?? "Browser";
  const system = SYSTEMS.find(([pattern]) => pattern.test(text))?.[1];
  return system === undefined ? name : `${name} on ${system}`;
}
