/** `gateway sessions revoke` and `gateway grants revoke`. */
import { GRANT } from "../../administration/kinds/grant.ts";
import type { Kind } from "../../administration/kind.ts";
import { SESSION } from "../../administration/kinds/session.ts";
import { withAdministration, type Administration } from "./administration.ts";
import { endNamed, thingsOf, type ListOptions } from "./objects.ts";
import { printError, printLine } from "./output.ts";

export interface RevokeOptions extends ListOptions {
  readonly all?: boolean;
}

/** @returns exit code; 1 when there was nothing to revoke */
export function revokeSessions(ids: readonly string[], options: RevokeOptions): Promise<number> {
  return revoke(SESSION, ids, options);
}

/** Revokes grants and erases their remembered consents. @returns exit code; 1 when there was nothing to revoke */
export function revokeGrants(ids: readonly string[], options: RevokeOptions): Promise<number> {
  return revoke(GRANT, ids, options);
}

/** The named ones, or all that the options select; never everything by omission. */
function revoke<T extends object, S>(
  kind: Kind<T, Administration, S>,
  ids: readonly string[],
  options: RevokeOptions,
): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const isChosen = options.user !== undefined || options.client !== undefined || options.all === true;
    if (ids.length > 0 === isChosen) {
      const client = kind.filters.includes("client_id") ? ", --client" : "";
      printError(`Cannot choose what to revoke: give IDs, or --user${client} or --all`);
      return 2;
    }
    const chosen =
      ids.length > 0 ? ids : (await thingsOf(kind, administration, options)).map((thing) => kind.idOf(thing));
    const count = await endNamed(kind, administration, chosen);
    printLine(`${count} ${kind.name}${count === 1 ? "" : "s"} ended`);
    return count === chosen.length && count > 0 ? 0 : 1;
  });
}
