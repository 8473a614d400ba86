/**
 * `npm run bench`: everything that parts/all.ts compares. Read the ratios, not the rates: CPU per request of the process tree
 * is the steady figure on a shared machine. README.md beside this file says what else there is.
 *
 *   --rounds N (7)  --seconds S (2)  --connections C (64)  --json FILE
 *   --peers bare,fastify,nginx (also haproxy, haproxy-jwt, apache-oidc, caddy; who is not installed is left out)
 *   --no-terraform  --no-http  --no-transports  --no-publish  --no-issuer  --no-upstream-oauth
 *   --terraform-5000
 *
 *   --install   the other proxies, from Debian's packages; measures nothing
 */
import { parseArgs } from "node:util";

import { benchAll } from "./parts/all.ts";
import { installPeers } from "./peers/install.ts";

const PARTS = ["terraform", "http", "transports", "publish", "issuer", "upstream-oauth"] as const;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "2" },
    connections: { type: "string", default: "64" },
    peers: { type: "string", default: "bare,fastify,nginx" },
    json: { type: "string" },
    install: { type: "boolean", default: false },
    "no-terraform": { type: "boolean", default: false },
    "no-http": { type: "boolean", default: false },
    "no-transports": { type: "boolean", default: false },
    "no-publish": { type: "boolean", default: false },
    "no-issuer": { type: "boolean", default: false },
    "no-upstream-oauth": { type: "boolean", default: false },
    "terraform-5000": { type: "boolean", default: false },
  },
});

if (values.install) installPeers();
else
  await benchAll({
    rounds: Number(values.rounds),
    durationMs: Number(values.seconds) * 1000,
    connections: Number(values.connections),
    peers: values.peers.split(","),
    without: new Set(PARTS.filter((part) => values[`no-${part}`])),
    hasLargestTerraform: values["terraform-5000"],
    json: values.json,
  });
