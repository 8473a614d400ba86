/** Limits for the number of upstreams of a route, and of all routes of a slice. */
import { errorAt, type Report } from "../../settings/problem.ts";

/** Each request scans all upstreams of a route: 1,000 take some 50 to 100 µs of the thread that serves all requests. */
export const MAX_UPSTREAMS = 1_000;

/** @param route its valid members */
export function upstreamRules({ to = [] }: { readonly to?: string | readonly string[] }, report: Report): void {
  const length = typeof to === "string" ? 1 : to.length;
  if (length > MAX_UPSTREAMS)
    report(errorAt(["to"], `has ${length} upstreams, must have at most ${MAX_UPSTREAMS}; put a balancer before them`));
}

/** After each publication the main thread scans all upstreams once, at a microsecond each. */
export const MAX_UPSTREAMS_OF_SLICE = 50_000;

export function sliceUpstreamRules(
  routes: readonly { readonly upstreams: readonly unknown[] }[],
  report: Report,
): void {
  const all = routes.reduce((sum, { upstreams }) => sum + upstreams.length, 0);
  if (all > MAX_UPSTREAMS_OF_SLICE)
    report(errorAt(["routes"], `have ${all} upstreams, must have at most ${MAX_UPSTREAMS_OF_SLICE} in one slice`));
}
