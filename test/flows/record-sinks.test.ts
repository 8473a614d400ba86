/** A whole gateway hands its records to real receivers, and with `audit_required` lets nothing pass that it cannot keep. */
import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type AdminClient, createAdminClient } from "../support/admin-client.ts";
import { createSend } from "../support/browser.ts";
import { type TestGateway, startGateway } from "../support/gateway.ts";
import { type HostileServer, startHostileServer } from "../support/hostile-server.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../support/otlp-receiver.ts";

const SECRET = "secret-of-a-sink";

let directory: string;
let http: HostileServer;
let otlp: OtlpReceiver;
let upstream: HostileServer;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "gateway-record-sinks-"));
  http = await startHostileServer((_request, response) => void response.end());
  upstream = await startHostileServer();
  otlp = await startOtlpReceiver();
});
afterAll(async () => {
  await Promise.all([http.close(), upstream.close(), otlp.close()]);
  rmSync(directory, { recursive: true, force: true });
});

const routes = (): string =>
  `routes: [{ name: open, from: '{origin}', to: '${upstream.origin}', policy: [{ allow: { and: [{ accept: true }] } }] }]\n`;

const records = (): Record<string, unknown>[] =>
  http.seen.flatMap(({ body }) =>
    body
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  );

test("each record reaches every sink with all its fields, whatever the log has; /status and metrics show them, and no secret", async () => {
  const gateway = await startGateway({
    yaml: `authorize_log_fields: [request-id]\n${routes()}`,
    boot: {
      record_spool: join(directory, "first"),
      record_sinks: {
        siem: {
          kind: "http",
          url: `${http.origin}/in?key=${SECRET}`,
          headers: { authorization: { value: `Bearer ${SECRET}` } },
        },
        otel: { kind: "otlp", url: otlp.logsEndpoint },
        gone: { kind: "syslog", address: "127.0.0.1:1" },
      },
    },
  });
  try {
    const send = createSend({ via: gateway.port });
    const before = http.seen.length;
    for (const path of ["/one", "/two"]) await send({ method: "GET", url: `${gateway.origin}${path}` });
    // A second is waited for more.
    await expect.poll(() => records().length).toBe(4);
    const checks = records().filter(({ message }) => message === "authorize check");
    expect(checks).toMatchObject([
      { allow: true, route: "default/open", method: "GET", path: "/one", ip: "127.0.0.1", seq: 0 },
      { allow: true, path: "/two" },
    ]);
    // Records in the log are unchanged.
    expect(Object.keys((await gateway.records())[0] ?? {})).not.toContain("path");
    expect(http.seen[before]?.headers).toMatchObject({ authorization: `Bearer ${SECRET}` });
    await expect.poll(() => otlp.logs.length).toBe(4);
    expect(otlp.logs.map(({ body }) => body)).toEqual(records());

    const admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
    const ok = { away: false, waiting: 0, taken: 4, lost: 0, last_error: null };
    await expect
      .poll(async () => (await admin.get("/status")).body["record_sinks"])
      .toMatchObject([
        { name: "siem", kind: "http", ...ok },
        { name: "otel", kind: "otlp", ...ok },
        { name: "gone", kind: "syslog", away: true, waiting: 4, taken: 0, last_error: "127.0.0.1:1: ECONNREFUSED" },
      ]);
    expect((await admin.get("/readyz")).status).toBe(200);
    const { text: metrics } = await admin.get("/metrics");
    expect(metrics).toContain('gateway_record_sink_taken_total{sink="siem"} 4');
    expect(metrics).toContain('gateway_record_sink_away{sink="gone"} 1');
    expect(metrics).toContain("gateway_records_unavailable 0");
    const { text: status } = await admin.get("/status");
    for (const text of [status, metrics, gateway.log()]) expect(text).not.toContain(SECRET);
    expect(gateway.log().split("record sink unavailable, records queued")).toHaveLength(2);
  } finally {
    await gateway.close();
  }
});

describe("with audit_required", () => {
  const ask = async (gateway: TestGateway) =>
    createSend({ via: gateway.port })({ method: "GET", url: `${gateway.origin}/` });
  const readiness = async (admin: AdminClient): Promise<unknown> => {
    const { status, body } = await admin.get("/readyz");
    return [status, body["records"]];
  };

  test("no request passes while a sink's spool is full; it resumes automatically, and no record is lost", async () => {
    const spool = join(directory, "second");
    const gateway = await startGateway({
      yaml: routes(),
      boot: {
        record_spool: spool,
        audit_required: true,
        record_sinks: { siem: { kind: "http", url: `${http.origin}/second` } },
      },
    });
    try {
      const admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
      const before = http.seen.length;
      const passedBefore = upstream.seen.length;
      const slot = join(spool, "_queue", "0");
      // No file can be made where there is no directory.
      renameSync(slot, `${slot}-away`);
      expect((await ask(gateway)).status).toBe(200);
      await expect.poll(async () => (await ask(gateway)).status).toBe(503);
      const passed = upstream.seen.length;
      const refused = await ask(gateway);
      expect(refused.headers["retry-after"]).toBeDefined();
      expect(refused.text).toContain("records.unavailable");
      expect(upstream.seen).toHaveLength(passed);
      expect(await readiness(admin)).toEqual([503, "unavailable"]);
      expect((await admin.get("/metrics")).text).toContain("gateway_records_unavailable 1");
      renameSync(`${slot}-away`, slot);
      await expect.poll(async () => (await ask(gateway)).status).toBe(200);
      expect(await readiness(admin)).toEqual([200, undefined]);
      const seen = (): unknown[] =>
        http.seen
          .slice(before)
          .flatMap(({ body }) => body.split("\n").slice(0, -1))
          .map((line) => JSON.parse(line) as Record<string, unknown>)
          .filter(({ message }) => message === "authorize check");
      await expect.poll(() => seen().length).toBe(upstream.seen.length - passedBefore);
    } finally {
      await gateway.close();
    }
  });

  test("no request passes while the log cannot be written", async () => {
    const log = join(directory, "log");
    symlinkSync("/dev/full", log);
    const gateway = await startGateway({ yaml: routes(), boot: { authorize_log: log, audit_required: true } });
    try {
      const admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
      expect((await ask(gateway)).status).toBe(200);
      await expect.poll(async () => (await ask(gateway)).status).toBe(503);
      expect(await readiness(admin)).toEqual([503, "unavailable"]);
      unlinkSync(log);
      gateway.runtime.reopenLogs();
      await expect.poll(async () => (await ask(gateway)).status).toBe(200);
      expect(await readiness(admin)).toEqual([200, undefined]);
    } finally {
      await gateway.close();
    }
  });
});
