/** Envoy: JWT, RBAC and its MCP filter; or an external authorizer over gRPC. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { freePort } from "../../../support/ports.ts";
import { bearerOf, type Contender, type Setup } from "../contender.ts";
import { AUDIENCE } from "../issuer.ts";
import { DENIED_PREFIX } from "../sizes.ts";

const ENVOY = "type.googleapis.com/envoy.";
const JWT_FILTER = "envoy.filters.http.jwt_authn";
const MCP_FILTER = "envoy.filters.http.mcp";
/** Of its guide for edge proxies. */
const BUFFER_BYTES = 32_768;
/** By default more than 1,024 get 503; more requests than connections to the upstream wait now. */
const MOST_REQUESTS = 100_000;
/** With its default of 1,024, a container with 128 MiB is short of memory in a burst and serves nothing. */
const MOST_CONNECTIONS = 256;

interface EnvoyOptions {
  readonly hasJwtCache: boolean;
  /** Port of the external authorizer; absent: RBAC decides. */
  readonly authorizer?: number;
}

export const ENVOY_JWT: Contender = envoyRow("envoy-jwt", "Envoy, JWT + RBAC", false);
export const ENVOY_JWT_CACHED: Contender = envoyRow("envoy-jwt-cached", "Envoy, JWT cache + RBAC", true);

export const ENVOY_AUTHORIZER: Contender = {
  ...ENVOY_JWT_CACHED,
  name: "envoy-authorizer",
  title: "Envoy + external authorizer",
  programs: ["envoy", "authorizer"],
  policy: "Go service over gRPC: email of the verified claims; tool's name of the body, which is sent along",
  record: "JSON access log, file, in batches; a JSON line of the authorizer, file, one write a line",
  notes:
    "The authorizer is the least that one can be (`test/bench/gateways/authorizer`); one that asks a policy engine costs more. Two records a request. It cannot filter lists.",
  async start(setup) {
    const authorizer = await freePort();
    await setup.start([await setup.program("authorizer"), `127.0.0.1:${authorizer}`, DENIED_PREFIX], {
      port: authorizer,
    });
    const { records, ...rest } = await startEnvoy(setup, { hasJwtCache: true, authorizer });
    return { records: [...records, join(setup.directory, "process-0.out")], ...rest };
  },
};

function envoyRow(name: string, title: string, hasJwtCache: boolean): Contender {
  return {
    name,
    title,
    programs: ["envoy"],
    identity: hasJwtCache
      ? "bearer JWT (RS256), verified once, then from the cache of `jwt_cache_config`"
      : "bearer JWT (RS256), verified each time, as is Envoy's default",
    policy: "RBAC on the email claim; MCP filter and RBAC on `params.name`",
    record: "JSON access log, file, in batches",
    notes:
      "No sign-in, no sessions. Its documentation calls the MCP filter actively under development; here it refuses what is not MCP (`REJECT_NO_MCP`, not its default). It cannot filter lists. `--concurrency 1`; buffers of 32 KiB, as its guide for edge proxies recommends, and no 503 above 1,024 requests at once, its default.",
    cannot: {},
    showsAllTools: true,
    start: (setup) => startEnvoy(setup, { hasJwtCache }),
  };
}

