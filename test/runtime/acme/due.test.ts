/** Which hosts get certificates, when they are renewed, and how failures delay the next order. */
import { X509Certificate } from "node:crypto";

import { expect, test } from "vitest";
import { stringify } from "yaml";

import { byUrgency, dueOf, failedRecord, isPaused, pauseOf } from "../../../runtime/acme/due.ts";
import type { HostRecord } from "../../../runtime/acme/records.ts";
import { certificateId, nextCheck, renewalTime, suggestedTime } from "../../../runtime/acme/renewal.ts";
import type { KnownHost } from "../../../runtime/acme/shared-state.ts";
import { wantedHosts } from "../../../runtime/acme/wanted-hosts.ts";
import { makeTestCertificate } from "../../support/certificates.ts";
import { bootFrom, snapshotFrom } from "../../support/config.ts";

const DIRECTORY = "https://ca.example/directory";
const { cert, key } = makeTestCertificate({ name: "a.example", dns: ["a.example"] });
const leaf = new X509Certificate(cert);
const used = { certificate: { host: "a.example", owner: "", certificate: cert, key }, leaf };

const known = (record: Partial<HostRecord>, more: Partial<KnownHost> = {}): KnownHost => ({
  record: { failures: 0, directory: DIRECTORY, ...record },
  version: 1,
  isOldSeal: false,
  used,
  ...more,
});

test.each<[string, KnownHost | undefined, string | undefined]>([
  ["an unknown host", undefined, "order"],
  ["a certificate before its renewal", known({ renewAt: 2000 }), undefined],
  ["a certificate at its renewal", known({ renewAt: 1000 }), "order"],
  ["a certificate of another directory", known({ renewAt: 2000, directory: "https://other.example/" }), "order"],
  ["a stored certificate that cannot be used", known({ renewAt: 2000 }, { used: undefined }), "order"],
  ["a suggestion to be read", known({ renewAt: 2000, checkAt: 1000 }), "check"],
  ["a seal of the previous secret", known({ renewAt: 2000 }, { isOldSeal: true }), "seal"],
  ["a failure that waits", known({ renewAt: 500, tried: DIRECTORY, nextAt: 1100 }), undefined],
  ["a failure at another directory", known({ renewAt: 500, tried: "https://other.example/", nextAt: 1100 }), "order"],
  ["a wait by a clock that was ahead", known({ renewAt: 500, tried: DIRECTORY, nextAt: 1000 + 90_001 }), "order"],
])("dueOf() for %s", (_name, host, expected) => {
  expect(dueOf(host, DIRECTORY, 1000)).toBe(expected);
});

test("failures double the wait up to six hours, keep the certificate, and respect Retry-After", () => {
  const order = { directory: DIRECTORY, reason: "dns", retryAfterMs: undefined, now: 0, random: 1 };
  let record: HostRecord = { failures: 0, certificate: cert, directory: DIRECTORY };
  const waits = Array.from({ length: 9 }, () => {
    record = failedRecord(record, order);
    return record.nextAt;
  });
  expect(waits).toEqual([240, 480, 960, 1920, 3840, 7680, 15_360, 21_600, 21_600]);
  expect(record).toMatchObject({ certificate: cert, failures: 9, reason: "dns" });
  expect(failedRecord(record, { ...order, random: 0 }).nextAt).toBe(10_800);
  expect(failedRecord(undefined, { ...order, retryAfterMs: 5_000_000 }).nextAt).toBe(5000);
  const pause = pauseOf(undefined, order);
  expect([isPaused(pause, 0), isPaused(pause, 240), isPaused({ ...pause, until: 90_001 }, 0)]).toEqual([
    true,
    false,
    false,
  ]);
});

test("renewals come before first certificates, the earliest expiry first", () => {
  const hosts = [undefined, known({ endsAt: 9 }), known({ endsAt: 5 })];
  expect(hosts.toSorted(byUrgency).map((each) => each?.record.endsAt)).toEqual([5, 9, undefined]);
});

