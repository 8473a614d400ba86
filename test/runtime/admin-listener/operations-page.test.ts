/** reference/metrics.md names every metric that a scrape shows, and no other. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { createSend } from "../../support/browser.ts";
import { startOtlpReceiver } from "../../support/otlp-receiver.ts";
import { runGateway } from "../../support/run-gateway.ts";

const PAGE = new URL("../../../runtime/reference/metrics.md", import.meta.url);
const HEAD = "| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n";

interface Metric {
  readonly type: string;
  readonly help: string;
  readonly labels: ReadonlySet<string>;
}

/** Of what does not happen here. */
const OTHER_LABELS: Readonly<Record<string, readonly string[]>> = {
  gateway_token_refreshes_total: ["token", "result"],
  gateway_webhook_events_total: ["event", "result"],
  gateway_upstream_ejections_total: ["route", "upstream"],
  gateway_tool_drifts_total: ["route", "drift"],
  gateway_requests_unanswered_total: ["by"],
  gateway_sign_outs_total: ["kind", "result"],
  gateway_publishes_total: ["result"],
  gateway_guardrail_verdicts_total: ["route", "kind", "verdict"],
  gateway_guardrail_duration_seconds: ["kind"],
  mcp_server_operation_duration_seconds: [
    "gateway_route",
    "mcp_method_name",
    "gen_ai_operation_name",
    "gen_ai_tool_name",
    "gen_ai_prompt_name",
    "error_type",
    "rpc_response_status_code",
    "mcp_protocol_version",
    "network_transport",
    "network_protocol_name",
    "network_protocol_version",
    "otel_metric_overflow",
  ],
};

/** Of the Prometheus text form, without what prom-client tells of the process. */
function metricsOf(text: string): Map<string, Metric> {
  const found = new Map<string, { type: string; help: string; labels: Set<string> }>();
  for (const line of text.split("\n")) {
    const [, kind = "", name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind === "HELP") found.set(name, { type: "", help: rest, labels: new Set(OTHER_LABELS[name]) });
    else if (kind === "TYPE") Object.assign(found.get(name) ?? {}, { type: rest });
    else {
      const [, full = "", labels = ""] = /^(\w+)\{(.*)\} /.exec(line) ?? [];
      const metric = found.get(full.replace(/_(?:bucket|sum|count)$/, "")) ?? found.get(full);
      for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) if (label !== "le") metric?.labels.add(label);
    }
  }
  for (const name of found.keys()) if (/^gateway_(process|nodejs)_/.test(name)) found.delete(name);
  return found;
}

function tableOf(metrics: ReadonlyMap<string, Metric>): string {
  const rows = [...metrics]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { type, help, labels }]) => {
      const cells = [...labels].toSorted().map((label) => `\`${label}\``);
      return `| \`${name}\` | ${type} | ${cells.join(", ")} | ${help.replaceAll("|", "\\|")} |`;
    });
  return `${HEAD}${rows.join("\n")}\n`;
}

test("the table of metrics is what a scrape shows, help and labels included; GATEWAY_UPDATE_GOLDEN=1 renews it", async () => {
  const receiver = await startOtlpReceiver();
  const upstream = createServer((_, response) => response.end("ok"));
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const route = (name: string, more: object) => ({
    name,
    from: "http://localhost",
    prefix: `/${name}`,
    policy: [{ allow: { and: [{ accept: true }] } }],
    ...more,
  });
  const routes = [
    route("good", {
      to,
      health_checks: [{ tcp_health_check: {} }],
      outlier_detection: {},
      shadow_policy: [],
      rate_limits: [{ name: "all", requests: 9 }],
    }),
    route("dead", { to: "http://127.0.0.1:1" }),
    route("closed", { to, policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }] }),
  ];
  const spool = mkdtempSync(join(tmpdir(), "gateway-spool-"));
  const gateway = await runGateway({
    workers: 2,
    boot: {
      tracing: { endpoint: receiver.endpoint },
      webhook: { url: to, secret: Buffer.alloc(32, 1).toString("base64") },
      record_sinks: { siem: { kind: "http", url: to } },
      record_spool: spool,
      // Nothing is referenced there, so nothing is asked.
      vault: { address: "http://127.0.0.1:1", login: { token_file: "/none/token" } },
    },
    yaml: `${JSON.stringify({ routes }).slice(1, -1)}\n`.replace(/^"routes":/, "routes: "),
  });
  try {
    const send = createSend({ via: Number(new URL(gateway.origin).port) });
    for (const path of ["/good", "/dead", "/closed", "/nowhere"]) {
      await send({ method: "GET", url: `http://localhost${path}` });
    }
    const { text } = await gateway.admin.get("/metrics");
    const metrics = metricsOf(text);
    const table = tableOf(metrics);
    const page = readFileSync(PAGE, "utf8");
    const start = page.indexOf(HEAD);
    expect(start, "the page has no table of metrics").toBeGreaterThan(0);
    if (process.env["GATEWAY_UPDATE_GOLDEN"] === "1") {
      writeFileSync(PAGE, page.slice(0, start) + table);
      return;
    }
    expect(page.slice(start)).toBe(table);
  } finally {
    await gateway.close();
    upstream.close();
    await receiver.close();
    rmSync(spool, { recursive: true, force: true });
  }
});
