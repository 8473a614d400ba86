/**
 * The records of a gateway, opened from outside: the basis of the administrator's commands.
 *
 * Trusted input: the main configuration file, which names the store and the shared secret. Promise: every running
 * process learns of an ended session or grant within 2 s, through the same feed as from each other.
 */
import { problemsText } from "../../config/surfaces/documentation.ts";
import { hostname, userInfo } from "node:os";

import type { AdminAction } from "../../audit/action-record.ts";
import type { PublishTokens } from "../../administration/publish-tokens.ts";
import { createMintedTokens } from "../../admin-listener/minted-tokens.ts";
import { queueAction } from "../../records/actions.ts";
import type { BootSettings } from "../../config/compiled.ts";
import { resolveBoot } from "../../bundle/boot.ts";
import { readSources } from "../../bundle/sources.ts";
import { loadSlices, type CheckedConfig } from "../../config/load.ts";
import { lowerAscii } from "../../shared/ascii.ts";
import { GatewayError } from "../../shared/errors.ts";
import { createKeys } from "../../shared/keys.ts";
import { silentLog, type Log } from "../../shared/log.ts";
import { systemClock, type Clock } from "../../shared/clock.ts";
import { isNamedByEmail } from "../../shared/user-id.ts";
import { openRecords } from "../../record-kinds.ts";
import { createExternalTokens, type ExternalTokens } from "../../identity/external-token.ts";
import { userTag, type IdentityRecord } from "../../identity/identity-records.ts";
import { emailsOf } from "../../identity/users/emails-of.ts";
import { createRevocations, REMEMBERED_SECONDS } from "../../identity/revocations.ts";
import type { Revocations } from "../../identity/interfaces.ts";
import type { Store } from "../../store/store.ts";

export interface Administration {
  readonly store: Store;
  readonly revocations: Revocations;
  readonly externalTokens: ExternalTokens;
  readonly publishTokens: PublishTokens;
  readonly clock: Clock;
  readonly log: Log;
  /** Settings and routes of the files, as far as they are valid; published slices are not read. */
  readonly config: CheckedConfig;
  /** Records a finished action for the audit. Does nothing without an audit in the configuration. */
  readonly record: (action: Omit<AdminAction, "by">) => Promise<void>;
  /** The same. @returns the ID of its record; undefined: not recorded */
  readonly recordAs: (action: Omit<AdminAction, "by">) => Promise<string | undefined>;
  readonly boot: BootSettings;
}

/** @throws GatewayError `config.invalid`, `commands.memory`, `store.open` */
export async function withAdministration<T>(
  configPath: string,
  work: (administration: Administration) => Promise<T>,
): Promise<T> {
  const sources = await readSources([configPath]);
  // An invalid slice must not prevent an administrator from ending a session.
  const all = loadSlices(sources);
  const outcome = all.config ? all : loadSlices(sources.filter(({ boot }) => boot));
  if (!outcome.config) throw new GatewayError("config.invalid", problemsText(outcome.problems));
  const { config } = outcome;
  const { settings: boot } = await resolveBoot(config.boot, { env: process.env });
  if (boot.storageUrl === "memory:") {
    throw new GatewayError(
      "commands.memory",
      'Cannot open store "memory:": only the running process has its records; set storage_url to a database',
    );
  }
  const clock = systemClock;
  const log = silentLog();
  const store = await openRecords(boot.storageUrl, { clock, log });
  const revocations = createRevocations({ store, clock, log, longestLifetime: () => REMEMBERED_SECONDS });
  const publishTokens = createMintedTokens({ store, clock });
  const externalTokens = createExternalTokens({ keys: createKeys(boot.sharedSecrets), clock });
  const recordAs = async (action: Omit<AdminAction, "by">): Promise<string | undefined> => {
    if (!boot.audit && !boot.console) return undefined;
    return queueAction({ store, clock }, { ...action, by: commandUser() });
  };
  const record = async (action: Omit<AdminAction, "by">): Promise<void> => void (await recordAs(action));
  try {
    return await work({
      store,
      revocations,
      externalTokens,
      publishTokens,
      clock,
      log,
      config,
      record,
      recordAs,
      boot,
    });
  } finally {
    await revocations.close();
    await store.close();
  }
}

/** User of the command line: "root@host". */
export function commandUser(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A container may run as a user without a name.
    return `${process.getuid?.() ?? "unknown"}@${hostname()}`;
  }
}

/** The records of one user given by ID, or of all users with an email address; all of them without a name. */
export async function onlyOf<T>(
  store: Store,
  named: string | undefined,
  all: readonly T[],
  ownerOf: (each: T) => string,
): Promise<readonly T[]> {
  if (named === undefined) return all;
  const userIds = await findUserIds(store, named, all.map(ownerOf));
  return all.filter((each) => userIds.has(ownerOf(each)));
}

/** By ID, or by email among the owners of these records: two issuers may both have a user with one address. */
async function findUserIds(store: Store, named: string, userIds: readonly string[]): Promise<ReadonlySet<string>> {
  const known = await store.list<IdentityRecord>(userTag(named));
  if (known.length > 0 || !isNamedByEmail(named)) return new Set([named]);
  const address = lowerAscii(named);
  return new Set(
    [...(await emailsOf(store, userIds))].flatMap(([id, email]) => (lowerAscii(email) === address ? [id] : [])),
  );
}
