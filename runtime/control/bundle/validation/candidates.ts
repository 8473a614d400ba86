/** What of a slice to be published can only be validated with its secrets, which the validating thread has not. */
import { isRecord } from "../../../shared/is-record.ts";
import { HOST_CERTIFICATES } from "../../../features/listener/host-certificates.ts";
import { readOutline } from "../../../config/outline.ts";
import { routeFields } from "../../../config/route.ts";
import { secretUses } from "../../../settings/secret-spellings.ts";
import { settingsFields } from "../../../config/settings.ts";
import { canonicalJson } from "../../../shared/canonical-json.ts";
import { readSource } from "../../../settings/source.ts";
import type { CandidateCertificate, CandidateReport, PublishedSource } from "./protocol.ts";

/** Every reference, sealed text and certificate of a slice that was found good. */
export function candidateParts({ file, text }: PublishedSource): Pick<CandidateReport, "secrets" | "certificates"> {
  const { value } = readSource(file, text);
  if (!isRecord(value)) return { secrets: [], certificates: [] };
  const { owner, settings, settingsPath, routes } = readOutline(value, () => {});
  const uses = [
    ...secretUses(settingsFields, settings, settingsPath),
    ...routes.flatMap((route) => secretUses(routeFields, route.value, route.path)),
  ];
  const brought = isRecord(settings) ? settings[HOST_CERTIFICATES] : undefined;
  const certificates = Object.entries(isRecord(brought) ? brought : {}).map(([host, doc]): CandidateCertificate => {
    const path = [...settingsPath, HOST_CERTIFICATES, host];
    return { file, path, key: `${owner}/${host}`, owner, host, text: canonicalJson(doc) };
  });
  const secrets = uses.flatMap(({ path, form, values }) =>
    form === "plain" ? [] : [{ file, owner, path, form, values }],
  );
  return { secrets, certificates };
}
