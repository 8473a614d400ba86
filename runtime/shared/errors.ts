/**
 * A failure at an edge: reading files, the store, the network, a provider.
 * `code` is stable and for machines; `message` is for the operator's log and never holds a secret or token.
 */
export class GatewayError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "GatewayError";
    this.code = code;
  }
}

/** One line that says what went wrong, for messages that quote a caught value. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
