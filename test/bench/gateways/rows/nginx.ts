/** nginx as a plain proxy, which checks no user: what a proxy costs at least. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { type Contender, NO_TOOLS, type Setup, withoutCredentials } from "../contender.ts";

export const NGINX_ROW: Contender = {
  name: "nginx",
  title: "nginx (no check)",
  programs: ["nginx"],
  identity: "not asked",
  policy: "none",
  record: "none",
  notes: "The floor: it passes everything on. Its list and its MCP calls are plain requests to it.",
  cannot: { tool: NO_TOOLS },
  isOpen: true,
  showsAllTools: true,
  async start(setup) {
    await startNginx(setup, { accessLog: "off", upstreams: "", own: "", location: "" });
    return { records: [], credentials: withoutCredentials };
  },
};

export interface NginxParts {
  /** Value of `access_log`. */
  readonly accessLog: string;
  /** Further `upstream` and `log_format` directives. */
  readonly upstreams: string;
  /** Further `location` blocks. */
  readonly own: string;
  /** Directives of the locations that pass requests on. */
  readonly location: string;
}

/** One worker; connections to upstreams are kept, as its documentation of `keepalive` says. */
export async function startNginx(setup: Setup, { accessLog, upstreams, own, location }: NginxParts): Promise<void> {
  const { directory, port, upstream, hosts, tls, program, start } = setup;
  await mkdir(join(directory, "logs"), { recursive: true });
  const listen = `listen 127.0.0.1:${port}${tls ? " ssl http2" : ""}`;
  // Events of MCP must not wait in a buffer.
  const locations = `${own} location / { ${location} proxy_pass http://up; }
    location ~ ^/(mcp|tool)$ { ${location} proxy_pass http://up; proxy_buffering off; }`;
  const servers = [`localhost`, ...hosts].map(
    (host, index) =>
      `server { ${listen}${index === 0 ? " default_server backlog=4096" : ""}; server_name ${host}; ${locations} }`,
  );
  await writeFile(
    join(directory, "nginx.conf"),
    `daemon off; worker_processes 1; pid ${directory}/pid; error_log ${directory}/error.log;
events { worker_connections 8000; }
http {
  ${upstreams}
  access_log ${accessLog}; client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
  client_body_buffer_size 64k; keepalive_timeout 600s; keepalive_requests 1000000000;
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
  server_names_hash_max_size 8192; server_names_hash_bucket_size 128;
  ${tls ? `ssl_certificate ${tls.certificateFile}; ssl_certificate_key ${tls.keyFile};` : ""}
  upstream up { server 127.0.0.1:${upstream}; keepalive 128; keepalive_requests 1000000000; }
  ${servers.join("\n  ")}
}
`,
  );
  await start([await program("nginx"), "-p", directory, "-c", join(directory, "nginx.conf")]);
}
