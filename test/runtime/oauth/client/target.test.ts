/** Which changes of a route's upstreams are other parties to the tokens of its users. */
import { expect, test } from "vitest";

import { findTarget } from "../../../../runtime/oauth/client/target.ts";
import { routeNamed, snapshotFrom } from "../../../support/config.ts";

function generationOf(to: readonly string[]): string | undefined {
  const snapshot = snapshotFrom(`
runtime_flags: { mcp: true }
routes:
  - name: server
    from: https://mcp.gateway.example
    to: ${JSON.stringify(to)}
    mcp: { server: {} }
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`);
  return findTarget(routeNamed(snapshot, "server"))?.generation;
}

const NAME = "https://mcp.example.com";
const ADDRESS = "http://10.0.0.1:8080";

test.each([
  ["the same host at another port", NAME, "https://mcp.example.com:8443"],
  ["an address beside an address", ADDRESS, "http://10.0.0.2:8080"],
  ["an IPv6 address beside an address", ADDRESS, "http://[fd00::2]:8080"],
])("%s is a replica: connections stay", (_what, first, other) => {
  expect(generationOf([first, other])).toBe(generationOf([first]));
});

test.each([
  ["another host beside a host", NAME, "https://other.example.com"],
  ["an address beside a host", NAME, ADDRESS],
  ["a host beside an address", ADDRESS, NAME],
])("%s is another party: users connect again", (_what, first, other) => {
  expect(generationOf([first, other])).not.toBe(generationOf([first]));
  expect(generationOf([first, "https://third.example.com", other])).toBe(
    generationOf([first, other, "https://third.example.com"]),
  );
});
