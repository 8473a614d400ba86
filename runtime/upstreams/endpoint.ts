/** Where connections to an upstream go, read from its `to`; for every part that opens some. */
import { isIP } from "node:net";

import type { Upstream } from "../features/connection/compiled.ts";
import { bareHost } from "../shared/net/bare-host.ts";

export interface UpstreamEndpoint {
  /** Name or address, without brackets. */
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** For TLS: the certificate is asked for and checked against the host of `to`, whatever Host says. undefined: an address. */
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
