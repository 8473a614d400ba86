/** The key of a route is "owner/name". An owner has no "/", a name may have one. @returns "" for an invalid key */
export function ownerOfRoute(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf("/")));
}
