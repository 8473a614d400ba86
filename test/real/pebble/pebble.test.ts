/** Renewal information (ARI, RFC 9773): an authority that wants a certificate replaced, as after a revocation. */
import { once } from "node:events";
import { request } from "node:https";

import { expect, test } from "vitest";
import { stringify } from "yaml";

import { openAcme } from "../../../runtime/acme/acme.ts";
import { openCertificates } from "../../../runtime/http/listener/certificates.ts";
import { createHttpServer } from "../../../runtime/http/listener/server.ts";
import { openRecords } from "../../../runtime/record-kinds.ts";
import { closeAll } from "../../../runtime/shared/faults/close-all.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { snapshotFrom } from "../../support/config.ts";
import { findPebble, type Pebble, startPebble } from "../../support/pebble.ts";

async function setRenewalInfo(pebble: Pebble, Certificate: string, ARIResponse: string): Promise<number> {
  const headers = { "user-agent": "test" };
  const options = { method: "POST", headers, ca: pebble.ownRoot, agent: false };
  const sent = request(`${pebble.management}/set-renewal-info/`, options);
  sent.end(JSON.stringify({ Certificate, ARIResponse }));
  const [answer] = (await once(sent, "response")) as [{ statusCode: number; resume(): void }];
  answer.resume();
  return answer.statusCode;
}

test("a certificate is renewed in the window that the authority suggests, and replaces the earlier one", async () => {
  const found = findPebble();
  if ("missing" in found) throw new Error(found.missing);
  const pebble = await startPebble(found);
  let aheadMs = 0;
  const clock = { now: () => Date.now() + aheadMs };
  const log = silentLog();
  const store = await openRecords("memory:", { clock, log });
  const { directory, caFile, externalAccount } = pebble;
  const routes = [{ from: "https://ari.example.test", to: "http://127.0.0.1:1", policy: [] }];
  const snapshot = snapshotFrom(stringify({ routes }));
  const acme = await openAcme(
    { directory, caFile, externalAccount, email: undefined, isAllowed: () => true },
    {
      store,
      keys: createKeys([Buffer.alloc(32, 1)]),
      snapshots: { current: () => snapshot, subscribe: () => () => {} },
      spread: async () => {},
      notify: () => {},
      clock,
      log,
      everyMs: 86_400_000,
      pollMs: 50,
    },
  );
  const certificates = await openCertificates([], { log, issued: acme.issued });
  const handle = (): void => {};
  const server = await createHttpServer({ address: "127.0.0.1:0", insecure: false, certificates, handle, log });
  pebble.tls.targets = [server.port];
  const current = (): string => acme.certificates()[0]?.certificate ?? "";
  try {
    acme.start({ covers: () => false, challenges: ["tls-alpn-01"] });
    await acme.work();
    const first = current();
    expect(first).toContain("BEGIN CERTIFICATE");
    await acme.work();
    expect(current()).toBe(first);

    const [leaf = ""] = /-----BEGIN[^]*?-----END CERTIFICATE-----/.exec(first) ?? [];
    const suggestedWindow = { start: "2020-01-01T00:00:00Z", end: "2020-01-02T00:00:00Z" };
    expect(await setRenewalInfo(pebble, leaf, JSON.stringify({ suggestedWindow }))).toBe(200);
    // Read again after the time that the authority gave: six hours.
    await acme.work();
    expect(current()).toBe(first);
    aheadMs = 7 * 3_600_000;
    await acme.work();
    const second = current();
    expect(second).toContain("BEGIN CERTIFICATE");
    expect(second).not.toBe(first);
    expect(acme.counts().get("failed") ?? 0).toBe(0);

    // Nonsense changes nothing.
    expect(await setRenewalInfo(pebble, /-----BEGIN[^]*?-----END CERTIFICATE-----/.exec(second)?.[0] ?? "", "{")).toBe(
      200,
    );
    aheadMs = 20 * 3_600_000;
    await acme.work();
    expect(current()).toBe(second);
    expect(acme.status().failing).toEqual([]);
  } finally {
    await closeAll([store, acme, certificates, { close: () => server.close({ timeoutMs: 0 }) }, pebble]);
  }
});
