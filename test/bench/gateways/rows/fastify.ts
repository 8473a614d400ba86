/** What a team would write itself in an afternoon: Fastify, @fastify/http-proxy and jose. */
import { join } from "node:path";

import { bearerOf, type Contender } from "../contender.ts";
import { AUDIENCE } from "../issuer.ts";

export const FASTIFY: Contender = {
  name: "fastify-jose",
  title: "Fastify + jose",
  programs: ["fastify"],
  identity: "bearer JWT (RS256), verified each time, with keys of the issuer's JWKS",
  policy: "email claim; tool's name of the parsed body; denied tools are removed from lists",
  record: "pino, JSON, file, in batches",
  notes:
    "What a team would write itself (`test/bench/gateways/fastify-program.ts`, about 100 lines). No sign-in, no sessions. Its 1,000 routes are paths: its router holds 31 hosts.",
  cannot: {},
  isCompiledLate: true,
  async start(setup) {
    const { directory, port, upstream, hosts, tls, issuer, start } = setup;
    const records = join(directory, "records.log");
    const options = { port, upstream, hosts, tls, issuer: issuer.url, audience: AUDIENCE, records };
    await start([process.execPath, join(import.meta.dirname, "../fastify-program.ts"), JSON.stringify(options)], {
      patienceMs: 30_000,
    });
    return { records: [records], credentials: bearerOf(setup) };
  },
};
