/** The page that asks once more before something is done about a person. Looking at it does nothing. */
import { blockTimes } from "../../pages/console/people/block-times.ts";
import { confirmForm } from "../../pages/console/pieces.ts";
import { addressOfId } from "../addresses.ts";
import type { ScreenPage, Visit } from "../screen.ts";
import { strange } from "../strange.ts";
import { DOABLE, emailOf } from "./do-one.ts";
import { BLOCK_TIMES } from "./person-actions.ts";
import type { PeopleDeps } from "./deps.ts";

interface Asking {
  readonly title: string;
  readonly effect: string;
  /** What it is done to, as the record will say it. */
  readonly target: string;
}

/** @param what name of the action @returns undefined: there is nothing to do it to, or this person may not */
export async function confirmPage(
  deps: PeopleDeps,
  visit: Visit,
  userId: string,
  what: string,
): Promise<ScreenPage | undefined> {
  if (!visit.rights.may("operator")) return undefined;
  const of = visit.query.get("of") ?? "";
  const asking = await askingOf(deps, userId, what, of);
  if (!asking) return undefined;
  const { title, effect, target } = asking;
  const email = await emailOf(deps.store, userId);
  const person = email === "" ? userId : `${email} (${userId})`;
  const body = confirmForm({
    action: addressOfId("people", userId),
    name: what,
    csrfToken: visit.csrf(what),
    fields: [["of", of]],
    button: title,
    text: `${effect} It is done to ${strange(target)}. The person is ${strange(person)}.`,
    asksReason: true,
    more: what === "block" ? blockTimes(BLOCK_TIMES) : undefined,
    back: addressOfId("people", userId),
  });
  return { title, body };
}

async function askingOf(deps: PeopleDeps, userId: string, name: string, of: string): Promise<Asking | undefined> {
  const what = DOABLE.get(name);
  if (what) {
    const found = of === "" ? undefined : await what.find(deps, of, userId);
    return found && { title: what.title, effect: what.effect, target: found.target };
  }
  switch (name) {
    case "end-all":
      return {
        title: "End all access",
        effect:
          "Every browser of this person is signed out, every client's access ends and has to be asked for anew, and their accounts at upstreams are disconnected. The person may sign in again: a block keeps them out.",
        target: `all access of ${userId}`,
      };
    case "block":
      return {
        title: "Block the person",
        effect:
          "Nothing that they or their clients ask for passes, whatever policies say, and what is open ends. Their e-mail address is blocked with them. Nothing is ended: once the block is lifted all goes on as it was.",
        target: `user ${userId}`,
      };
    case "unblock":
      return {
        title: "Lift the block",
        effect: "Policies decide again. What was signed in and granted before goes on.",
        target: `user ${userId}`,
      };
    default:
      return undefined;
  }
}
