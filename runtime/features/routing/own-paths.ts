/** Paths that the gateway itself answers. */

/** Prefixes of paths that the gateway itself answers, D25. */
export const OWN_PREFIXES = [
  "/.gateway",
  "/.well-known/gateway",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
  "/.well-known/oauth-protected-resource",
];

/** Well-known names that the gateway answers on every host (D25); each also with a path after it. */
const OWN_WELL_KNOWN = [
  "gateway",
  "oauth-authorization-server",
  "openid-configuration",
  "oauth-protected-resource",
].map((name) => `/.well-known/${name}`);

/** Whether the path never reaches an upstream, even if the gateway has nothing there. */
export function isOwnPath(path: string): boolean {
  if (path.startsWith("/.gateway")) return path.length === 9 || path.charCodeAt(9) === 47;
  return OWN_WELL_KNOWN.some(
    (own) => path.startsWith(own) && (path.length === own.length || path.charCodeAt(own.length) === 47),
  );
}
