/** One call of Terraform. */
import type { Message } from "./wire.ts";

/** @throws GatewayError, FunctionError; any other exception is a bug of ours */
export type Handler = (request: Message) => Promise<Message> | Message;

/** One call whose response is a stream. @throws as above */
export type StreamHandler = (request: Message) => AsyncIterable<Message>;
