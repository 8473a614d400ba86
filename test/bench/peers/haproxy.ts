/** HAProxy before one upstream, where it is installed: as a plain proxy, or as one that knows who calls. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { freePort } from "../../support/ports.ts";
import type { Child } from "../common/child.ts";
import { type PeerStart, untilListening } from "./peer.ts";
import { AUDIENCE_SECRET } from "./token.ts";

export const HAPROXY = "/usr/sbin/haproxy";

/** One thread, no log, its own choice of what to use again. */
export function startHaproxy(directory: string, upstream: number, start: PeerStart): Promise<Child> {
  return run({ directory, upstream, start, name: "haproxy", rules: "" });
}

/**
 * As `startHaproxy`, and each request's token is verified (algorithm, HS256 signature), its subject is sent on, headers are
 * changed as the gateway's route changes them, and a line of JSON is written to a file. No expiry, no claims: HAProxy has no
 * words for groups.
 */
export function startHaproxyJwt(directory: string, upstream: number, start: PeerStart): Promise<Child> {
  const rules = `
  option forwardfor
  log stdout format raw local0
  log-format '{"time":"%Tl","user":"%[var(txn.subject)]","method":"%HM","path":"%HP","status":%ST}'
  http-request set-var(txn.token) http_auth_bearer
  http-request set-var(txn.algorithm) var(txn.token),jwt_header_query('$.alg')
  http-request set-var(txn.subject) var(txn.token),jwt_payload_query('$.sub')
  http-request deny deny_status 401 unless { var(txn.algorithm) -m str HS256 }
  http-request deny deny_status 401 unless { var(txn.token),jwt_verify(txn.algorithm,"${AUDIENCE_SECRET}") -m int 1 }
  http-request set-header X-User %[var(txn.subject)]
  http-request set-header X-Team platform
  http-request del-header X-Debug
  http-response set-header X-Served-By gateway`;
  return run({ directory, upstream, start, name: "haproxy-jwt", rules });
}

interface Run {
  readonly directory: string;
  readonly upstream: number;
  readonly start: PeerStart;
  readonly name: string;
  /** Of the frontend. */
  readonly rules: string;
}

async function run({ directory, upstream, start, name, rules }: Run): Promise<Child> {
  const port = await freePort();
  const config = join(directory, `${name}.cfg`);
  await writeFile(
    config,
    `global
  nbthread 1
  maxconn 9000
defaults
  mode http
  timeout connect 10s
  timeout client 600s
  timeout server 600s
frontend in
  bind 127.0.0.1:${port}${rules}
  default_backend up
backend up
  server up 127.0.0.1:${upstream}
`,
  );
  const out = join(directory, `${name}.log`);
  // Not `-q`: with it, standard output is closed, and no record is written.
  const child = await start(
    "target",
    "/bin/sh",
    "-c",
    `echo ${port}; exec ${HAPROXY} -db -f ${config} > ${out} 2> ${out}.errors`,
  );
  await untilListening(name, port);
  return child;
}
