/** The page that asks once more before something is done about a person. Looking at it does nothing. */
import { blockTimes } from "../../pages/console/people/block-times.ts";
import { confirmForm } from "../../pages/console/pieces.ts";
import { addressOfId } from "../addresses.ts";
import type { ScreenPage, ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { DOABLE, emailOf } from "./do-one.ts";
import { BLOCK_TIMES } from "./person-actions.ts";
import type { PeopleDeps } from "./deps.ts";

interface Asking {
  readonly title: string;
  readonly effect: string;
  /** Target, as the record names it. */
  readonly target: string;
}

/** @param what name of the action @returns undefined: there is nothing to do it to, or this person may not */
export async function confirmPage(
  deps: PeopleDeps,
  visit: ConsoleRequest,
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
    text: `${effect} Target: ${showUntrusted(target)}. User: ${showUntrusted(person)}.`,
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
        title: "Revoke all access",
        effect:
          "Signs out all browsers, revokes all applications and disconnects all accounts. To prevent a new sign-in, block the user.",
        target: `all access of ${userId}`,
      };
    case "block":
      return {
        title: "Block user",
        effect:
          "Denies all requests of the user, their email and their clients, and closes open streams. Revokes nothing.",
        target: `user ${userId}`,
      };
    case "unblock":
      return {
        title: "Unblock",
        effect: "Existing sessions and grants work again.",
        target: `user ${userId}`,
      };
    default:
      return undefined;
  }
}
