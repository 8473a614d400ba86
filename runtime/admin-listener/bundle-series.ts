/** Metrics of the active configuration, read from the bundle's status. */
import type { Bundle } from "../bundle/bundle.ts";
import { createCounter, type Series } from "./series.ts";

/** Counter for the code that accepts publications. */
export const createPublishCounter = () =>
  createCounter<"result">({
    name: "gateway_publishes_total",
    help: "Publications and rollbacks by result: live in every process, behind in some when the answer was given, silent: live except in processes without a heartbeat for 5 seconds.",
  });

export function bundleSeries(bundle: Pick<Bundle, "status" | "current">): readonly Series[] {
  return [
    {
      name: "gateway_bundle_info",
      help: "1, with the digest of the configuration in force.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: 1, labels: { digest: bundle.current().digest } }],
    },
    {
      name: "gateway_bundle_generation",
      help: "Configurations put in force by this process.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: bundle.current().generation }],
    },
    {
      name: "gateway_bundle_routes",
      help: "Routes in force.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: bundle.current().routes.length }],
    },
    {
      name: "gateway_bundle_loaded_timestamp_seconds",
      help: "When the configuration in force was put in force.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: bundle.status().loadedAt }],
    },
    {
      name: "gateway_bundle_reloads_total",
      help: "Configurations read, by result: ok was put in force, failed left the last good one.",
      type: "counter",
      read: () => {
        const { ok, failed } = bundle.status().reloads;
        return [
          { value: ok, labels: { result: "ok" } },
          { value: failed, labels: { result: "failed" } },
        ];
      },
    },
    {
      name: "gateway_bundle_current",
      help: "1 while the files are what is in force, 0 while an older configuration, or an owner's, had to stay.",
      type: "gauge",
      merge: "min",
      read: () => [{ value: bundle.status().lastError ? 0 : 1 }],
    },
    {
      name: "gateway_bundle_owners",
      help: "Owners of slices by what they are served from: current as written now, kept the last good one, absent none.",
      type: "gauge",
      merge: "max",
      read: () => Object.entries(bundle.status().owners).map(([state, value]) => ({ value, labels: { state } })),
    },
    {
      name: "gateway_vault_up",
      help: "1 while the Vault or OpenBao server of `vault` answers, 0 while its secrets cannot be refreshed; not there without `vault`.",
      type: "gauge",
      merge: "min",
      *read() {
        const { vault } = bundle.status();
        if (vault) yield { value: vault.reachable ? 1 : 0 };
      },
    },
    {
      name: "gateway_vault_entries",
      help: "Entries of the Vault or OpenBao server in use, by state: current, late (as it was read last) or unread.",
      type: "gauge",
      merge: "max",
      *read() {
        const { vault } = bundle.status();
        for (const [state, value] of Object.entries(vault?.entries ?? {})) yield { value, labels: { state } };
      },
    },
  ];
}
