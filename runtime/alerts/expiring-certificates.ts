/** Notifies of expiring listener certificates: when their renewal is overdue, and when they have expired. */
import { X509Certificate } from "node:crypto";

import type { Notify } from "../audit/events.ts";
import { namesOf } from "../features/listener/certificate.ts";
import { certificateTime } from "../features/listener/certificate-end.ts";
import type { HostCertificate } from "../features/listener/compiled.ts";
import type { Certificates } from "../http/listener/certificates.ts";
import type { Closable, Clock } from "../shared/clock.ts";
import { recur } from "../shared/timing/recurring.ts";

export interface ShownCertificates {
  readonly public: Pick<Certificates, "leaves"> | undefined;
  readonly admin: Pick<Certificates, "leaves"> | undefined;
  /** Certificates of owners. */
  readonly hosts: () => readonly HostCertificate[];
  /** By `acme`. */
  readonly automatic: () => readonly HostCertificate[];
}

const LOOK_EVERY_MS = 3_600_000;
const MAX_NAMES = 10;

export function startAlertingOnExpiry(shown: ShownCertificates, notify: Notify, clock: Clock): Closable {
  const check = (): void => alertOnExpiry(shown, notify, clock);
  const stopTimer = recur("check for expiring certificates", LOOK_EVERY_MS, check);
  check();
  return { close: async () => stopTimer() };
}

/** One check. */
export function alertOnExpiry(shown: ShownCertificates, notify: Notify, clock: Clock): void {
  const notifyOf = (leaf: X509Certificate, of: Readonly<Record<string, string>>): void => {
    const time = certificateTime(leaf, clock.now());
    if (time !== "ending" && time !== "ended") return;
    const names = namesOf(leaf).slice(0, MAX_NAMES);
    const ends = new Date(leaf.validTo).toISOString();
    const subject = JSON.stringify([leaf.fingerprint256, time, of]);
    notify({ type: "certificate.ending", subject, data: { ...of, names, ends, ended: time === "ended" } });
  };
  for (const leaf of shown.public?.leaves() ?? []) notifyOf(leaf, { listener: "public" });
  for (const leaf of shown.admin?.leaves() ?? []) notifyOf(leaf, { listener: "admin" });
  for (const { host, owner, certificate } of shown.hosts()) {
    // It was validated when it was activated.
    notifyOf(new X509Certificate(certificate), { listener: "public", host, owner });
  }
  for (const { host, certificate } of shown.automatic())
    notifyOf(new X509Certificate(certificate), { listener: "public", host });
}
