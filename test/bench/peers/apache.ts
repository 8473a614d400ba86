/**
 * Apache with mod_auth_openidc before one upstream, where both are installed: an OAuth 2.0 resource server that verifies each
 * request's token (HS256, expiry), asks for a claim, changes headers as the gateway's route does, and writes a line of JSON.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { freePort } from "../../support/ports.ts";
import type { Child } from "../common/child.ts";
import { type PeerStart, untilListening } from "./peer.ts";
import { AUDIENCE_SECRET } from "./token.ts";

export const APACHE = "/usr/sbin/apache2";
const MODULES = "/usr/lib/apache2/modules";
export const APACHE_OPENIDC = `${MODULES}/mod_auth_openidc.so`;

const NEEDED = ["mpm_event", "authn_core", "authz_core", "authz_user", "proxy", "proxy_http", "auth_openidc"];
/** Each request in flight has one; waiting connections have none. */
const THREADS = 128;

export interface ApacheBase {
  readonly folder: string;
  readonly port: number;
  /** Further modules. */
  readonly modules: readonly string[];
  readonly threads: number;
  /** Waiting connections for each thread. */
  readonly asyncFactor: number;
}

/** @returns the start of a configuration: one process, and the format `line` for logs */
export function apacheBase({ folder, port, modules, threads, asyncFactor }: ApacheBase): string {
  // Processes cannot stay root's, and other users cannot choose one.
  const user = process.getuid?.() === 0 ? "User www-data\nGroup www-data\n" : "";
  return `ServerRoot ${folder}
DefaultRuntimeDir ${folder}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
ServerName localhost
Listen 127.0.0.1:${port}
Mutex pthread
${user}${[...NEEDED, ...modules].map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`).join("\n")}
StartServers 1
ServerLimit 1
ThreadsPerChild ${threads}
ThreadLimit ${threads}
MaxRequestWorkers ${threads}
MinSpareThreads ${threads}
MaxSpareThreads ${threads}
AsyncRequestWorkerFactor ${asyncFactor}
MaxConnectionsPerChild 0
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 600
LogFormat "{\\"time\\":\\"%{%FT%T}t\\",\\"user\\":\\"%u\\",\\"method\\":\\"%m\\",\\"path\\":\\"%U\\",\\"status\\":%>s}" line
`;
}

export async function startApache(directory: string, upstream: number, start: PeerStart): Promise<Child> {
  const port = await freePort();
  const folder = join(directory, "apache");
  await mkdir(folder, { recursive: true });
  const config = join(folder, "apache.conf");
  await writeFile(
    config,
    `${apacheBase({ folder, port, modules: ["headers"], threads: THREADS, asyncFactor: 64 })}CustomLog ${folder}/access.log line
OIDCOAuthVerifySharedKeys ${AUDIENCE_SECRET}
OIDCOAuthRemoteUserClaim email
<Location />
  AuthType oauth20
  Require claim groups:engineering
  RequestHeader set X-Team platform
  RequestHeader unset X-Debug
  Header set X-Served-By gateway
  ProxyPass http://127.0.0.1:${upstream}/ keepalive=on enablereuse=on max=${THREADS}
</Location>
`,
  );
  const child = await start("target", "/bin/sh", "-c", `echo ${port}; exec ${APACHE} -f ${config} -DFOREGROUND`);
  await untilListening("apache", port);
  return child;
}
