/** Network endpoint of an upstream, from its `to`; for all code that connects to it. */
import { isIP } from "node:net";

import type { Upstream } from "../features/connection/compiled.ts";
import { bareHost } from "../shared/net/bare-host.ts";

export interface UpstreamEndpoint {
  /** Name or address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** For TLS: the name in the certificate, that of `to`, whatever the Host header. undefined: an address. */
  readonly serverName: string | undefined;
}

export function endpointOf({ origin }: Pick<Upstream, "origin">): UpstreamEndpoint {
  const { protocol, hostname, port } = new URL(origin);
  const secure = protocol === "https:";
  const host = bareHost(hostname);
  return {
    host,
    port: port === "" ? (secure ? 443 : 80) : Number(port),
    secure,
    serverName: isIP(host) === 0 ? host : undefined,
  };
}
