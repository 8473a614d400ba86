/** Rules of routes whose `from` starts with http://. */
import { errorAt, type Report } from "../../settings/problem.ts";
import type { ReadRoute, ReadSlice } from "../read-slice.ts";
import type { BootDoc } from "../settings.ts";

const NO_PLAIN_LISTENER =
  'starts with http://, must start with https:// unless "http_redirect_address", "insecure_server" or "development" is set';

export interface PlainContext {
  readonly boot: BootDoc;
  /** As `httpsHosts()`. */
  readonly httpsHosts: ReadonlySet<string>;
  /** The public listener can have such routes. */
  readonly isAllowed: boolean;
}

/** Without a plain listener next to the TLS one, all routes are on the one listener. */
export function plainRules(
  { from, valid }: ReadRoute,
  { boot, httpsHosts: secure, isAllowed }: PlainContext,
  report: Report,
): void {
  if (!from) return;
  if (boot.http_redirect_address === undefined) {
    if (!isAllowed) report(errorAt(["from"], NO_PLAIN_LISTENER));
    else if (from.host.endsWith(":80"))
      report(errorAt(["from"], 'names port 80, which requires "http_redirect_address"; omit the port'));
    return;
  }
  const problem = (message: string): void => report(errorAt(["from"], `starts with http://, so it ${message}`));
  if (from.host === from.hostname) problem('must have its port, such as "http://app.example.com:80"');
  if (secure.has(from.host)) problem("must have a port that no route has with https://");
  // Credentials and sessions must not cross the network in plain text.
  if (valid.allow_public_unauthenticated_access !== true || valid.mcp)
    problem('requires "allow_public_unauthenticated_access": true, and no "mcp"');
}

/** Hosts of routes with https://; with port, unless it is 443. */
export function httpsHosts(slices: readonly ReadSlice[]): ReadonlySet<string> {
  const from = slices.flatMap(({ routes }) => routes.flatMap((route) => route.from ?? []));
  return new Set(from.flatMap(({ scheme, host }) => (scheme === "https" ? [host] : [])));
}
