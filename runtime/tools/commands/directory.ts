/**
 * `gateway directory …`: data from a company's directory. It reads, and erases a directory that is no longer in the
 * configuration; all other changes come from the provider.
 */
import { createDirectoryRecords } from "../../directories/directories.ts";
import { inParallel } from "../../directories/members.ts";
import { isActive } from "../../directories/people.ts";
import {
  directoryPrefixes,
  type ResourceKind,
  resourcePrefix,
  type ResourceRecord,
} from "../../directories/records.ts";
import type { AttributeObject } from "../../directories/scim/attributes.ts";
import { GatewayError } from "../../shared/errors.ts";
import { isIssuerName } from "../../shared/user-id.ts";
import { everyPage } from "../../store/page-of.ts";
import { type Administration, withAdministration } from "./administration.ts";
import { timeText } from "../../shared/clock.ts";
import { printError, printLine, printRows } from "./output.ts";

export interface DirectoryOptions {
  readonly config: string;
  readonly json?: boolean;
}

export interface DirectoryGroupOptions extends DirectoryOptions {
  /** Only entries of this user: user name, external ID or the directory's ID. */
  readonly user?: string;
}

const PAGE = 500;

/** For all directories of the configuration, or the named ones. @returns exit code */
export function printDirectoryStatus(named: readonly string[], options: DirectoryOptions): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const configured = Object.keys(administration.config.settings.directories ?? {});
    const rows = [];
    for (const directory of named.length === 0 ? configured : named) {
      const users = await count(administration, "user", directory);
      const groups = await count(administration, "group", directory);
      const changedAt = Math.max(users.changedAt, groups.changedAt);
      rows.push({
        directory,
        users: users.total,
        active: users.active,
        groups: groups.total,
        changed: changedAt === 0 ? "never" : timeText(Math.floor(changedAt / 1000)),
      });
    }
    printRows(rows, options.json === true, "no directory is configured");
    return 0;
  });
}

/** @returns exit code */
export function printDirectoryUsers(directory: string, options: DirectoryOptions): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const rows = [];
    for await (const { id, attributes, changedAt } of all(administration, "user", directory)) {
      rows.push({
        id,
        name: textOf(attributes, "userName"),
        external: textOf(attributes, "externalId"),
        active: isActive(attributes) ? "yes" : "no",
        changed: timeText(Math.floor(changedAt / 1000)),
      });
    }
    printRows(rows, options.json === true, `no user is in ${directory}`);
    return 0;
  });
}

/** @returns exit code; 1 when the user does not exist */
export function printDirectoryGroups(directory: string, options: DirectoryGroupOptions): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const { users, groups, members } = createDirectoryRecords(administration);
    const rowOf = ({ id, attributes, changedAt }: ResourceRecord & { readonly id: string }) => ({
      id,
      name: textOf(attributes, "displayName"),
      external: textOf(attributes, "externalId"),
      changed: timeText(Math.floor(changedAt / 1000)),
    });
    const rows = [];
    if (options.user === undefined) {
      for await (const group of all(administration, "group", directory)) rows.push(rowOf(group));
    } else {
      const user =
        (await users.find(directory, "userName", options.user)) ??
        (await users.find(directory, "externalId", options.user)) ??
        (await users.get(directory, options.user));
      if (!user) {
        printError(`There is no user ${JSON.stringify(options.user)} in ${directory}`);
        return 1;
      }
      for (const id of await members.groupsOf(directory, user.id)) {
        const group = await groups.get(directory, id);
        if (group) rows.push(rowOf(group));
      }
    }
    printRows(rows, options.json === true, "no group");
    return 0;
  });
}

/** @returns exit code; 1 when there is no data, or the configuration still has the directory */
export function forgetDirectory(directory: string, { config }: DirectoryOptions): Promise<number> {
  return withAdministration(config, async ({ config: { settings }, store, record }) => {
    checkName(directory);
    if (settings.directories?.[directory] !== undefined) {
      printError(`${directory} is in the configuration: remove it there first, or its provider fills it again`);
      return 1;
    }
    let deleted = 0;
    for (const prefix of directoryPrefixes(directory)) {
      for await (const records of everyPage(store, prefix, PAGE)) {
        await inParallel(records, async ({ key }) => void (await store.delete(key)));
        deleted += records.length;
      }
    }
    if (deleted === 0) {
      printError(`No data of ${directory} is stored`);
      return 1;
    }
    await record({ action: "forget", target: `directory ${directory}`, after: null });
    printLine(`${deleted} records of users, groups, memberships and names of ${directory} deleted`);
    return 0;
  });
}

function textOf(attributes: AttributeObject, name: string): string | undefined {
  const text = attributes[name];
  return typeof text === "string" ? text : undefined;
}

async function count(administration: Administration, kind: ResourceKind, directory: string) {
  let total = 0;
  let active = 0;
  let changedAt = 0;
  for await (const resource of all(administration, kind, directory)) {
    total += 1;
    if (isActive(resource.attributes)) active += 1;
    changedAt = Math.max(changedAt, resource.changedAt);
  }
  return { total, active, changedAt };
}

/** @throws GatewayError `commands.directory` */
function checkName(directory: string): void {
  if (isIssuerName(directory)) return;
  throw new GatewayError(
    "commands.directory",
    `Cannot read directory ${JSON.stringify(directory)}: no directory has this name`,
  );
}

async function* all(
  { store }: Administration,
  kind: ResourceKind,
  directory: string,
): AsyncIterable<ResourceRecord & { readonly id: string }> {
  checkName(directory);
  const prefix = resourcePrefix(kind, directory);
  for await (const records of everyPage<ResourceRecord>(store, prefix, PAGE))
    for (const { key, value } of records) yield { ...value, id: key.slice(prefix.length) };
}
