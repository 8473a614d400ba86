/** Erases the records about a user from the store, from outside the process that writes them. */
import { type UserNames, isAboutUser } from "../audit/about-user.ts";
import { lowerAscii } from "../shared/ascii.ts";
import { GatewayError } from "../shared/errors.ts";
import { BackEndError, type RecordStoreOptions } from "./back-end.ts";
import { forgetInPostgres } from "./postgres/postgres-forget.ts";
import { nameNumber } from "./row.ts";
import { forgetInFile } from "./sqlite/sqlite-forget.ts";
import type { Forgetting } from "./forgetting.ts";
import { parseObject } from "../shared/is-record.ts";

/** @returns number of erased records @throws GatewayError `records.unavailable` */
export async function forgetRecords({ place }: Pick<RecordStoreOptions, "place">, names: UserNames): Promise<number> {
  try {
    const forgetting = forgettingOf(names);
    return await (place.kind === "postgres"
      ? forgetInPostgres(place.url, forgetting)
      : forgetInFile(place.path, forgetting));
  } catch (error) {
    if (!(error instanceof BackEndError)) throw error;
    const message = `Cannot forget a user in the record store: ${error.message}`;
    throw new GatewayError("records.unavailable", message, { cause: error });
  }
}

function forgettingOf(names: UserNames): Forgetting {
  const usr = names.ids.map(nameNumber);
  const mail = names.emails.map((email) => nameNumber(lowerAscii(email)));
  // Users who approved or denied another user's call.
  const by = names.ids.map((id) => `"by":${JSON.stringify(id)}`);
  const places = (values: readonly unknown[]): string => values.map(() => "?").join(", ");
  return {
    // Administrative actions are few, and checked completely.
    condition: (contains) =>
      [
        ...(usr.length > 0 ? [`f.usr IN (${places(usr)})`] : []),
        ...(mail.length > 0 ? [`f.mail IN (${places(mail)})`] : []),
        "f.kind IS NOT NULL",
        ...by.map(() => contains("t.value")),
      ].join(" OR "),
    values: [...usr, ...mail, ...by],
    isAbout(text) {
      const value = parseObject(text);
      return value !== undefined && isAboutUser(value, names);
    },
  };
}
