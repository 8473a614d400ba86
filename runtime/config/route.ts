/** All settings of one route, from all features, in the order of the reference. */
import { accessShape, policyShape } from "../features/access/settings.ts";
import { balancingShape } from "../features/balancing/settings.ts";
import {
  idleTimeoutShape,
  limitsShape,
  protocolShape,
  timeoutShape,
  toShape,
  websocketShape,
} from "../features/connection/settings.ts";
import { aboutShape } from "../features/catalog/settings.ts";
import { headerShape, identityShape } from "../features/headers/settings.ts";
import { limitsShape as rateLimitsShape } from "../features/limits/settings.ts";
import { mcpShape } from "../features/mcp/settings.ts";
import { addressShape, pathShape, routingShape } from "../features/routing/settings.ts";
import { ROUTING, UPSTREAM } from "../settings/groups.ts";
import { type DocOf, fieldsOf, grouped } from "../settings/types/registry.ts";
import { document } from "../settings/types/block.ts";

export const routeShape = {
  ...addressShape,
  ...toShape,
  ...pathShape,
  ...grouped(ROUTING, aboutShape),
  ...grouped(ROUTING, routingShape),
  ...policyShape,
  ...accessShape,
  ...rateLimitsShape,
  ...mcpShape,
  ...headerShape,
  ...grouped(UPSTREAM, identityShape),
  ...websocketShape,
  ...grouped(UPSTREAM, protocolShape),
  ...timeoutShape,
  ...grouped(UPSTREAM, { ...idleTimeoutShape, ...balancingShape, ...limitsShape }),
};

export const routeSchema = document(routeShape);

/** The same grouped by subject, for the reference: title → names. */
export const routeParts: Readonly<Record<string, readonly string[]>> = {
  "Address and path": Object.keys({ ...addressShape, ...toShape, ...pathShape, ...routingShape }),
  "Description of a route": Object.keys(aboutShape),
  "Access to a route": Object.keys({ ...policyShape, ...accessShape, ...rateLimitsShape }),
  "MCP servers and clients": Object.keys(mcpShape),
  Headers: Object.keys({ ...headerShape, ...identityShape }),
  "Connections to upstreams": Object.keys({
    ...websocketShape,
    ...protocolShape,
    ...timeoutShape,
    ...idleTimeoutShape,
  }),
  "Several upstreams": Object.keys({ ...balancingShape, ...limitsShape }),
};

/** One route as written. */
export type RouteDoc = DocOf<typeof routeSchema>;

export const routeFields = fieldsOf(routeShape, "route");
