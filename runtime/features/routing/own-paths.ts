/** Addresses below which the gateway itself answers. */

/** Prefixes under which the gateway answers itself, D25. */
export const OWN_PREFIXES = [
  "/.gateway",
  "/.well-known/gateway",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
  "/.well-known/oauth-protected-resource",
];

/** Well-known names that are ours on every host (D25); each also with a path behind it. */
const OWN_WELL_KNOWN = [
  "gateway",
  "oauth-authorization-server",
  "openid-configuration",
  "oauth-protected-resource",
].map((name) => `/.well-known/${name}`);

/** True for paths that never reach an upstream, whether or not something stands there. */
export function isOwnPath(path: string): boolean {
  if (path.startsWith("/.gateway")) return path.length === 9 || path.charCodeAt(9) === 47;
  return OWN_WELL_KNOWN.some(
    (own) => path.startsWith(own) && (path.length === own.length || path.charCodeAt(own.length) === 47),
  );
}
