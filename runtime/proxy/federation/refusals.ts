/** Errors of calls that the gateway gives for a member. */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { MessageJson } from "../../mcp/federation/json.ts";

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: MessageJson;
}

/** Outside of the codes that JSON-RPC and MCP reserve; the digits are those of HTTP. */
const NOT_CONNECTED = -31401;

/** The error of a call that needs an account of its user. */
export function notConnected(prefix: string, { name, origin }: CompiledRoute): RpcError {
  const url = `${origin}/.gateway/`;
  const message = `${name} is not connected. Connect it at ${url}, then repeat the call`;
  return { code: NOT_CONNECTED, message, data: { reason: "not-connected", member: prefix, url } };
}

const MISSING_CAPABILITY = -32021;
const CAPABILITY_OF: ReadonlyMap<string, string> = new Map([
  ["elicitation/create", "elicitation"],
  ["sampling/createMessage", "sampling"],
  ["roots/list", "roots"],
]);

/** The client already uses its part of the memory for responses. */
export function overloaded(member: string): Pick<RpcError, "code" | "message"> {
  return {
    code: -32603,
    message: `The gateway has no memory for the response of ${member} at the moment; try again later`,
  };
}

/** A member with sessions asks a client of the later revision, which no member may do there. */
export function undeclared(method: string, member: string): RpcError {
  const capability = CAPABILITY_OF.get(method);
  return {
    code: MISSING_CAPABILITY,
    message: `${member} asks its user during the call (${method.slice(0, 64)}), which needs a client with sessions (MCP 2025-11-25)`,
    data: { requiredCapabilities: capability === undefined ? {} : { [capability]: {} } },
  };
}
