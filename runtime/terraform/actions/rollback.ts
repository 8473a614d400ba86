/** Action `gateway_rollback`: like `gateway rollback`, by the admin listener. */
import { isOwner, OWNER_EXPECTED } from "../../features/process/owners.ts";
import { isRecord } from "../../shared/is-record.ts";
import { type ActionOf, notAGateway, refusal, shown } from "./action.ts";

/** The gateway itself waits up to 25 s for its processes. */
const TIMEOUT_MS = 60_000;
const MOST_SHOWN = 20;

export const rollback: ActionOf = {
  doc: "Restores an earlier version of one owner's published slice in every process. A `gateway_bundle` of that owner plans to publish its own content again: revert the configuration too. Needs the admin token.",
  attributes: [
    { name: "owner", type: "string", use: "required", doc: "Owner of the slice." },
    {
      name: "to",
      type: "number",
      use: "optional",
      doc: "Generation to restore, as `gateway rollback --list` shows it. Default: the version before the last change.",
    },
  ],
  *problems({ owner, to }) {
    if (typeof owner === "string" && !isOwner(owner)) yield ["owner", `"owner" ${OWNER_EXPECTED}.`];
    // A number that is not whole is a text.
    if (typeof to === "string" || (typeof to === "number" && !(Number.isSafeInteger(to) && to >= 0)))
      yield ["to", `"to" is ${to}, must be a generation, a whole number from 0.`];
  },
  target: ({ owner }) => `owner ${shown(owner)}`,
  effect(target, { to = null }) {
    const version = to === null ? "the version before its last change" : `generation ${shown(to)}`;
    return `Restores the slice of ${target} as of ${version}, and removes it if there was none. Routes of this owner change in every process.`;
  },
  async *invoke({ owner, to }, ask) {
    const goal = `roll back the slice of owner ${shown(owner)}`;
    const body = { owner, ...(typeof to === "number" && { to }) };
    yield "Waiting until every process has the earlier version";
    const question = { method: "POST", path: "/config/rollback", body, timeoutMs: TIMEOUT_MS, accepts: [202] };
    const { base, status, body: answer, said } = await ask(goal, question);
    const { generation, changed, digest, laggards } = answer ?? {};
    if (typeof generation !== "number") throw notAGateway(goal, base);
    if (status === 202) {
      const behind = (Array.isArray(laggards) ? laggards : []).slice(0, MOST_SHOWN).map((each: unknown) => {
        const { id, reason } = isRecord(each) ? each : {};
        return `\n  ${said(id)} ${said(reason)}`;
      });
      throw refusal(
        goal,
        base,
        `it is stored as generation ${generation}, but not active in every process:${behind.join("")}`,
      );
    }
    const done = digest === null ? "Removed, as there was no slice then" : "Restored";
    yield changed === false
      ? `Nothing to do: already in this state (generation ${generation})`
      : `${done}: generation ${generation}, active in every process`;
    return [];
  },
};
