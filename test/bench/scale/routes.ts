/** Slices with many routes. */

/** About 350 bytes each, as in life: a policy, headers that are set and removed, a host of its own. */
export function manyRoutes(owner: string, mark: string, upstream: string, count: number): string {
  const named = Array.from({ length: count }, (_, index) => [
    `r${index}`,
    {
      from: `http://${owner}-${index}.example.com`,
      to: [upstream],
      policy: [
        { allow: { or: [{ accept: true }] } },
        { deny: { or: [{ http_method: { in: ["TRACE", `X-${index % 50}`] } }] } },
      ],
      set_request_headers: { "X-Team": `team-${index % 50}` },
      remove_request_headers: ["X-Debug"],
      set_response_headers: { "X-Mark": mark },
    },
  ]);
  return JSON.stringify({ version: 1, owner, routes: Object.fromEntries(named) });
}
