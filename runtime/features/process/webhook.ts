/** `webhook`: destination of event notifications, and the secrets that sign them. */
import { EVENT_TYPES, type EventType } from "../../audit/events.ts";
import { compileSigningKeys, signingKeyProblems } from "../../settings/signing-keys.ts";
import type { SecretSource } from "../../settings/secret-forms.ts";
import type { UnplacedProblem } from "../../settings/problem.ts";
import { block } from "../../settings/types/block.ts";
import { quotedProblem } from "../../settings/types/checks.ts";
import { textList } from "../../settings/types/list.ts";
import type { ShapeDoc, WithDefaults } from "../../settings/types/registry.ts";
import { url } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { parseHttpUrl } from "../../settings/values.ts";

export const webhookShape = {
  webhook: block(
    {
      url: url({
        doc: "Destination of events, sent as POST requests with JSON.",
        required: true,
        read: parseHttpUrl,
      }),
      ...secret("secret", {
        doc: "Signing key according to Standard Webhooks: base64 of 24 to 64 random bytes. Several for rotation: each signs.",
        unset: "required, in one of its forms",
        many: true,
      }),
      events: textList({
        doc: `Events to send: ${EVENT_TYPES.map((type) => `\`${type}\``).join(", ")}.`,
        default: EVENT_TYPES,
        itemValues: EVENT_TYPES,
        check: (value) =>
          (EVENT_TYPES as readonly string[]).includes(value)
            ? undefined
            : quotedProblem(value, `must be one of ${EVENT_TYPES.join(", ")}`),
      }),
    },
    {
      doc: "Sends signed events to an HTTP endpoint, with retries.",
      unset: "none",
    },
  ),
};

/** Webhook settings, compiled. */
export interface WebhookSettings {
  readonly url: string;
  /** Raw keys; each signs. */
  readonly secrets: readonly Buffer[];
  readonly events: ReadonlySet<EventType>;
}

/** @throws GatewayError `config.secret` */
export function compileWebhook(
  doc: NonNullable<WithDefaults<typeof webhookShape>["webhook"]>,
  secrets: SecretSource,
): WebhookSettings {
  return {
    url: doc.url,
    secrets: compileSigningKeys(doc, "webhook", secrets),
    events: new Set(doc.events as readonly EventType[]),
  };
}

/** Rules within the block. */
export function webhookRules({ webhook }: Partial<ShapeDoc<typeof webhookShape>>): Iterable<UnplacedProblem> {
  return webhook ? signingKeyProblems(webhook, ["webhook"]) : [];
}
