/** nginx as a plain proxy before one upstream, where it is installed: one worker, no log. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { freePort } from "../support/ports.ts";
import type { Child } from "./child.ts";

export const NGINX = "/usr/sbin/nginx";

export async function startNginx(
  directory: string,
  upstream: number,
  start: (core: "target" | "rest", command: string, ...args: string[]) => Promise<Child>,
): Promise<Child> {
  const port = await freePort();
  const prefix = join(directory, "nginx");
  await mkdir(join(prefix, "logs"), { recursive: true });
  await writeFile(
    join(prefix, "nginx.conf"),
    `daemon off; worker_processes 1; pid ${prefix}/pid; error_log ${prefix}/error.log;
events { worker_connections 1024; }
http {
  access_log off; client_body_temp_path ${prefix}/body; proxy_temp_path ${prefix}/proxy;
  fastcgi_temp_path ${prefix}/f; uwsgi_temp_path ${prefix}/u; scgi_temp_path ${prefix}/s;
  upstream up { server 127.0.0.1:${upstream}; keepalive 128; }
  server { listen 127.0.0.1:${port}; keepalive_requests 1000000000;
    location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`,
  );
  const child = await start(
    "target",
    "/bin/sh",
    "-c",
    `echo ${port}; exec ${NGINX} -p ${prefix} -c ${prefix}/nginx.conf`,
  );
  await delay(300);
  return child;
}
