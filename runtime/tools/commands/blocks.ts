/**
 * `gateway block`, `gateway unblock`: the emergency brake. A block denies its target, whatever policies allow, until it
 * is lifted or expires. It ends nothing, so that everything works as before afterwards.
 */
import { userInfo } from "node:os";

import { createPublishedSlices } from "../../bundle/published.ts";
import {
  blockTarget,
  endText,
  readReason,
  readTarget,
  readUntil,
  textOf,
  unblockTarget,
} from "../../administration/blocking.ts";
import type { BlockTarget } from "../../policy/blocks.ts";
import { listServiceAccounts, serviceAccountUser } from "../../identity/tokens/service-accounts.ts";
import { withAdministration, type Administration } from "./administration.ts";
import { printError, printLine } from "./output.ts";

export interface UnblockOptions {
  readonly config: string;
  /** Key of the one route on which the tool is blocked. */
  readonly route?: string;
}

export interface BlockOptions extends UnblockOptions {
  /** A time with its zone, or a duration from now. */
  readonly until?: string;
  readonly reason?: string;
}

/** @returns exit code */
export function block(kind: string, name: string, options: BlockOptions): Promise<number> {
  const target = readTarget(kind, name, options.route);
  const reason = readReason(options.reason ?? "");
  return withAdministration(options.config, async (administration) => {
    const until = options.until === undefined ? undefined : readUntil(options.until, administration.clock);
    for (const named of await blockTarget(administration, target, { reason, until, by: userName() })) {
      const unknown = await unknownText(administration, named);
      if (unknown !== undefined) printError(`Note: ${unknown}; it is blocked anyway`);
      printLine(`${textOf(named)} blocked ${endText(until)}, in every process within 2 s`);
    }
    return 0;
  });
}

/** @returns exit code; 1 when it is not blocked */
export function unblock(kind: string, name: string, options: UnblockOptions): Promise<number> {
  const target = readTarget(kind, name, options.route);
  return withAdministration(options.config, async (administration) => {
    if ((await unblockTarget(administration, target)).length === 0) {
      printError(`${textOf(target)} is not blocked`);
      return 1;
    }
    printLine(`${textOf(target)} no longer blocked, in every process within 2 s`);
    return 0;
  });
}

/** Warns of a possible typing error: no target of this name is known. */
async function unknownText(administration: Administration, target: BlockTarget): Promise<string | undefined> {
  const { kind, name, route } = target;
  const isKnown = await {
    user: () => isKnownUser(administration, name),
    client: async () => name.startsWith("https://") || (await administration.store.get(`client:${name}`)) !== undefined,
    grant: async () => (await administration.store.get(`grant:${name}`)) !== undefined,
    run: async () => (await administration.store.get(`run:${name}`)) !== undefined,
    route: () => isKnownRoute(administration, name),
    tool: () => (route === undefined ? Promise.resolve(true) : isKnownRoute(administration, route)),
  }[kind]();
  if (isKnown) return undefined;
  return kind === "tool" ? `no route ${JSON.stringify(route)} is known here` : `no ${textOf(target)} is known here`;
}

async function isKnownUser({ store }: Administration, name: string): Promise<boolean> {
  if (await store.get(`identity:${name}`)) return true;
  return (await listServiceAccounts(store)).some(({ value }) => serviceAccountUser(value).id === name);
}

/** In the files, or published. */
async function isKnownRoute({ store, config }: Administration, key: string): Promise<boolean> {
  if (config.routes.some((route) => route.key === key)) return true;
  const { slices } = await createPublishedSlices({ store }).read();
  return slices.some(({ owner, text }) => {
    if (!key.startsWith(`${owner}/`)) return false;
    try {
      const { routes } = JSON.parse(text) as { routes?: object };
      return Object.hasOwn(routes ?? {}, key.slice(owner.length + 1));
    } catch {
      return false;
    }
  });
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no name.
    return "";
  }
}
