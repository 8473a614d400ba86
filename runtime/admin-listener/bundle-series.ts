/** Metrics of the active configuration, read from the bundle's status. */
import type { Bundle } from "../bundle/bundle.ts";
import { createCounter, type Series } from "./series.ts";

/** Counter for the code that accepts publications. */
export const createPublishCounter = () =>
  createCounter<"result">({
    name: "gateway_publishes_total",
    help: "Publications and rollbacks by result: live (in every process), behind (not yet in some), silent (live, except in processes without a heartbeat for 5 seconds).",
  });

export function bundleSeries(bundle: Pick<Bundle, "status" | "current">): readonly Series[] {
  return [
    {
      name: "gateway_bundle_info",
      help: "1, labeled with the digest of the active configuration.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: 1, labels: { digest: bundle.current().digest } }],
    },
    {
      name: "gateway_bundle_generation",
      help: "Configurations activated by this process.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: bundle.current().generation }],
    },
    {
      name: "gateway_bundle_routes",
      help: "Active routes.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: bundle.current().routes.length }],
    },
    {
      name: "gateway_bundle_loaded_timestamp_seconds",
      help: "Time at which the current configuration was activated.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: bundle.status().loadedAt }],
    },
    {
      name: "gateway_bundle_reloads_total",
      help: "Configuration loads by result: ok, failed (the previous valid version stays active).",
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
      help: "1 if the active configuration is up to date, 0 if a previous version, or one of an owner, is still active.",
      type: "gauge",
      merge: "min",
      read: () => [{ value: bundle.status().lastError ? 0 : 1 }],
    },
    {
      name: "gateway_bundle_owners",
      help: "Owners of slices by state: current (up to date), kept (previous valid version), absent (no valid version).",
      type: "gauge",
      merge: "max",
      read: () => Object.entries(bundle.status().owners).map(([state, value]) => ({ value, labels: { state } })),
    },
    {
      name: "gateway_vault_up",
      help: "1 if the Vault or OpenBao server of `vault` responds, 0 if its secrets cannot be refreshed; absent without `vault`.",
      type: "gauge",
      merge: "min",
      *read() {
        const { vault } = bundle.status();
        if (vault) yield { value: vault.reachable ? 1 : 0 };
      },
    },
    {
      name: "gateway_vault_entries",
      help: "Secrets of the Vault or OpenBao server in use, by state: current, late (last value read) or unread.",
      type: "gauge",
      merge: "max",
      *read() {
        const { vault } = bundle.status();
        for (const [state, value] of Object.entries(vault?.entries ?? {})) yield { value, labels: { state } };
      },
    },
  ];
}
