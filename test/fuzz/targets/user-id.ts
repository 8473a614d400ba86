/** Users' ids made of subjects that issuers choose: two subjects are two users, of the provider that said so. */
import { parseUserId, providerNameOf, providerUserId, workloadUserId } from "../../../runtime/shared/user-id.ts";
import { must, mustEqual, utf8 } from "../oracle.ts";

export function fuzz(data: Uint8Array): void {
  const subject = utf8(data);
  const made = [
    [providerUserId(undefined, subject), { kind: "person", subject }, "default"],
    [providerUserId("okta", subject), { kind: "person", issuer: "okta", subject }, "okta"],
    [workloadUserId("ci", subject), { kind: "workload", issuer: "ci", subject }, ""],
  ] as const;
  for (const [result, parts, provider] of made) {
    if (!result.ok) continue;
    mustEqual(parseUserId(result.id) ?? null, parts, "read as another user");
    mustEqual(providerNameOf(result.id), provider, "of another provider");
  }
  const ids = made.flatMap(([result]) => (result.ok ? [result.id] : []));
  must(new Set(ids).size === ids.length, "one id for two users", ids);
  const known = parseUserId(subject);
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  must(!known || !/[\0-\x1f\x7f]/.test(subject), "an id with a control character", subject);
}
