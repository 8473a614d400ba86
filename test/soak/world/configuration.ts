/** What the gateways of a soak are configured with. */
import { TEST_SHARED_SECRET } from "../../support/config.ts";
import type { PublicAddresses, World } from "./types.ts";

/** So short that tokens end and are refreshed within a soak. */
export const LIFETIMES: World["lifetimes"] = {
  accessTokenSeconds: 60,
  serviceTokenSeconds: 45,
  sessionSeconds: 3600,
};

export const SERVICE_CLIENT = { id: "soak-client", secret: "soak-client-secret" };

/** @param port where the public names are said to be; nothing listens there, as behind a load balancer */
export function publicAddresses(port: number): PublicAddresses {
  const origin = `http://localhost:${port}`;
  return {
    pages: `http://127.0.0.1:${port}`,
    origin,
    open: `${origin}/open`,
    web: `${origin}/web`,
    tools: `${origin}/tools`,
    connected: `${origin}/connected/mcp`,
    published: {
      versions: `http://versions.localhost:${port}`,
      rival: `http://rival.localhost:${port}`,
      spare: `http://spare.localhost:${port}`,
    },
  };
}

export interface Places {
  readonly addresses: PublicAddresses;
  readonly storageUrl: string;
  readonly provider: string;
  readonly web: string;
  readonly mcp: string;
  readonly service: string;
  readonly receiver: string;
}

/** Boot settings, live settings and routes, in one file. */
export function bootOf(places: Places): Readonly<Record<string, unknown>> {
  const { addresses, service } = places;
  const from = addresses.origin;
  const ofExample = [{ allow: { and: [{ domain: { is: "example.com" } }] } }];
  return {
    insecure_server: true,
    development: true,
    shared_secret: TEST_SHARED_SECRET,
    storage_url: places.storageUrl,
    audit: true,
    // The tags of requests stand in them.
    authorize_log_fields: ["request-id", "route", "path", "user", "mcp-method", "mcp-tool", "mcp-tool-parameters"],
    drain_timeout: "2s",
    record_sinks: { receiver: { kind: "http", url: `${places.receiver}/records` } },
    runtime_flags: { mcp: true },
    access_token_lifetime: `${LIFETIMES.accessTokenSeconds}s`,
    cookie_expiration: `${LIFETIMES.sessionSeconds}s`,
    mcp_allowed_as_metadata_domains: ["127.0.0.1"],
    authenticate_service_url: addresses.pages,
    idp_provider_url: places.provider,
    idp_client_id: "gateway",
    idp_client_secret: "secret",
    routes: [
      { name: "open", from, prefix: "/open", to: places.web, timeout: "5s", allow_public_unauthenticated_access: true },
      { name: "web", from, prefix: "/web", to: places.web, timeout: "5s", allow_websockets: true, policy: ofExample },
      {
        name: "tools",
        from,
        prefix: "/tools",
        to: places.mcp,
        timeout: "5s",
        mcp: { server: {} },
        policy: [...ofExample, { approve: { and: [{ mcp_tool: { starts_with: "delete_" } }] } }],
      },
      {
        name: "connected",
        from,
        prefix: "/connected",
        to: service,
        timeout: "5s",
        mcp: {
          server: {
            path: "/mcp",
            upstream_oauth2: {
              client_id: SERVICE_CLIENT.id,
              client_secret: SERVICE_CLIENT.secret,
              endpoint: { auth_url: `${service}/authorize`, token_url: `${service}/token` },
              scopes: ["read"],
            },
          },
        },
        policy: ofExample,
      },
    ],
  };
}
