/** Rules between the settings of one source, feature by feature. */
import { acmeRules } from "../../features/listener/acme.ts";
import { developmentListeners, tlsListener, proxyHeaders } from "../../features/listener/rules.ts";
import { directoryRules } from "../../features/sign-in/directories.ts";
import { clientProofProblems, groupsResolver, openidScope } from "../../features/sign-in/rules.ts";
import { trustedIssuers } from "../../features/sign-in/trusted-issuers.ts";
import type { BootDoc, SettingsDoc } from "../settings.ts";
import { adminTokenRules } from "../../features/process/admin-tokens.ts";
import { publishWorkloadProblems } from "../../features/process/publish-workloads.ts";
import { vaultRules } from "../../features/process/vault.ts";
import { webhookRules } from "../../features/process/webhook.ts";
import { hostCertificateRules } from "../../features/listener/host-certificates.ts";
import { consoleRules } from "../../features/access/console.ts";
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import { sharedSecrets, tracingHeaders } from "../../features/process/rules.ts";
import { auditKey, recordKey } from "../../features/records/rules.ts";
import { recordStoreRules } from "../../features/records/record-store.ts";
import { auditPlaces, recordSinkRules } from "../../features/records/sinks.ts";

export function* settingsRules(settings: Partial<BootDoc & SettingsDoc>): Iterable<UnplacedProblem> {
  yield* openidScope(settings);
  yield* groupsResolver(settings);
  yield* clientProofProblems(settings, "idp_");
  yield* trustedIssuers(settings);
  yield* directoryRules(settings);
  yield* sharedSecrets(settings);
  yield* vaultRules(settings);
  yield* recordKey(settings);
  yield* auditKey(settings);
  yield* recordSinkRules(settings);
  yield* recordStoreRules(settings);
  yield* auditPlaces(settings);
  yield* adminTokenRules(settings);
  yield* publishWorkloadProblems(settings.owners);
  yield* developmentListeners(settings);
  yield* tlsListener(settings);
  yield* acmeRules(settings);
  yield* proxyHeaders(settings);
  yield* tracingHeaders(settings);
  yield* webhookRules(settings);
  yield* consoleRules(settings);
  yield* hostCertificateRules(settings.host_certificates ?? {});
  const { storage_url: storage = "memory:" } = settings;
  if (storage !== "memory:" && !/^(sqlite|postgres|postgresql):./.test(storage)) {
    yield errorAt(["storage_url"], 'must be "memory:" or start with "sqlite:" or "postgres://"');
  }
}
