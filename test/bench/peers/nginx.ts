/** nginx as a plain proxy before one upstream, where it is installed: one worker, no log. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { freePort } from "../../support/ports.ts";
import type { Child } from "../common/child.ts";
import { type PeerStart, untilListening } from "./peer.ts";

export const NGINX = "/usr/sbin/nginx";

export async function startNginx(directory: string, upstream: number, start: PeerStart): Promise<Child> {
  const port = await freePort();
  const prefix = join(directory, "nginx");
  await mkdir(join(prefix, "logs"), { recursive: true });
  // Bodies stay in memory: what is compared is no disk. Streams are not buffered by anybody else either.
  await writeFile(
    join(prefix, "nginx.conf"),
    `daemon off; worker_processes 1; pid ${prefix}/pid; error_log ${prefix}/error.log;
events { worker_connections 18000; }
http {
  access_log off; client_body_temp_path ${prefix}/body; proxy_temp_path ${prefix}/proxy;
  fastcgi_temp_path ${prefix}/f; uwsgi_temp_path ${prefix}/u; scgi_temp_path ${prefix}/s;
  client_max_body_size 16m; client_body_buffer_size 2m; keepalive_timeout 600s;
  upstream up { server 127.0.0.1:${upstream}; keepalive 1024; keepalive_requests 1000000000; }
  server { listen 127.0.0.1:${port} backlog=4096; keepalive_requests 1000000000;
    location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`,
  );
  const command = `echo ${port}; exec ${NGINX} -p ${prefix} -c ${prefix}/nginx.conf`;
  const child = await start("target", "/bin/sh", "-c", command);
  await untilListening("nginx", port);
  return child;
}
