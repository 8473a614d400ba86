/**
 * A form that waits while its person signs in again: sealed, in the address that they come back to.
 *
 * Promise: it does nothing by itself. The page at that address shows what was chosen, with a form that has to be sent anew.
 */
import { isReturnPath } from "../identity/sign-in/sign-in.ts";
import type { Principal } from "../identity/principal.ts";
import type { Clock } from "../shared/clock.ts";
import type { Keys } from "../shared/keys.ts";

/** Of the address. */
export const SAVED_FORM_PARAMETER = "again";

export interface SavedForms {
  /** @returns path and query to come back to; without the form where it is too long for an address */
  seal(path: string, principal: Principal, form: ReadonlyMap<string, string>): string;
  /** @returns undefined when it is not this user's or not of this page, or too old; empty where it was too long */
  open(sealed: string, path: string, principal: Principal): ReadonlyMap<string, string> | undefined;
}

const MINUTES = 20;

export function createSavedForms(deps: { readonly keys: Keys; readonly clock: Clock }): SavedForms {
  const sealer = deps.keys.sealer("console");
  const address = (path: string, principal: Principal, entries: readonly (readonly [string, string])[]): string => {
    const text = JSON.stringify([deps.clock.now() + MINUTES * 60_000, entries]);
    return `${path}?${SAVED_FORM_PARAMETER}=${sealer.seal(text, aad(path, principal))}`;
  };
  return {
    seal(path, principal, form) {
      const entries = [...form].filter(([name]) => name !== "csrf_token");
      const whole = address(path, principal, entries);
      return isReturnPath(whole) ? whole : address(path, principal, []);
    },
    open(sealed, path, principal) {
      const opened = sealer.open(sealed, aad(path, principal));
      if (!opened) return undefined;
      const [endsAtMs, entries] = JSON.parse(opened.toString()) as [number, [string, string][]];
      return endsAtMs > deps.clock.now() ? new Map(entries) : undefined;
    },
  };
}

/** Of the user, since the session may be another one afterwards. */
function aad(path: string, { user }: Principal): string {
  return `form ${path} ${user.id}`;
}
