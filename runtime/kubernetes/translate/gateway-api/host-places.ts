/** Addresses of a route: hosts of the listeners that took it, with scheme and port. */
import type { DraftContext } from "../draft.ts";
import type { RouteAttachment } from "./attach.ts";

/** A host and port with the Gateway that brought it first. */
export interface HostPlace {
  readonly host: string;
  readonly scheme: "http" | "https";
  /** Undefined: the default port of the scheme. */
  readonly port: number | undefined;
  readonly path: string;
  readonly gateway: string;
}

/** Ports that every gateway has for users, whatever the scheme of its listeners. */
const USUAL_PORTS = [80, 443];

/** The port of options wins over that of listeners. Routes by plain HTTP always name theirs (`http_redirect_address`). */
export function hostsOf(
  attachments: readonly RouteAttachment[],
  { port: ownPort, scheme: ownScheme, plainHttp }: Pick<DraftContext, "port" | "scheme" | "plainHttp">,
): readonly HostPlace[] {
  const found = new Map<string, HostPlace>();
  for (const { gateway, listeners } of attachments)
    for (const { hosts, state } of listeners) {
      const isPlain = plainHttp && state.listener.protocol === "HTTP";
      const listed = USUAL_PORTS.includes(state.listener.port) ? undefined : state.listener.port;
      const port = isPlain ? state.listener.port : (ownPort ?? listed);
      const scheme = isPlain ? "http" : ownScheme;
      for (const [host, path] of hosts) {
        const key = `${scheme} ${host} ${port}`;
        if (!found.has(key)) found.set(key, { host, scheme, port, path, gateway });
      }
    }
  return [...found.values()];
}

export const PRIVATE_PROBLEM =
  "is attached only to HTTP listeners, which serve public routes: attach it to an HTTPS listener, or set allow_public_unauthenticated_access";

/** Routes that are not public are served by HTTPS listeners only; the plain listener redirects their requests there. */
export function placesOf(
  doc: Readonly<Record<string, unknown>>,
  places: readonly HostPlace[],
  { plainHttp }: Pick<DraftContext, "plainHttp">,
): readonly HostPlace[] {
  const isPublic = doc["allow_public_unauthenticated_access"] === true && doc["mcp"] === undefined;
  return !plainHttp || isPublic ? places : places.filter(({ scheme }) => scheme === "https");
}
