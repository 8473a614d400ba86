import { X509Certificate } from "node:crypto";

import { expect, test } from "vitest";

import { makeCertificate } from "../../runtime/terraform/protocol/certificate.ts";

const NOW = Date.UTC(2026, 10, 20, 12);

test("makeCertificate() makes a certificate that node:crypto reads, for localhost, signed by itself", () => {
  const { certificate, der, privateKey } = makeCertificate(NOW);
  const read = new X509Certificate(certificate);
  expect(read.raw.equals(der)).toBe(true);
  expect(read.subject).toBe("CN=localhost");
  expect(read.issuer).toBe("CN=localhost");
  expect(read.subjectAltName).toBe("DNS:localhost");
  expect(read.ca).toBe(true);
  expect(read.verify(read.publicKey)).toBe(true);
  expect(read.checkHost("localhost")).toBe("localhost");
  expect(read.checkHost("example.com")).toBeUndefined();
  expect(read.publicKey.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
  expect(privateKey).toContain("BEGIN PRIVATE KEY");
});

test("makeCertificate() is valid from a little before now for thirty days, to the second", () => {
  const read = new X509Certificate(makeCertificate(NOW).certificate);
  expect(new Date(read.validFrom).getTime()).toBe(NOW - 300_000);
  expect(new Date(read.validTo).getTime()).toBe(NOW + 30 * 86_400_000);
});

test("makeCertificate() writes years from 2050 on in the other form", () => {
  const read = new X509Certificate(makeCertificate(Date.UTC(2049, 11, 20)).certificate);
  expect(new Date(read.validFrom).getUTCFullYear()).toBe(2049);
  expect(new Date(read.validTo).getUTCFullYear()).toBe(2050);
});

test("makeCertificate() gives each process its own key and serial number, never negative", () => {
  const serials = Array.from({ length: 20 }, () => new X509Certificate(makeCertificate(NOW).certificate).serialNumber);
  expect(new Set(serials).size).toBe(20);
  for (const serial of serials) expect(serial).toMatch(/^[0-9A-F]+$/);
});
