/** Caddy as a plain proxy before one upstream, where it is installed: one thread of Go's at a time, no log, no TLS. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { freePort } from "../../support/ports.ts";
import type { Child } from "../common/child.ts";
import { type PeerStart, untilListening } from "./peer.ts";

export const CADDY = "/usr/bin/caddy";

export async function startCaddy(directory: string, upstream: number, start: PeerStart): Promise<Child> {
  const port = await freePort();
  const folder = join(directory, "caddy");
  await mkdir(folder, { recursive: true });
  const config = join(folder, "Caddyfile");
  await writeFile(
    config,
    `{
	admin off
	auto_https off
}
http://:${port} {
	bind 127.0.0.1
	reverse_proxy 127.0.0.1:${upstream} {
		transport http {
			keepalive_idle_conns_per_host 1024
		}
	}
}
`,
  );
  const own = `GOMAXPROCS=1 HOME=${folder} XDG_DATA_HOME=${folder} XDG_CONFIG_HOME=${folder}`;
  const command = `echo ${port}; ${own} exec ${CADDY} run --config ${config} --adapter caddyfile 2> ${folder}/error.log`;
  const child = await start("target", "/bin/sh", "-c", command);
  await untilListening("caddy", port);
  return child;
}