async function startEnvoy(setup: Setup, options: EnvoyOptions) {
  const { directory, port, upstream, hosts, memoryBytes, program, start } = setup;
  const { authorizer } = options;
  const records = join(directory, "access.log");
  const config = join(directory, "envoy.json");
  const toCluster = { cluster: "up", timeout: "0s" };
  const virtualHosts = [
    {
      name: "own",
      domains: ["*"],
      routes: [
        {
          match: { prefix: "/tool" },
          route: toCluster,
          typed_per_filter_config: toolFilters(authorizer !== undefined),
        },
        { match: { prefix: "/" }, route: toCluster },
      ],
    },
    ...hosts.map((host, index) => ({
      name: `other-${index}`,
      domains: [host, `${host}:*`],
      routes: [{ match: { prefix: "/" }, route: toCluster }],
    })),
  ];
  const manager = {
    "@type": `${ENVOY}extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: "in",
    codec_type: "AUTO",
    route_config: { name: "routes", virtual_hosts: virtualHosts },
    access_log: [accessLog(records)],
    http_filters: filtersOf(setup, options),
  };
  const document = {
    ...(memoryBytes !== undefined && { overload_manager: overloadManager(memoryBytes) }),
    static_resources: {
      listeners: [
        {
          name: "in",
          address: addressOf(port),
          per_connection_buffer_limit_bytes: BUFFER_BYTES,
          filter_chains: [
            {
              filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }],
              ...(setup.tls && { transport_socket: tlsSocket(setup.tls) }),
            },
          ],
        },
      ],
      clusters: [
        clusterOf("up", upstream),
        ...(authorizer === undefined ? [] : [{ ...clusterOf("authorizer", authorizer), ...HTTP2_PROTOCOL }]),
      ],
    },
  };
  await writeFile(config, JSON.stringify(document));
  // Records are written each second at the latest, not each ten: they are verified. Under load a full buffer is written anyway.
  const flush = ["--file-flush-interval-msec", "1000"];
  const quiet = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "error"];
  await start([await program("envoy"), "-c", config, ...flush, ...quiet]);
  return { records: [records], credentials: bearerOf(setup) };
}

/** As its guide for edge proxies has it; a heap of 80 % of the container's memory, as Envoy Gateway sets it. */
function overloadManager(memoryBytes: number): object {
  const monitor = "envoy.resource_monitors.fixed_heap";
  const above = (value: number): object => ({ triggers: [{ name: monitor, threshold: { value } }] });
  return {
    refresh_interval: "0.25s",
    resource_monitors: [
      {
        name: monitor,
        typed_config: {
          "@type": `${ENVOY}extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig`,
          max_heap_size_bytes: Math.floor(memoryBytes * 0.8),
        },
      },
    ],
    actions: [
      { name: "envoy.overload_actions.shrink_heap", ...above(0.95) },
      { name: "envoy.overload_actions.stop_accepting_requests", ...above(0.98) },
    ],
  };
}

/** On the path with a rule on tools: the MCP filter, which other paths do without, and the rule. */
function toolFilters(hasAuthorizer: boolean): object {
  if (hasAuthorizer)
    return {
      "envoy.filters.http.ext_authz": {
        "@type": `${ENVOY}extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute`,
        check_settings: { with_request_body: { max_request_bytes: 65_536 } },
      },
    };
  return {
    [MCP_FILTER]: { "@type": `${ENVOY}config.route.v3.FilterConfig`, config: {} },
    "envoy.filters.http.rbac": {
      "@type": `${ENVOY}extensions.filters.http.rbac.v3.RBACPerRoute`,
      rbac: { rules: rbacRules(true) },
    },
  };
}

function rbacRules(hasToolRule: boolean): object {
  const denied = {
    sourced_metadata: {
      metadata_matcher: {
        filter: MCP_FILTER,
        path: [{ key: "params" }, { key: "name" }],
        value: { string_match: { prefix: DENIED_PREFIX } },
      },
    },
  };
  const alice = {
    sourced_metadata: {
      metadata_matcher: {
        filter: JWT_FILTER,
        path: [{ key: "claims" }, { key: "email" }],
        value: { string_match: { exact: "alice@example.com" } },
      },
    },
  };
  const permissions = hasToolRule ? [{ not_rule: denied }] : [{ any: true }];
  return { action: "ALLOW", policies: { allowed: { permissions, principals: [alice] } } };
}

function filtersOf({ issuer }: Setup, { hasJwtCache, authorizer }: EnvoyOptions): readonly object[] {
  const jwt = {
    "@type": `${ENVOY}extensions.filters.http.jwt_authn.v3.JwtAuthentication`,
    providers: {
      issuer: {
        issuer: issuer.url,
        audiences: [AUDIENCE],
        local_jwks: { inline_string: issuer.jwks },
        forward: true,
        payload_in_metadata: "claims",
        ...(hasJwtCache && { jwt_cache_config: { jwt_cache_size: 1000 } }),
      },
    },
    rules: [{ match: { prefix: "/" }, requires: { provider_name: "issuer" } }],
  };
  const decides =
    authorizer === undefined
      ? [
          {
            name: MCP_FILTER,
            disabled: true,
            // Default: it passes on what is not MCP, whatever the rule.
            typed_config: { "@type": `${ENVOY}extensions.filters.http.mcp.v3.Mcp`, traffic_mode: "REJECT_NO_MCP" },
          },
          {
            name: "envoy.filters.http.rbac",
            typed_config: { "@type": `${ENVOY}extensions.filters.http.rbac.v3.RBAC`, rules: rbacRules(false) },
          },
        ]
      : [
          {
            name: "envoy.filters.http.ext_authz",
            typed_config: {
              "@type": `${ENVOY}extensions.filters.http.ext_authz.v3.ExtAuthz`,
              transport_api_version: "V3",
              grpc_service: { envoy_grpc: { cluster_name: "authorizer" }, timeout: "10s" },
              metadata_context_namespaces: [JWT_FILTER],
            },
          },
        ];
  return [
    { name: JWT_FILTER, typed_config: jwt },
    ...decides,
    {
      name: "envoy.filters.http.router",
      typed_config: { "@type": `${ENVOY}extensions.filters.http.router.v3.Router` },
    },
  ];
}

function accessLog(path: string): object {
  return {
    name: "envoy.access_loggers.file",
    typed_config: {
      "@type": `${ENVOY}extensions.access_loggers.file.v3.FileAccessLog`,
      path,
      log_format: {
        json_format: {
          time: "%START_TIME%",
          user: `%DYNAMIC_METADATA(${JWT_FILTER}:claims:email)%`,
          method: "%REQ(:METHOD)%",
          path: "%REQ(:PATH)%",
          status: "%RESPONSE_CODE%",
        },
      },
    },
  };
}

function tlsSocket({ certificateFile, keyFile }: NonNullable<Setup["tls"]>): object {
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": `${ENVOY}extensions.transport_sockets.tls.v3.DownstreamTlsContext`,
      common_tls_context: {
        alpn_protocols: ["h2", "http/1.1"],
        tls_certificates: [{ certificate_chain: { filename: certificateFile }, private_key: { filename: keyFile } }],
      },
    },
  };
}

const HTTP2_PROTOCOL = {
  typed_extension_protocol_options: {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
      "@type": `${ENVOY}extensions.upstreams.http.v3.HttpProtocolOptions`,
      explicit_http_config: { http2_protocol_options: {} },
    },
  },
};

function addressOf(port: number): object {
  return { socket_address: { address: "127.0.0.1", port_value: port } };
}

function clusterOf(name: string, port: number): object {
  return {
    name,
    type: "STATIC",
    per_connection_buffer_limit_bytes: BUFFER_BYTES,
    circuit_breakers: {
      thresholds: [
        { max_connections: MOST_CONNECTIONS, max_pending_requests: MOST_REQUESTS, max_requests: MOST_REQUESTS },
      ],
    },
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: addressOf(port) } }] }],
    },
  };
}
