/** FastMCP's proxy with middleware: MCP only. */
import { join } from "node:path";

import { bearerOf, type Contender, NOT_IN_MCP_SERVERS } from "../contender.ts";
import { AUDIENCE } from "../issuer.ts";
import { DENIED_PREFIX } from "../sizes.ts";

export const FASTMCP: Contender = {
  name: "fastmcp",
  title: "FastMCP proxy",
  programs: ["fastmcp"],
  identity: "bearer JWT (RS256), verified each time",
  policy: "middleware: email claim; tool's name; denied tools are removed from lists",
  record: "JSON line of the middleware, file",
  notes:
    "Ends MCP: it is a server for the client and a client of the upstream, with a session of its own for each request, its default, which keeps users apart. Without sessions for clients (`stateless_http`). Its program is `test/bench/gateways/fastmcp-program.py`. Measured apart, with three rounds.",
  cannot: NOT_IN_MCP_SERVERS,
  isSlow: true,
  async start(setup) {
    const { directory, port, upstream, issuer, program, start } = setup;
    const records = join(directory, "records.log");
    const options = {
      port,
      upstream,
      records,
      key: issuer.publicKey,
      issuer: issuer.url,
      audience: AUDIENCE,
      denied: DENIED_PREFIX,
    };
    const script = join(import.meta.dirname, "../fastmcp-program.py");
    await start([await program("fastmcp"), script, JSON.stringify(options)], { patienceMs: 60_000 });
    return { records: [records], credentials: bearerOf(setup), paths: { mcp: "/mcp", tool: "/mcp" } };
  },
};
