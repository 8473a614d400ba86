/** `webhook`: destination of event notifications, and the secrets that sign them. */
import { EVENT_TYPES, type EventType } from "../../audit/events.ts";
import { GatewayError } from "../../shared/errors.ts";
import { hasSecret, type SecretSource, secretNames, secretValues } from "../../settings/secret-forms.ts";
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import { block } from "../../settings/types/block.ts";
import { quotedProblem } from "../../settings/types/checks.ts";
import { textList } from "../../settings/types/list.ts";
import type { ShapeDoc, WithDefaults } from "../../settings/types/registry.ts";
import { url } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { decodeBase64, parseHttpUrl } from "../../settings/values.ts";

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
  const keys = secretValues(doc, "secret", secrets).map((value) => {
    const key = decodeWebhookSecret(value);
    if (!key) throw new GatewayError("config.secret", `Cannot use "secret" of "webhook": it ${EXPECTED}`);
    return key;
  });
  return { url: doc.url, secrets: keys, events: new Set(doc.events as readonly EventType[]) };
}

const EXPECTED = "must be base64 of 24 to 64 bytes, make one with `openssl rand -base64 32`";

/** @see Standard Webhooks, "Signature scheme": 24 to 64 bytes, base64 with or without "whsec_" */
function decodeWebhookSecret(value: string): Buffer | undefined {
  const bytes = decodeBase64(value.trim().replace(/^whsec_/, ""));
  return bytes !== undefined && bytes.length >= 24 && bytes.length <= 64 ? bytes : undefined;
}

/** Only plain-text secrets can be validated here; the others are validated at process start. */
export function* webhookRules({ webhook }: Partial<ShapeDoc<typeof webhookShape>>): Iterable<UnplacedProblem> {
  if (!webhook) return;
  if (!hasSecret(webhook, "secret")) {
    const [plain, reference, sealed] = secretNames("secret");
    yield errorAt(["webhook"], `has no secret, must have "${plain}", "${reference}" or "${sealed}"`);
  }
  const { secret: written = [] } = webhook;
  for (const [index, value] of (typeof written === "string" ? [written] : written).entries()) {
    const path = ["webhook", "secret", ...(typeof written === "string" ? [] : [index])];
    if (!decodeWebhookSecret(value)) yield errorAt(path, EXPECTED);
  }
}
