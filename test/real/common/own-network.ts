/** Tests that change network and mounts run in their own. */
import { readlinkSync } from "node:fs";

/** Variable with the namespaces of the host, so that a test can see that its own are others. */
export const HOST_NAMESPACES = "GATEWAY_HOST_NAMESPACES";

/** Before a command that runs with a loopback interface and mounts of its own. Needs Linux and root. */
export const OWN_NETWORK: readonly string[] = [
  "unshare",
  "--net",
  "--mount",
  // All of its processes end with the command.
  "--pid",
  "--fork",
  "--kill-child",
  "--mount-proc",
  "sh",
  "-c",
  'ip link set lo up && exec "$0" "$@"',
];

/** Of this process: network and mounts. */
export function namespaces(): readonly string[] {
  return ["net", "mnt"].map((kind) => readlinkSync(`/proc/self/ns/${kind}`));
}
