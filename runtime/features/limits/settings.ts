/** Settings of a route about how often, and how often at a time, it may be used by whom policy lets pass. */
import { ACCESS } from "../../settings/groups.ts";
import { blockList } from "../../settings/types/block.ts";
import { quotedProblem } from "../../settings/types/checks.ts";
import { textList } from "../../settings/types/list.ts";
import { grouped, type ShapeDoc } from "../../settings/types/registry.ts";
import { choice, count, duration, text } from "../../settings/types/scalar.ts";

/** What is counted by itself for each. */
export const LIMIT_KEYS = ["user", "client", "tool"] as const;
const WITHOUT_STORE = ["share", "refuse"] as const;

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

export const rateLimitShape = {
  name: text({
    doc: "Name of the limit on this route, shown to callers, in records and metrics.",
    required: true,
    check: (value) =>
      quotedProblem(value, NAME.test(value) ? undefined : 'must be at most 64 letters, digits, "-" and "_"'),
  }),
  per: textList({
    doc: "What is counted by itself: each `user`, each `client` (of OAuth), each `tool` of `tools`, or each combination of them. Callers without a user, or without a client, are counted as one.",
    unset: "all requests of the route together",
    itemValues: LIMIT_KEYS,
    check: (value) =>
      quotedProblem(
        value,
        (LIMIT_KEYS as readonly string[]).includes(value) ? undefined : 'must be "user", "client" or "tool"',
      ),
  }),
  requests: count({
    doc: "Requests that may pass within any span of `window`.",
    unset: "required: `requests` or `concurrency`",
    min: 1,
    max: 1_000_000_000,
  }),
  window: duration({ doc: "Span in which `requests` are counted, from one second to 30 days.", default: "1m" }),
  concurrency: count({
    doc: "Requests that may be under way at a time; open event streams and WebSocket connections are among them.",
    unset: "required: `requests` or `concurrency`",
    min: 1,
    max: 1_000_000,
  }),
  tools: textList({
    doc: "On MCP server routes: only calls of these tools count, and only they are limited.",
    unset: "every request counts",
    check: (value) =>
      quotedProblem(value, value === "" || value.length > 128 ? "must be a name of 1 to 128 characters" : undefined),
  }),
  without_store: choice(WITHOUT_STORE, {
    doc: "While the store cannot be reached: each process counts by itself, with its share of the limit (`share`), or requests are answered 503 (`refuse`).",
    default: "share",
  }),
};

export const limitsShape = grouped(ACCESS, {
  rate_limits: blockList(rateLimitShape, {
    doc: "How often the route may be used by those whom policy lets pass, counted together by all processes that share the store. A request must be within all of them; one that is refused (429) counts for none.",
    unset: "there are no limits",
    annotation: "rate_limits",
  }),
});

/** What of a route is about how often it may be used. */
export type LimitsDoc = ShapeDoc<typeof limitsShape>;
