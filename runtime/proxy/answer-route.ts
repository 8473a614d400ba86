/** Routes with a response of their own, redirects and fixed responses: the last step of a request that its policy allows. */
import type { RouteAnswer } from "../features/routing/compiled.ts";
import { redirect, respondBytes, respondText } from "../http/respond.ts";
import type { Exchange } from "../http/exchange.ts";
import type { ProxyMetrics } from "./metrics.ts";
import type { PreparedRoute } from "./prepared-route.ts";
import type { Step } from "./steps.ts";
import { swapPrefix } from "../features/routing/apply-rewrite.ts";

type Redirect = Extract<RouteAnswer, { readonly kind: "redirect" }>;

/** Statuses without a body or its length (RFC 9110 §8.6, §15.3.5, §15.4.5). */
const BODILESS = new Set([204, 205, 304]);

/** Step: ends here if the route has a response of its own. */
export function answerRoute({ metrics }: { readonly metrics?: ProxyMetrics }): Step {
  return ({ exchange, prepared }) => {
    const { answer } = prepared.route;
    if (answer === undefined) return "next";
    if (answer.kind === "response" && answer.share !== undefined && Math.random() >= answer.share) return "next";
    write(exchange, prepared, answer);
    metrics?.answered(prepared.route, answer.status, 0);
    return "done";
  };
}

function write(exchange: Exchange, prepared: PreparedRoute, answer: RouteAnswer): void {
  // A route's own response counts as its upstream's: only the route's headers apply, and they can change all of it.
  exchange.addedHeaders = undefined;
  if (answer.kind === "redirect") {
    redirect(exchange, answer.status, locationOf(exchange, prepared, answer), prepared.setResponse);
  } else if (BODILESS.has(answer.status)) {
    respondBytes(exchange, answer.status, [
      "x-request-id",
      exchange.id,
      "cache-control",
      "no-store",
      ...prepared.setResponse,
    ]);
  } else {
    respondText(exchange, answer.status, answer.body, prepared.setResponse);
  }
}

/**
 * Always an absolute URL with a configured host: a path cannot become another host. Path and query come from the request as
 * far as the settings keep them. The listener has validated them, so they cannot break out of the header.
 */
export function locationOf(exchange: Exchange, { route }: PreparedRoute, answer: Redirect): string {
  const own = route.origin.startsWith("https:") ? "https" : "http";
  // On a wildcard route the requested host: it is canonical and known to be below the domain.
  const [, name = "", ownPort] = /^(.*?)(?::([0-9]+))?$/.exec(route.isWildcard ? exchange.host : route.host) ?? [];
  const scheme = answer.scheme ?? own;
  const isSamePlace = answer.host === undefined && scheme === own;
  const port = answer.port ?? (isSamePlace && ownPort !== undefined ? Number(ownPort) : undefined);
  const isUsualPort = port === undefined || port === (scheme === "https" ? 443 : 80);
  const host = (answer.host ?? name) + (isUsualPort ? "" : `:${port}`);
  const path =
    answer.path ?? (answer.prefix === undefined ? exchange.path : swapPrefix(exchange.path, route, answer.prefix));
  const query = answer.query ?? (answer.stripQuery ? "" : exchange.query);
  return `${scheme}://${host}${path}${query}`;
}
