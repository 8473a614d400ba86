/** Action `gateway_block`: like `gateway block`, by the admin API. */
import { isRecord } from "../../shared/is-record.ts";
import { BLOCK_KINDS } from "../../policy/blocks.ts";
import { parseDuration } from "../../settings/values.ts";
import { type ActionOf, nameProblem, notAGateway, REASON, shown } from "./action.ts";

const ROUTE_KEY = /^[^/]+\/./;
/** A user named by email has one block for each ID, and one for the address. */
const MOST_SHOWN = 20;

export const block: ActionOf = {
  doc: "Blocks a user, client, grant, route or tool in every process within 2 seconds, whatever policies allow. Revokes nothing. `gateway unblock` removes the block. Needs the admin token.",
  attributes: [
    { name: "kind", type: "string", use: "required", doc: `One of \`${BLOCK_KINDS.join("`, `")}\`.` },
    {
      name: "name",
      type: "string",
      use: "required",
      doc: "User: ID or email. Client, grant: ID. Route: `<owner>/<name>`. Tool: its name.",
    },
    {
      name: "route",
      type: "string",
      use: "optional",
      doc: "Only for a tool: the route (`<owner>/<name>`) on which it is blocked. Default: all routes.",
    },
    {
      name: "until",
      type: "string",
      use: "optional",
      doc: "End: a duration from the invocation, such as `2h`, or a time such as `2026-11-20T18:00:00Z`. Default: until it is removed.",
    },
    REASON,
  ],
  *problems(config) {
    const { kind, name, route, until } = config;
    if (typeof kind === "string" && !(BLOCK_KINDS as readonly string[]).includes(kind))
      yield ["kind", `"kind" is ${JSON.stringify(kind)}, must be one of ${BLOCK_KINDS.join(", ")}.`];
    yield* nameProblem(config, "name");
    if (kind === "route" && typeof name === "string" && !ROUTE_KEY.test(name))
      yield ["name", `"name" is ${JSON.stringify(name)}, must be a route, "<owner>/<name>".`];
    if (typeof route === "string" && !ROUTE_KEY.test(route))
      yield ["route", `"route" is ${JSON.stringify(route)}, must be a route, "<owner>/<name>".`];
    if (typeof route === "string" && typeof kind === "string" && kind !== "tool")
      yield ["route", '"route" is only for the kind "tool".'];
    if (typeof until === "string" && !parseDuration(until).ok && Number.isNaN(Date.parse(until)))
      yield ["until", `"until" is ${JSON.stringify(until)}, must be a duration such as "2h", or a time.`];
  },
  target({ kind, name, route = null }) {
    const what = `${typeof kind === "string" ? kind : "object"} ${shown(name)}`;
    return route === null ? what : `${what} on route ${shown(route)}`;
  },
  effect(target, { until = null }) {
    const end = until === null ? "" : `, until ${shown(until)}`;
    return `Blocks ${target} in every process within 2 seconds${end}. Revokes nothing.`;
  },
  async *invoke(config, ask) {
    const goal = "add the block";
    const members = ["kind", "name", "route", "until", "reason"].map((name) => [name, config[name]] as const);
    const body = Object.fromEntries(members.filter(([, value]) => typeof value === "string"));
    const { base, body: answer, said } = await ask(goal, { method: "POST", path: "/api/v1/blocks", body });
    const items: readonly unknown[] = Array.isArray(answer?.["items"]) ? answer["items"] : [];
    if (items.length === 0) throw notAGateway(goal, base);
    for (const item of items.slice(0, MOST_SHOWN)) {
      const { kind, name, route } = isRecord(item) ? item : {};
      yield `Blocked: ${said(kind)} ${said(name)}${typeof route === "string" ? ` on ${said(route)}` : ""}`;
    }
    return [];
  },
};
