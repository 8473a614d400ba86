/** The script that Terraform starts if the provider is not an executable: it finds Node for the file next to it. */

/** The provider's file, next to the launcher. */
export const PROVIDER_FILE = "provider.cjs";

/** Next to a mirror made by `mirror DIRECTORY`: the path of the Node that made it, for this host only. */
export const NODE_PATH_FILE = "node-path";

/**
 * The same text for all users: Terraform hashes it, and colleagues and pipelines share the lock file. Differences between
 * hosts are resolved when it starts.
 *
 * exec: the provider must be Terraform's child process; otherwise it would not notice when Terraform dies.
 */
export const LAUNCHER = `#!/bin/sh
# Starts the provider with Node 24.12 or newer: GATEFORM_NODE, else the Node that made this mirror, else that of the PATH.
here=$(CDPATH= cd -P -- "$(dirname -- "$0")" && pwd -P) || exit 1
node=$GATEFORM_NODE
cache=\${HOME:+$HOME/.cache/gateform}
near=\${here%/mirror/*/*/*/*/*}
if [ "$near" != "$here" ] && [ -r "$near/${NODE_PATH_FILE}" ]; then
  IFS= read -r made_by < "$near/${NODE_PATH_FILE}"
  [ -n "$node" ] || [ ! -x "$made_by" ] || node=$made_by
  [ ! -w "$near" ] || cache=$near/cache
fi
[ -n "$node" ] || node=$(command -v node) || {
  echo "terraform-provider-gateway: node is not on the PATH; install Node 24.12 or newer, or name it in GATEFORM_NODE" >&2
  exit 1
}
# Compiled code kept between starts: one plan starts the provider three times.
[ -z "$cache" ] || export NODE_COMPILE_CACHE="\${NODE_COMPILE_CACHE:-$cache}"
exec "$node" "$here/${PROVIDER_FILE}" "$@"
`;
