/** The upstream without a gateway: what load generator and upstream cost. */
import { type Contender, withoutCredentials } from "../contender.ts";

export const UPSTREAM: Contender = {
  name: "upstream",
  title: "upstream alone",
  programs: [],
  identity: "not asked",
  policy: "none",
  record: "none",
  notes: "No gateway: the floor of every latency here.",
  cannot: { tool: "as the MCP call", routes: "it has no routes", http2: "it does not offer HTTP/2" },
  isOpen: true,
  showsAllTools: true,
  start: ({ upstream }) =>
    Promise.resolve({
      records: [],
      port: upstream,
      credentials: withoutCredentials,
    }),
};
