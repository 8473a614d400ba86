/** Ids of users, as sign-in makes them. */
import { providerUserId, type UserId } from "../../runtime/shared/user-id.ts";

/** @param issuer absent: the first provider */
export function userId(subject: string, issuer?: string): UserId {
  const made = providerUserId(issuer, subject);
  if (!made.ok) throw new Error(`Cannot make a user of ${JSON.stringify(subject)}: it ${made.problem}`);
  return made.id;
}
