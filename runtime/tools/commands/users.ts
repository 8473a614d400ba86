/** `gateway users forget`: ends all access of a user, and erases the data about them. */
import { createHmac } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import { AUDIT_KEY_NAME } from "../../audit/chain/checkpoint.ts";
import { createNoteSigner } from "../../audit/chain/signed-note.ts";
import { storedFacts } from "../../identity/claims-record.ts";
import { listDevices, removeDevice } from "../../identity/devices/devices.ts";
import { savedViewsKey } from "../../administration/saved-views.ts";
import { draftsTag } from "../../simulation/draft-records.ts";
import { createRecords, userTag } from "../../identity/identity-records.ts";
import { idsOfEmail } from "../../identity/users/ids-of-email.ts";
import { forgetRecords } from "../../record-store/forget.ts";
import { recordPlace } from "../../record-store/options.ts";
import { createKeys } from "../../shared/keys.ts";
import { isNamedByEmail } from "../../shared/user-id.ts";
import { type Administration, withAdministration } from "./administration.ts";
import { checkErasable, eraseLines } from "./erase-lines.ts";
import { printLine } from "./output.ts";

export interface ForgetOptions {
  readonly config: string;
  /** Rotated files of records, in which the user's records are erased. */
  readonly records?: readonly string[];
}

/** Until every process knows that their access has ended, and has stored earlier records. */
const SETTLE_MS = 3_000;
const IDENTITY = "identity:";

/** @param named id or email @returns exit code @throws GatewayError `commands.records`, `store.unavailable`, `records.unavailable` */
export function forgetUser(named: string, { config, records = [] }: ForgetOptions): Promise<number> {
  return withAdministration(config, async (administration) => {
    const { boot, store, recordAs } = administration;
    for (const file of records) await checkErasable(file, boot.authorizeLog);
    const place = boot.recordStore && recordPlace(boot.recordStore.storageUrl, boot.storageUrl);
    const ids = await userIdsOf(administration, named);
    const emails = new Set(isNamedByEmail(named) ? [named] : []);
    const keys = createKeys(boot.sharedSecrets);
    const [digestKey] = keys.derive("forgotten-user");
    // The record of the erasure must not name the user; the digest shows later whether it was this one.
    const digest = createHmac("sha256", digestKey as Buffer)
      .update(ids[0] ?? named)
      .digest("base64url")
      .slice(0, 22);
    let ended = 0;
    for (const id of ids) {
      const identity = await createRecords(store).identities.get(id);
      const email = identity && storedFacts(identity.value).email;
      if (email !== undefined && email !== "") emails.add(email);
      ended += (await store.list(userTag(id))).length;
      for (const device of await listDevices({ store }, id)) await removeDevice(administration, device);
      await administration.revocations.revoke(userTag(id));
      for (const { key } of await store.list(userTag(id))) if (!key.startsWith(IDENTITY)) await store.delete(key);
      await store.deleteByTag(draftsTag(id));
      await store.delete(savedViewsKey(id));
    }
    printLine(`${ended} records of sessions, grants, connections, devices and approvals ended and deleted`);
    const actionId = (await recordAs({ action: "forget", target: `user ${digest}`, after: null })) ?? digest;
    const names = { ids, emails: [...emails] };
    if (place?.kind === "sqlite" && place.isTemporary) {
      printLine("records in the memory of gateways are deleted at their restart");
    } else if (place) {
      await delay(SETTLE_MS);
      printLine(`${await forgetRecords({ place }, names)} records deleted from the record store`);
    }
    const [seed] = keys.derive("audit-signing");
    const signer = createNoteSigner(AUDIT_KEY_NAME, seed as Buffer);
    for (const file of records) {
      printLine(`${file}: ${await eraseLines(file, { names, actionId, signer })} lines erased`);
    }
    // Last of all: only these records link the user's IDs and addresses, which the next run needs if this one fails.
    for (const id of ids) await store.deleteByTag(userTag(id));
    printLine(`deleted as ${actionId}, ${digest}`);
    return 0;
  });
}

/** By ID, or by email: the IDs at all issuers that have a user with it. */
async function userIdsOf({ store }: Administration, named: string): Promise<readonly string[]> {
  if (!isNamedByEmail(named) || (await store.list(userTag(named))).length > 0) return [named];
  return idsOfEmail(store, named);
}
