/** Action `gateway_revoke_user`: like `gateway sessions revoke` and `gateway grants revoke`, by the admin API. */
import { isRecord } from "../../shared/is-record.ts";
import type { ValueMap } from "../protocol/value.ts";
import { type ActionOf, type ActionAsk, nameProblem, notAGateway, REASON, refusal, shown } from "./action.ts";

/** Objects in one page, and in one line of progress. */
const PAGE = 50;
/** Objects ended at most, of each kind. */
const MOST = 1000;

export const revokeUser: ActionOf = {
  doc: "Signs a user out of all browsers, and revokes the access of their OAuth clients, in every process within 2 seconds. The user can sign in again: use `gateway_block` to prevent that. Needs the admin token.",
  attributes: [
    {
      name: "user",
      type: "string",
      use: "required",
      doc: "User ID, as `gateway sessions list` and the console show it.",
    },
    REASON,
  ],
  problems: (config) => nameProblem(config, "user"),
  target: ({ user }) => `user ${shown(user)}`,
  effect: (target) =>
    `Ends all sessions of ${target}, and revokes the access of all their clients, within 2 seconds. The user can sign in again.`,
  async *invoke(config, ask) {
    let all = 0;
    for (const kind of ["sessions", "grants"] as const) {
      let ended = 0;
      for await (const count of endAll(kind, config, ask)) {
        if (ended > 0) yield `Ended so far: ${ended} ${kind}`;
        ended += count;
      }
      yield `Ended: ${ended} ${kind}`;
      all += ended;
    }
    if (all > 0) return [];
    const detail = `The user has no session and no grant. "user" must be the user ID, as \`gateway sessions list\` shows it, not the email address.`;
    return [{ severity: "warning", summary: "Nothing to revoke", detail, path: [{ attribute: "user" }] }];
  },
};

/** Yields how many of each page existed. */
async function* endAll(kind: "sessions" | "grants", { user, reason }: ValueMap, ask: ActionAsk): AsyncIterable<number> {
  const goal = `end the ${kind} of the user`;
  const path = `/api/v1/${kind}`;
  const query = new URLSearchParams({ user: user as string, limit: String(PAGE) }).toString();
  for (let asked = 0; ;) {
    const { base, body } = await ask(goal, { method: "GET", path: `${path}?${query}` });
    if (!Array.isArray(body?.["items"])) throw notAGateway(goal, base);
    const items = body["items"] as readonly unknown[];
    if (items.length === 0) return;
    asked += items.length;
    if (asked > MOST) throw refusal(goal, base, `there are more than ${MOST}; run the action again`);
    let ended = 0;
    for (const item of items) {
      const id = isRecord(item) ? item["id"] : undefined;
      if (typeof id !== "string" || id === "") throw notAGateway(goal, base);
      const end = { method: "POST", path: `${path}/${encodeURIComponent(id)}/end`, body: { reason }, accepts: [404] };
      // 404: it ended meanwhile.
      if ((await ask(goal, end)).status !== 404) ended++;
    }
    yield ended;
  }
}
