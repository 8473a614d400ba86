/** `@fastify/http-proxy` as its documentation sets it up: `node fastify-proxy.ts UPSTREAM_ORIGIN` prints its port. */
import type { AddressInfo } from "node:net";

import proxy from "@fastify/http-proxy";
import fastify from "fastify";

const app = fastify();
await app.register(proxy, { upstream: process.argv[2] ?? "", undici: { connections: 128 } });
await app.listen({ port: 0, host: "127.0.0.1" });
console.log((app.server.address() as AddressInfo).port);
