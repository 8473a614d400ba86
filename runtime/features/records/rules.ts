/** Rules of the authorization log's settings. */
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import { decodeSharedSecret } from "../process/settings.ts";

/** As `sharedSecrets`: in plain text alone it can be validated here. */
export function* recordKey({ authorize_log_key: key }: { authorize_log_key?: string }): Iterable<UnplacedProblem> {
  if (key !== undefined && !decodeSharedSecret(key))
    yield errorAt(
      ["authorize_log_key"],
      "must be base64 of at least 32 bytes, make one with `openssl rand -base64 32`",
    );
}
