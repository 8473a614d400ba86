/** The provider's gRPC service as a Terraform newer than the one at hand calls it. */
import { Client, credentials } from "@grpc/grpc-js";

import { decodeValue, encodeValue } from "../../runtime/terraform/protocol/value-codec.ts";
import { providerService } from "../../runtime/terraform/protocol/service.ts";
import type { Value, ValueType } from "../../runtime/terraform/protocol/value.ts";
import type { Message } from "../../runtime/terraform/protocol/wire.ts";

export interface PluginClient {
  call(method: string, request: Message): Promise<Message>;
  /** All messages of a stream. */
  stream(method: string, request: Message): Promise<readonly Message[]>;
  close(): void;
}

/** @param socketPath of a provider without TLS */
export function connectPlugin(socketPath: string): PluginClient {
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure());
  return {
    call: (method, request) =>
      new Promise((resolve, reject) => {
        const { path, requestSerialize, responseDeserialize } = providerService[method]!;
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, response) => {
          if (error) reject(error);
          else resolve(response as Message);
        });
      }),
    stream: async (method, request) => {
      const { path, requestSerialize, responseDeserialize } = providerService[method]!;
      const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
      const messages: Message[] = [];
      for await (const message of call) messages.push(message as Message);
      return messages;
    },
    close: () => {
      client.close();
    },
  };
}

export function dynamic(type: ValueType, value: Value): Message {
  return { msgpack: encodeValue(type, value) };
}

export function valueOf(type: ValueType, message: unknown): Value {
  return decodeValue(type, (message as { msgpack: Uint8Array }).msgpack);
}
