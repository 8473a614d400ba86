/**
 * Jobs at the admin listener: matches a platform's token with `publish_workloads` in the main configuration file.
 *
 * Untrusted input: the token. Promise: it is valid for publish tokens of these owners and for nothing else here.
 */
import { matchesClaims } from "../features/sign-in/claim-rules.ts";
import type { ProcessSettings } from "../features/process/compiled.ts";
import { createSafeFetch } from "../http/fetch/safe-fetch.ts";
import { createIssuerKeys } from "../issuers/issuer-keys.ts";
import { readUnverified } from "../issuers/read-unverified.ts";
import { verifyPlatformToken } from "../issuers/workload-token.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import type { Log } from "../shared/log.ts";

/** Permission to issue tokens for an entry of `owners`. */
export interface WorkloadRight {
  readonly entry: string;
  /** "team-a/deploy": entry of `owners`, and name of the workload there. */
  readonly name: string;
  /** Stored in records of issued tokens instead of a token's hash. */
  readonly by: string;
}

export interface PublishWorkloads {
  /** All configured rights. */
  readonly rights: readonly WorkloadRight[];
  /** @returns [] for an unknown token */
  find(token: string): Promise<readonly WorkloadRight[] | "unavailable">;
}

export interface PublishWorkloadDeps {
  readonly clock: Clock;
  readonly log: Log;
}

/** A job's token is valid for an hour at most, like issued tokens. */
const MAX_AGE_SECONDS = 3600;

export function createPublishWorkloads(
  { publishWorkloads, development }: Pick<ProcessSettings, "publishWorkloads" | "development">,
  { clock, log }: PublishWorkloadDeps,
): PublishWorkloads {
  const keys = createIssuerKeys({ fetch: createSafeFetch({ development }), clock, log });
  const known = publishWorkloads.map(({ name: own, entry, ...rest }) => {
    const name = `${entry}/${own}`;
    return { ...rest, name, right: { entry, name, by: rest.digest } };
  });
  return {
    rights: known.map(({ right }) => right),
    async find(token) {
      const issuer = readUnverified(token)?.issuer;
      const found: WorkloadRight[] = [];
      for (const workload of known) {
        if (issuer === undefined || (await keys.issuerOf(workload)) !== issuer) continue;
        const terms = { audiences: [workload.audience], maxAgeSeconds: MAX_AGE_SECONDS, now: epochSeconds(clock) };
        const verified = await verifyPlatformToken(keys, [workload], token, () => terms);
        if (!verified.ok && verified.reason === "unavailable") return "unavailable";
        if (verified.ok && matchesClaims(workload.claims, verified.claims)) found.push(workload.right);
        else
          log.info(
            { workload: workload.name, reason: verified.ok ? "other claims" : verified.detail },
            "workload token rejected",
          );
      }
      return found;
    },
  };
}
