/** One call of Terraform. */
import type { Message } from "./wire.ts";

/** @throws GatewayError, FunctionError; whatever else it throws is a mistake of ours */
export type Handler = (request: Message) => Promise<Message> | Message;
