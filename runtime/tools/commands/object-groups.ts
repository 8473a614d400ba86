/**
 * Commands for kinds of stored objects (`administration/kinds/`) that `program.ts` does not describe itself.
 *
 * The descriptions import most of the gateway's code, so this file is loaded only if no other command matched.
 */
import type { Command } from "commander";

import { KINDS } from "../../administration/kinds.ts";
import { revokeObjects, type ListOptions } from "./objects.ts";
import { onRecords, readCommands, USER } from "./program.ts";

/** @param exit receives the exit code of the command */
export function addObjectGroups(program: Command, exit: (code: number) => void): void {
  const named = new Set(program.commands.map((command) => command.name()));
  for (const { name: kind, command, doc, filters, actions } of KINDS) {
    const [name = ""] = command.split(" ");
    if (named.has(name)) continue;
    const group = program.command(name).description(doc);
    const list = readCommands(group, kind, exit);
    if (filters.includes("user")) list.option(...USER);
    if (!actions.some(({ path }) => path === "end")) continue;
    const end = onRecords(group, "revoke", "Delete or revoke them").argument("<id...>");
    end.action(async (ids: string[], options: ListOptions) => exit(await revokeObjects(kind, ids, options)));
  }
}
