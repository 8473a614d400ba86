/** Certificates of slices: rules between slices, and with the main configuration file. */
import type { BootDoc } from "../settings.ts";
import { warningAt, errorAt, type UnplacedProblem, type ValuePath } from "../../settings/problem.ts";
import type { ReadSlice } from "../read-slice.ts";

/** If two owners have a certificate for one host, the older one wins. */
export function validateHostCertificates(slices: readonly ReadSlice[]): void {
  const byHost = new Map<string, { readonly slice: ReadSlice; readonly path: ValuePath }>();
  for (const slice of slices) {
    for (const { host, path } of slice.certificates) {
      const first = byHost.get(host);
      if (!first) byHost.set(host, { slice, path });
      else {
        const message = `is a certificate for this host, for which ${first.slice.source.file} has one too`;
        slice.report({ ...errorAt(path, message), rivals: [{ file: first.slice.source.file, path: first.path }] });
      }
    }
  }
}

/** Rules that depend on the main configuration file and the owner's routes. */
export function* hostCertificateProblems(
  slice: ReadSlice,
  boot: BootDoc,
  slices: readonly ReadSlice[],
): Iterable<UnplacedProblem> {
  if (slice.certificates.length === 0) return;
  const own = slices.filter(({ owner }) => owner === slice.owner).flatMap(({ routes }) => routes);
  const hosts = new Set(own.flatMap(({ from }) => (from ? [from.hostname] : [])));
  for (const { host, path } of slice.certificates) {
    if (!hosts.has(host)) yield errorAt(path, `is for a host that no route of owner "${slice.owner}" has in "from"`);
    if (boot.insecure_server === true) {
      yield warningAt(path, 'is never shown: with "insecure_server" the listener speaks plain HTTP');
    }
  }
}
