/** All gateways of the comparison, in the order in which they take turns. */
import type { Contender } from "./contender.ts";
import { APACHE_ROW } from "./rows/apache.ts";
import { CONTEXTFORGE } from "./rows/contextforge.ts";
import { ENVOY_AUTHORIZER, ENVOY_JWT, ENVOY_JWT_CACHED } from "./rows/envoy.ts";
import { FASTIFY } from "./rows/fastify.ts";
import { FASTMCP } from "./rows/fastmcp.ts";
import { GATEFORM } from "./rows/gateform.ts";
import { HAPROXY_ROW } from "./rows/haproxy.ts";
import { NGINX_ROW } from "./rows/nginx.ts";
import { CADDY, NGINX_OAUTH2_PROXY, OAUTH2_PROXY, TRAEFIK } from "./rows/oauth2-proxy.ts";
import { UPSTREAM } from "./rows/upstream.ts";

export const ROWS: readonly Contender[] = [
  UPSTREAM,
  NGINX_ROW,
  HAPROXY_ROW,
  GATEFORM,
  ENVOY_JWT_CACHED,
  ENVOY_JWT,
  ENVOY_AUTHORIZER,
  APACHE_ROW,
  OAUTH2_PROXY,
  NGINX_OAUTH2_PROXY,
  TRAEFIK,
  CADDY,
  FASTIFY,
  FASTMCP,
  CONTEXTFORGE,
];
