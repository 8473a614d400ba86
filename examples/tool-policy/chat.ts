/** What a team's chat would be: receives the gateway's webhook, and believes nothing that is not signed. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface Chat {
  /** For `webhook.url`. */
  readonly url: string;
  /** For `webhook.secret`. */
  readonly secret: string;
  /** Resolves with the first event of this type that has the text in its data. */
  heard(type: string, text: string): Promise<ToldEvent>;
  close(): Promise<void>;
}

export interface ToldEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const TOLERANCE_SECONDS = 300;

export async function startChat(): Promise<Chat> {
  const key = randomBytes(32);
  const seen = new Set<string>();
  const events: ToldEvent[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const id = String(request.headers["webhook-id"]);
      if (!isSigned(request, body, key)) return response.writeHead(401).end();
      // What is sent again, because an answer was lost, is one event.
      if (!seen.has(id)) events.push(JSON.parse(body) as ToldEvent);
      seen.add(id);
      for (const look of waiting) look();
      return response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/gateway`,
    secret: key.toString("base64"),
    heard: (type, part) =>
      new Promise((resolve) => {
        const look = (): void => {
          const event = events.find((each) => each.type === type && JSON.stringify(each.data).includes(part));
          if (!event) return;
          waiting.delete(look);
          resolve(event);
        };
        waiting.add(look);
        look();
      }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Standard Webhooks: HMAC-SHA-256 over id, time and body, each signature with its version. */
function isSigned({ headers }: IncomingMessage, body: string, key: Buffer): boolean {
  const [id, time] = [String(headers["webhook-id"]), String(headers["webhook-timestamp"])];
  if (Math.abs(Date.now() / 1000 - Number(time)) > TOLERANCE_SECONDS) return false;
  const wanted = createHmac("sha256", key).update(`${id}.${time}.${body}`).digest();
  const signatures = String(headers["webhook-signature"]).split(" ");
  return signatures.some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ""), "base64");
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}
