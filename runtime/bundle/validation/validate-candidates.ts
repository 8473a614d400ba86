/**
 * Validates slices before they are published: together with the files and other published slices, off the event loop,
 * with the secrets they need.
 */
import { X509Certificate } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";

import { timeProblem } from "../../features/listener/certificate-end.ts";
import { compileHostCertificate } from "../../features/listener/compile-certificate.ts";
import type { HostCertificateDoc } from "../../features/listener/host-certificates.ts";
import type { Problem } from "../../settings/problem.ts";
import { errorText } from "../../shared/errors.ts";
import {
  publishedName,
  type CandidateReport,
  type PublishedSource,
  type PublishedSources,
  type SealedSlice,
} from "./protocol.ts";
import { recording } from "../build/recorded-secrets.ts";
import { readSecrets, type SecretDeps } from "../secrets.ts";
import type { Validator } from "./validator.ts";

export interface PublicationSlice {
  readonly owner: string;
  readonly digest: string;
  readonly text: string;
  /** Is to be published; all others already are. */
  readonly candidate: boolean;
}

export interface CandidateValidation {
  /**
   * Errors if the change must not be made: its slices would not become active unchanged, or other owners would lose
   * something. Owners already served from a previous slice are not reported.
   */
  readonly problems: readonly Problem[];
}

/** @param owners whose slices are to be published or removed @throws GatewayError if validation itself fails */
export type ValidateCandidates = (
  slices: readonly PublicationSlice[],
  owners: readonly string[],
) => Promise<CandidateValidation>;

/** Published slices as sources; equal keys mean equal slices. */
export function publishedSources(
  slices: readonly Pick<PublicationSlice, "owner" | "digest" | "text">[],
): PublishedSources {
  return {
    key: slices.map(({ owner, digest }) => `${owner}:${digest}`).join(" "),
    sources: slices.map(({ owner, text }): PublishedSource => ({ file: publishedName(owner), text, boot: false })),
  };
}

/**
 * @param secrets how this process reads secrets; others may have other environments, and report at load
 * @param kept previous slices of owners, for a validator that never loads
 */
export function createCandidateValidation(
  validator: Pick<Validator, "validate">,
  secrets: () => SecretDeps,
  kept?: () => Promise<readonly SealedSlice[]>,
): ValidateCandidates {
  return async (slices, owners) => {
    const found = await validator.validate(publishedSources(slices), owners, await kept?.());
    return { problems: [...found.problems, ...(await unusable(found, secrets()))] };
  };
}

/** A slice with unreadable or unsuitable secrets would be stored, then rejected by every process. */
async function unusable(
  { secrets: uses, certificates, files }: CandidateReport,
  deps: SecretDeps,
): Promise<readonly Problem[]> {
  const refs = uses.flatMap((use) => (use.form === "ref" ? use.values : []));
  const sealed = uses.flatMap((use) => (use.form === "sealed" ? use.values : []));
  const secrets = await readSecrets(
    { refs: [...new Set(refs)], sealed: [...new Set(sealed)], ...(files && { files }) },
    { ...deps, again: true },
  );
  const unreadable = uses.flatMap(({ file, owner, path, form, values }) =>
    values.flatMap((value): Problem[] => {
      const message = secretProblem(() => (form === "ref" ? secrets.resolve(value, owner) : secrets.open(value)));
      return message === undefined ? [] : [{ severity: "error", file, path, message }];
    }),
  );
  if (unreadable.length > 0) return unreadable;
  const problems: Problem[] = [];
  for (const { file, path, owner, host, text } of certificates) {
    try {
      const doc = JSON.parse(text) as HostCertificateDoc;
      const { certificate } = compileHostCertificate({ host, owner, doc }, recording(secrets, owner).source);
      // Only for new ones: a certificate that expires in use stays active and its expiry is reported.
      const problem = timeProblem(new X509Certificate(certificate), Date.now());
      if (problem !== undefined) throw new TypeError(problem);
    } catch (error) {
      const message = `cannot be used: ${errorText(error).replace(/^Cannot use .*?: /, "")}`;
      problems.push({ severity: "error", file, path, message });
    }
    // Each takes a third of a millisecond, and there may be a thousand.
    await nextTurn();
  }
  return problems;
}

function secretProblem(read: () => string): string | undefined {
  try {
    return read() === "" ? "names a secret that is empty" : undefined;
  } catch (error) {
    // "Cannot read secret …: the file does not exist" → the part after the colon.
    return `cannot be read by the gateway: ${errorText(error).replace(/^Cannot read .*?: /, "")}`;
  }
}
