/** The proxies that are compared with the gateway; those that are not installed are left out, with a line that says so. */
import { existsSync } from "node:fs";
import { join } from "node:path";

import type { Child } from "../common/child.ts";
import { APACHE, APACHE_OPENIDC, startApache } from "./apache.ts";
import { CADDY, startCaddy } from "./caddy.ts";
import { HAPROXY, startHaproxy, startHaproxyJwt } from "./haproxy.ts";
import { NGINX, startNginx } from "./nginx.ts";
import type { PeerStart } from "./peer.ts";

export interface Peer {
  readonly name: string;
  /** What it does, for people. */
  readonly title: string;
  /** Without these it is left out. */
  readonly files: readonly string[];
  /** Debian's. */
  readonly packages: readonly string[];
  /** That Debian's packages bring. */
  readonly service?: string;
  /** Prints its version. */
  readonly version: readonly string[];
  /** It verifies a token of its own, see token.ts. */
  readonly verifiesToken?: true;
  start(directory: string, upstream: number, start: PeerStart): Promise<Child>;
}

const node = (program: string, ...args: string[]): readonly string[] => [
  process.execPath,
  join(import.meta.dirname, program),
  ...args,
];
const HERE = { files: [], packages: [], version: [process.execPath, "--version"] } as const;
const OF_HAPROXY = { files: [HAPROXY], packages: ["haproxy"], service: "haproxy", version: [HAPROXY, "-v"] } as const;

export const PEERS: readonly Peer[] = [
  {
    ...HERE,
    name: "bare",
    title: "node:http and undici, the least a Node proxy can be; decides nothing",
    start: (_directory, upstream, start) => startNode("bare.ts", upstream, start),
  },
  {
    ...HERE,
    name: "fastify",
    title: "@fastify/http-proxy as documented; decides nothing",
    start: (_directory, upstream, start) => startNode("fastify-proxy.ts", upstream, start),
  },
  {
    name: "nginx",
    title: "nginx, proxy_pass; decides nothing, logs nothing",
    files: [NGINX],
    packages: ["nginx-light"],
    service: "nginx",
    version: [NGINX, "-v"],
    start: startNginx,
  },
  {
    ...OF_HAPROXY,
    name: "haproxy",
    title: "HAProxy, a plain proxy; decides nothing, logs nothing",
    start: startHaproxy,
  },
  {
    ...OF_HAPROXY,
    name: "haproxy-jwt",
    title: "HAProxy that verifies a HS256 token, changes headers, logs JSON",
    verifiesToken: true,
    start: startHaproxyJwt,
  },
  {
    name: "apache-oidc",
    title: "Apache with mod_auth_openidc: verifies a HS256 token and a claim, changes headers, logs JSON",
    files: [APACHE, APACHE_OPENIDC],
    packages: ["apache2-bin", "libapache2-mod-auth-openidc"],
    version: [APACHE, "-v"],
    verifiesToken: true,
    start: startApache,
  },
  {
    name: "caddy",
    title: "Caddy, reverse_proxy; decides nothing, logs nothing",
    files: [CADDY],
    packages: ["caddy"],
    service: "caddy",
    version: [CADDY, "version"],
    start: startCaddy,
  },
];

/** Those that are wanted and here; a line for each that is not here. */
export function findPeers(names: readonly string[], say: (line: string) => void = console.log): readonly Peer[] {
  return PEERS.filter(({ name, files }) => {
    if (!names.includes(name)) return false;
    const missing = files.find((file) => !existsSync(file));
    if (missing !== undefined) {
      say(`${name} is left out: there is no ${missing} (npm run bench -- --install)`);
    }
    return missing === undefined;
  });
}

function startNode(program: string, upstream: number, start: PeerStart): Promise<Child> {
  const [command = "", ...args] = node(program, `http://127.0.0.1:${upstream}`);
  return start("target", command, ...args);
}