test("of the hosts without a certificate, the ones with the fewest failures come first", () => {
  const failed = (failures: number): KnownHost => ({ ...known({ failures }), used: undefined });
  const hosts: Readonly<Record<string, KnownHost | undefined>> = {
    twice: failed(2),
    once: failed(1),
    fresh: undefined,
    renewed: known({ endsAt: 5 }),
  };
  const sorted = Object.keys(hosts).toSorted((a, b) => byUrgency(hosts[a], hosts[b]));
  expect(sorted).toEqual(["renewed", "fresh", "once", "twice"]);
});

test("renewal is at two thirds of the lifetime or at a time of the suggested window", () => {
  const [from, to] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  expect((renewalTime(leaf, 0) - from) / (to - from)).toBeCloseTo(2 / 3, 3);
  expect((renewalTime(leaf, 1) - from) / (to - from)).toBeCloseTo(2 / 3 - 1 / 30, 3);
  const suggestedWindow = { start: "2026-01-02T00:00:00Z", end: "2026-01-04T00:00:00Z" };
  expect(suggestedTime({ suggestedWindow }, 0.5)).toBe(Date.parse("2026-01-03T00:00:00Z"));
  const broken = [
    { start: "x", end: "y" },
    { start: suggestedWindow.end, end: suggestedWindow.start },
    "no",
    undefined,
  ];
  expect(broken.map((each) => suggestedTime({ suggestedWindow: each }, 0.5))).toEqual(broken.map(() => undefined));
  expect([0, 7_200_000, 1e12, undefined].map((wait) => nextCheck(0, wait))).toEqual([
    60_000, 7_200_000, 86_400_000, 21_600_000,
  ]);
});

test("certificateId() is as in RFC 9773 §4.1", () => {
  const extension = "0603551d2304183016801469885b6b87464041e1b37b847ba0ae2cde01c8d4";
  const raw = Buffer.from(`3000${extension}`, "hex");
  expect(certificateId({ raw, serialNumber: "87654321" })).toBe("aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE");
  expect(certificateId({ raw: leaf.raw, serialNumber: leaf.serialNumber })).toBeUndefined();
});

test("certificates are for hosts of routes and the sign-in host, with the owner's permission, within bounds", () => {
  const from = ["app.example.com", "*.example.com", "localhost", "192.0.2.1", "covered.example.com"];
  const routes = from.map((host) => ({ from: `https://${host}`, to: "http://127.0.0.1:1", policy: [] }));
  const snapshot = snapshotFrom(stringify({ authenticate_service_url: "https://auth.example.com", routes }));
  const covers = (host: string): boolean => host === "covered.example.com";
  const all = wantedHosts(snapshot, { isAllowed: () => true, covers });
  expect([...all.hosts]).toEqual(["auth.example.com", "app.example.com"]);
  expect([...wantedHosts(snapshot, { isAllowed: () => false, covers }).hosts]).toEqual([]);

  const [route] = snapshot.routes.filter(({ hostname }) => hostname === "app.example.com");
  const many = Array.from({ length: 150 }, (_, n) => ({ ...route, owner: "team-a", hostname: `h${n}.example.com` }));
  const bounded = wantedHosts({ ...snapshot, routes: many as never }, { isAllowed: () => true, covers });
  expect([bounded.hosts.size, bounded.omitted]).toEqual([101, 50]);
});

test("with owners, only those with allow_acme and the main configuration file may request certificates", () => {
  const owners = { "team-a": { allow_acme: true }, "team-b": {} };
  const acme = { email: "ops@example.com" };
  const insecure = { insecure_server: false, storage_url: "sqlite:/tmp/x.db" };
  const { acme: restricted } = bootFrom(stringify({ acme, owners, ...insecure }));
  expect(["default", "team-a", "team-b", "team-c"].map((owner) => restricted?.isAllowed(owner))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(restricted?.directory).toBe("https://acme-v02.api.letsencrypt.org/directory");
  expect(bootFrom(stringify({ acme, ...insecure })).acme?.isAllowed("team-c")).toBe(true);
});
