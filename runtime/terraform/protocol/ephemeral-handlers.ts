/** The methods of ephemeral resources, which exist while Terraform runs and are stored nowhere. */
import { findType, readConfig, wireDiagnostics } from "./messages.ts";
import type { EphemeralResource, Provider } from "./provider.ts";
import { blockType } from "../schema/schema-model.ts";
import { encodeValue } from "./value-codec.ts";
import type { Message } from "./wire.ts";
import type { Handler } from "./handler.ts";

/** By method name. */
export function createEphemeralHandlers({ ephemerals }: Provider): Readonly<Record<string, Handler>> {
  const find = (request: Message): EphemeralResource => findType(ephemerals, "ephemeral resource", request["typeName"]);

  return {
    ValidateEphemeralResourceConfig(request) {
      const ephemeral = find(request);
      return { diagnostics: wireDiagnostics(ephemeral.validate(readConfig(ephemeral, request))) };
    },
    async OpenEphemeralResource(request) {
      const ephemeral = find(request);
      const { result, renewAt, handle } = await ephemeral.open(readConfig(ephemeral, request));
      return {
        result: { msgpack: encodeValue(blockType(ephemeral.schema), result) },
        renewAt: timestamp(renewAt),
        private: Buffer.from(handle),
      };
    },
    async RenewEphemeralResource(request) {
      const renewAt = await find(request).renew(handleOf(request));
      return { renewAt: timestamp(renewAt), private: request["private"] };
    },
    async CloseEphemeralResource(request) {
      return { diagnostics: wireDiagnostics(await find(request).close(handleOf(request))) };
    },
  };
}

function handleOf(request: Message): string {
  return Buffer.from((request["private"] as Uint8Array | undefined) ?? []).toString();
}

function timestamp(date: Date): Message {
  const ms = date.getTime();
  return { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 };
}
