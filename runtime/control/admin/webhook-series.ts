/** Metrics of the webhook, read from what it counts. */
import type { Webhook } from "../../webhook/webhook.ts";
import type { Series } from "./series.ts";

export function webhookSeries(webhook: Pick<Webhook, "counts" | "status">): readonly Series[] {
  return [
    {
      name: "gateway_webhook_events_total",
      help: "Events of the webhook by result: sent was taken by the receiver, failed is an attempt that was not, given-up was not taken within a day, dropped was over a bound.",
      type: "counter",
      *read() {
        for (const { event, result, value } of webhook.counts()) yield { value, labels: { event, result } };
      },
    },
    {
      name: "gateway_webhook_waiting",
      help: "Events that wait to be sent, as this process saw them last.",
      type: "gauge",
      merge: "max",
      read: () => [{ value: webhook.status().waiting }],
    },
  ];
}
