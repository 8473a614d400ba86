/** The caller of a request that lasts: what goes to members after a wait is decided with the user's current groups and claims. */
import type { CurrentPrincipal } from "../../identity/current-principal.ts";
import type { RequestContext } from "../request-context.ts";

/** @returns false if the user no longer exists. While that is unknown, the limits of the credential still apply. Never rejects. */
export async function renewCaller(current: CurrentPrincipal | undefined, context: RequestContext): Promise<boolean> {
  const { principal } = context;
  if (!current || !principal) return true;
  const found = await current(principal).catch(() => principal);
  if (found === undefined) return false;
  if (found !== principal) {
    const { devices: _earlier, ...others } = principal;
    context.principal = { ...others, user: found.user, ...(found.devices && { devices: found.devices }) };
  }
  return true;
}
