/**
 * Icons of routes, for pages and clients. Everyone who knows an address gets the icon: clients send no credentials for images.
 *
 * Promise: a response is an image of a type without scripts, and never read as anything else.
 */
import type { CompiledRoute } from "../config/compiled.ts";
import { ICONS_PATH, type RouteIcon } from "../features/catalog/icon.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { respondBytes, respondError } from "../http/respond.ts";

export function iconEndpoint(): Endpoint {
  return {
    methods: ["GET"],
    path: `${ICONS_PATH}/*`,
    cors: true,
    handle(exchange, { routes }) {
      const icon = iconsOf(routes).get(exchange.path.slice(ICONS_PATH.length + 1));
      if (icon === undefined)
        return respondError(exchange, 404, {
          code: "endpoint.not-found",
          message: "There is nothing at this address",
        });
      const headers = [
        "content-type",
        icon.type,
        "content-length",
        String(icon.bytes.length),
        // The address has the digest of the content.
        "cache-control",
        "public, max-age=604800, immutable",
        "content-security-policy",
        "default-src 'none'; sandbox",
      ];
      respondBytes(exchange, 200, headers, icon.bytes);
    },
  };
}

const known = new WeakMap<readonly CompiledRoute[], ReadonlyMap<string, RouteIcon>>();

/** By digest. */
function iconsOf(routes: readonly CompiledRoute[]): ReadonlyMap<string, RouteIcon> {
  let icons = known.get(routes);
  if (!icons) {
    icons = new Map(
      routes.flatMap(({ about: { icon } }) => (icon === undefined ? [] : [[icon.digest, icon] as const])),
    );
    known.set(routes, icons);
  }
  return icons;
}
