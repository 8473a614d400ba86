/** One call of Terraform. */
import type { Message } from "./wire.ts";

/** @throws GatewayError, FunctionError; any other exception is a bug of ours */
export type Handler = (request: Message) => Promise<Message> | Message;
