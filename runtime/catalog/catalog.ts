/** Endpoints of the catalog. */
import type { Endpoint } from "../http/endpoint.ts";
import { cardEndpoints } from "./cards.ts";
import { iconEndpoint } from "./icons.ts";
import type { CatalogDeps } from "./reader.ts";
import { registryEndpoint } from "./registry.ts";

export function catalogEndpoints(deps: CatalogDeps): readonly Endpoint[] {
  return [iconEndpoint(), registryEndpoint(deps), ...cardEndpoints(deps)];
}
