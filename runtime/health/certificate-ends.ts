/** Expiry times of the listeners' certificates. Each is read once. */
import { X509Certificate } from "node:crypto";

import { namesOf } from "../features/listener/certificate.ts";
import { certificateTime } from "../features/listener/certificate-end.ts";
import type { HostCertificate } from "../features/listener/compiled.ts";
import type { Series } from "../admin-listener/series.ts";
import type { CertificateReport } from "./process-report.ts";

/** Thousands of owners may have certificates: the first ones get a metric, all get webhook events. */
const MAX_SERIES = 1_000;

export function certificateSeries(ends: () => readonly CertificateReport[]): Series {
  return {
    name: "gateway_certificate_expiry_timestamp_seconds",
    help: "Expiry time of each listener certificate (seconds since 1970), by listener, first name and the owner whose slice contains it.",
    type: "gauge",
    merge: "min",
    read() {
      const found = new Map<string, { readonly value: number; readonly labels: Record<string, string> }>();
      for (const { listener, names, owner = "", ends: value } of ends().slice(0, MAX_SERIES)) {
        const labels = { listener, name: names[0] ?? "", owner };
        const key = JSON.stringify(labels);
        if (value < (found.get(key)?.value ?? Infinity)) found.set(key, { value, labels });
      }
      return found.values();
    },
  };
}

export interface ShownLeaves {
  readonly public: readonly X509Certificate[];
  readonly admin: readonly X509Certificate[];
  /** Certificates of owners. */
  readonly hosts: readonly HostCertificate[];
  /** By `acme`. */
  readonly automatic: readonly HostCertificate[];
}

/** Slices per read; with thousands, later reads get the rest. */
const MAX_READ = 100;

export function createCertificateEnds(): (shown: ShownLeaves, nowMs: number) => readonly CertificateReport[] {
  const known = new WeakMap<HostCertificate, X509Certificate>();

  return (shown, nowMs) => {
    let left = MAX_READ;
    const found: CertificateReport[] = [];
    const add = (
      leaf: X509Certificate,
      listener: "public" | "admin",
      source: Pick<CertificateReport, "owner" | "isAutomatic"> = {},
    ): void => {
      const ends = Math.floor(Date.parse(leaf.validTo) / 1000);
      found.push({ listener, names: namesOf(leaf), ends, time: certificateTime(leaf, nowMs), ...source });
    };
    for (const leaf of shown.public) add(leaf, "public");
    for (const leaf of shown.admin) add(leaf, "admin");
    const read = (host: HostCertificate): X509Certificate | undefined => {
      let leaf = known.get(host);
      if (!leaf && left-- > 0) known.set(host, (leaf = new X509Certificate(host.certificate)));
      return leaf;
    };
    for (const host of shown.hosts) {
      const leaf = read(host);
      if (leaf) add(leaf, "public", { owner: host.owner });
    }
    for (const host of shown.automatic) {
      const leaf = read(host);
      if (leaf) add(leaf, "public", { isAutomatic: true });
    }
    return found;
  };
}
