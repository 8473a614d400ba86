/**
 * Compiles the checked certificates of slices for a snapshot. One with unchanged text and secrets is reused, and with
 * it what depends on it (a TLS context).
 */
import { setImmediate as nextTurn } from "node:timers/promises";

import { compileHostCertificate } from "../../features/listener/compile-certificate.ts";
import type { HostCertificate } from "../../features/listener/compiled.ts";
import {
  HOST_CERTIFICATES,
  hostCertificateFields,
  type HostCertificateDoc,
} from "../../features/listener/host-certificates.ts";
import type { Problem } from "../../settings/problem.ts";
import { type SecretSource, secretUses } from "../../settings/secret-forms.ts";
import { errorText } from "../../shared/errors.ts";
import type { CertificateText } from "../validation/protocol.ts";
import { compiledWith, recording, sameSecrets } from "./recorded-secrets.ts";
import { secretNeeds } from "./secret-needs.ts";
import type { BuildInput, BuildReport, CompiledCertificates, CompiledOne } from "./build-types.ts";

export interface CertificatesInput {
  readonly certificates: readonly CertificateText[];
  readonly secrets: BuildInput["secrets"];
  readonly fileOf: (owner: string) => string;
}

/** Each takes about a third of a millisecond. */
const CERTIFICATES_AT_ONCE = 8;

/** @returns the certificates that compiled; problems of the others are added to `into` */
export async function buildCertificates(
  { certificates, secrets: all, fileOf }: CertificatesInput,
  last: CompiledCertificates,
  { problems, failures, stale }: BuildReport,
): Promise<CompiledCertificates> {
  const built = new Map<string, CompiledOne>();
  let fresh = 0;
  for (const { key, owner, host, text } of certificates) {
    const known = last.get(key)?.text === text ? last.get(key) : undefined;
    if (known && sameSecrets(known.secrets, all)) {
      built.set(key, known);
      continue;
    }
    fresh += 1;
    if (fresh % CERTIFICATES_AT_ONCE === 0) await nextTurn();
    const doc = JSON.parse(text) as HostCertificateDoc;
    const compile = (source: SecretSource): HostCertificate => compileHostCertificate({ host, owner, doc }, source);
    try {
      const { source, secrets } = recording(all, owner);
      built.set(key, { text, certificate: compile(source), secrets });
    } catch (error) {
      const path = ["settings", HOST_CERTIFICATES, host];
      const problem: Problem = { severity: "error", file: fileOf(owner), path, message: errorText(error) };
      if (known && compiledWith(known.secrets, compile, all.over)) {
        stale.push({ owner, problem });
        built.set(key, known);
        continue;
      }
      problems.push(problem);
      const needs = secretNeeds(secretUses(hostCertificateFields, doc));
      failures.push({ key, text, message: problem.message, needs });
    }
  }
  return built;
}

/** Whether both builds have the same certificates. */
export function sameCertificates(one: CompiledCertificates, other: CompiledCertificates): boolean {
  return one.size === other.size && [...one].every(([key, each]) => other.get(key) === each);
}
