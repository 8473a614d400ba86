/** HAProxy as a plain proxy before one upstream, where it is installed: one thread, no log, its own choice of what to use again. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { freePort } from "../support/ports.ts";
import type { Child } from "./child.ts";

export const HAPROXY = "/usr/sbin/haproxy";

export async function startHaproxy(
  directory: string,
  upstream: number,
  start: (core: "target" | "rest", command: string, ...args: string[]) => Promise<Child>,
): Promise<Child> {
  const port = await freePort();
  const config = join(directory, "haproxy.cfg");
  await writeFile(
    config,
    `global
  nbthread 1
  maxconn 4096
defaults
  mode http
  timeout connect 10s
  timeout client 60s
  timeout server 60s
frontend in
  bind 127.0.0.1:${port}
  default_backend up
backend up
  server up 127.0.0.1:${upstream}
`,
  );
  const child = await start("target", "/bin/sh", "-c", `echo ${port}; exec ${HAPROXY} -db -q -f ${config}`);
  await delay(300);
  return child;
}
