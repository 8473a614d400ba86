/**
 * `gateway upstreams …`: knowledge that gateways have learned about the upstreams of MCP server routes, and resetting
 * it.
 */
import { forgetNeed, listNeeds, needText } from "../../oauth/client/learned-needs.ts";
import { withAdministration } from "./administration.ts";
import { timeText } from "../../shared/clock.ts";
import { forEachNamed, printLine, printRows } from "./output.ts";

/** @returns exit code */
export function printUpstreams(options: { readonly config: string; readonly json?: boolean }): Promise<number> {
  return withAdministration(options.config, async ({ store }) => {
    const rows = (await listNeeds(store)).map((need) => ({
      route: need.routeKey,
      "sign-in": needText(need),
      learned: need.learnedAt === undefined ? undefined : timeText(need.learnedAt),
    }));
    printRows(rows, options.json === true, "nothing is known about any upstream");
    return 0;
  });
}

/** @returns exit code; 1 when nothing is known about one */
export function forgetUpstreams(routes: readonly string[], options: { readonly config: string }): Promise<number> {
  return withAdministration(options.config, async ({ store, record }) => {
    const found = await forEachNamed(routes, "record about the upstream of", async (route) => {
      const before = (await listNeeds(store)).find(({ routeKey }) => routeKey === route);
      if (!(await forgetNeed(store, route))) return false;
      const target = `what is known of the upstream of ${route}`;
      await record({ action: "forget", target, before: before ? needText(before) : null, after: null });
      printLine(`${route}: deleted, gateways learn it again`);
      return true;
    });
    return found === routes.length ? 0 : 1;
  });
}
