/**
 * `npm run bench -- --install`: the other proxies, from Debian's packages, as far as they are not there. Their services are
 * neither started nor enabled: a benchmark starts what it measures itself.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";

import { type Peer, PEERS } from "./peers.ts";

/** What Debian's maintainer scripts ask before they start a service; 101 says no. */
const POLICY = "/usr/sbin/policy-rc.d";

export function installPeers(peers: readonly Peer[] = PEERS): void {
  const missing = peers.filter(({ files }) => !files.every((file) => existsSync(file)));
  const packages = [...new Set(missing.flatMap((peer) => peer.packages))];
  if (packages.length === 0) {
    console.log("All other proxies are installed.");
    return;
  }
  const command = `apt-get install --yes --no-install-recommends ${packages.join(" ")}`;
  if (!existsSync("/usr/bin/apt-get") || process.getuid?.() !== 0) {
    throw new Error(`Cannot install other proxies without apt-get or without being root; expected: ${command}`);
  }
  const isOurs = !existsSync(POLICY);
  if (isOurs) writeFileSync(POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    console.log(command);
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    execFileSync("apt-get", ["update", "-qq"], { stdio: ["ignore", "ignore", "inherit"], env });
    const [program = "", ...args] = command.split(" ");
    execFileSync(program, ["-qq", ...args], { stdio: ["ignore", "ignore", "inherit"], env });
  } finally {
    if (isOurs) rmSync(POLICY, { force: true });
  }
  // Where there is no systemd there is nothing to disable.
  const services = [...new Set(missing.flatMap(({ service }) => (service === undefined ? [] : [service])))];
  if (services.length > 0 && existsSync("/usr/bin/systemctl")) {
    spawnSync("systemctl", ["--quiet", "disable", ...services], { stdio: "ignore" });
  }
}
