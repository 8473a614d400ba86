/** Settings of a route for request rates and concurrent requests. */
import { ACCESS } from "../../settings/groups.ts";
import { blockList } from "../../settings/types/block.ts";
import { quotedProblem } from "../../settings/types/checks.ts";
import { textList } from "../../settings/types/list.ts";
import { grouped, type ShapeDoc } from "../../settings/types/registry.ts";
import { choice, count, duration, text } from "../../settings/types/scalar.ts";

/** Keys that are counted separately. */
export const LIMIT_KEYS = ["user", "client", "tool"] as const;
const WITHOUT_STORE = ["share", "refuse"] as const;

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

export const rateLimitShape = {
  name: text({
    doc: "Limit name, shown in responses, records and metrics.",
    required: true,
    check: (value) =>
      quotedProblem(value, NAME.test(value) ? undefined : 'must be at most 64 letters, digits, "-" and "_"'),
  }),
  per: textList({
    doc: "Keys counted separately: each `user`, OAuth `client`, `tool` of `tools`, or combination.",
    unset: "one count for all requests of the route",
    itemValues: LIMIT_KEYS,
    check: (value) =>
      quotedProblem(
        value,
        (LIMIT_KEYS as readonly string[]).includes(value) ? undefined : 'must be "user", "client" or "tool"',
      ),
  }),
  requests: count({
    doc: "Maximum requests within `window`.",
    unset: "required unless `concurrency` is set",
    min: 1,
    max: 1_000_000_000,
  }),
  window: duration({ doc: "Sliding window for `requests`, from 1 second to 30 days.", default: "1m" }),
  concurrency: count({
    doc: "Maximum concurrent requests, including open event streams and WebSockets.",
    unset: "required unless `requests` is set",
    min: 1,
    max: 1_000_000,
  }),
  tools: textList({
    doc: "Tools whose calls are counted and limited, on MCP server routes.",
    unset: "every request",
    check: (value) =>
      quotedProblem(value, value === "" || value.length > 128 ? "must be a name of 1 to 128 characters" : undefined),
  }),
  without_store: choice(WITHOUT_STORE, {
    doc: "While the store is unavailable, each process enforces its share of the limit, or requests get 503.",
    default: "share",
  }),
};

export const limitsShape = grouped(ACCESS, {
  rate_limits: blockList(rateLimitShape, {
    doc: "Rate limits of allowed requests, shared by all processes with the same store. Every limit must allow a request.",
    unset: "none",
    annotation: "rate_limits",
  }),
});

/** Limit settings of a route. */
export type LimitsDoc = ShapeDoc<typeof limitsShape>;
