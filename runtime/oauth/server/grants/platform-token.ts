/** Platform tokens of workloads at endpoints of an issuer: verified, used once, and the end of access tokens for them. */
import type { Snapshot } from "../../../config/snapshot.ts";
import type { IssuerKeys } from "../../../issuers/issuer-keys.ts";
import { verifyWorkload, type Workload } from "../../../issuers/workload-token.ts";
import { type FailureLimit, networkOf } from "../../../shared/rate-limit.ts";
import type { Store } from "../../../store/store.ts";
import { pass, refuse, tooMany, type StepResult } from "../answer.ts";
import { workloadIssuers, type Issuer } from "../find-issuer.ts";
import { workloadAssertionKey } from "../grant-records.ts";
import { badAssertion } from "./id-jag-claims.ts";

/** The request that presents the token. */
export interface Presented {
  readonly snapshot: Snapshot;
  readonly issuer: Issuer;
  readonly peer: string;
  /** Epoch seconds. */
  readonly now: number;
}

/** @param paths of the issuer's endpoints that can be the token's audience, next to the issuer itself */
export async function verifyPresented(
  { issuerKeys, failedProofs }: { readonly issuerKeys: IssuerKeys; readonly failedProofs: FailureLimit },
  { snapshot, issuer, peer, now }: Presented,
  paths: readonly string[],
  token: string,
): Promise<StepResult<Workload>> {
  // Invalid tokens count against the peer, since verifying costs more than sending.
  const sender = `${networkOf(peer)} workload`;
  const waitSeconds = failedProofs.take(sender);
  if (waitSeconds > 0) return tooMany(waitSeconds, "too many invalid assertions from one peer");
  const { origin } = issuer;
  const audiences = [origin, `${origin}/`, ...paths.map((path) => origin + path)];
  const context = { entries: workloadIssuers(snapshot, issuer), audiences, now };
  const verified = await verifyWorkload(issuerKeys, context, token);
  if (verified.ok || verified.reason !== "bad") failedProofs.giveBack(sender);
  if (verified.ok) return pass(verified.workload);
  return verified.reason === "bad"
    ? badAssertion(verified.detail, "workload")
    : refuse("temporarily_unavailable", "Please try again later", `workload: ${verified.detail}`);
}

/** Notes the use of a token, which must be new if its platform issues one for each use. */
export async function useOnce(
  store: Pick<Store, "put">,
  { entry, hash, expiresAt }: Pick<Workload, "entry" | "hash" | "expiresAt">,
): Promise<StepResult<undefined>> {
  if (entry.allowsReplay) return pass(undefined);
  const noted = await store.put(workloadAssertionKey(hash), { schema: 1 }, { ifVersion: 0, expiresAt: expiresAt + 1 });
  return noted.ok ? pass(undefined) : badAssertion("used before", "workload");
}

/** Epoch seconds: latest end of an access token for this token. */
export function latestEnd(
  { snapshot, now }: Pick<Presented, "snapshot" | "now">,
  { entry, expiresAt }: Pick<Workload, "entry" | "expiresAt">,
): number {
  const longest = snapshot.settings.lifetimes.accessToken;
  return Math.min(now + Math.min(longest, entry.maxTokenLifetimeSeconds ?? longest), expiresAt);
}
