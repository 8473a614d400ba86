/**
 * A failure at an edge: reading files, the store, the network, a provider. `code` is stable and machine-readable.
 * `message` is for the operator's log and never contains a secret or token.
 */
export class GatewayError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "GatewayError";
    this.code = code;
  }
}

/** @returns undefined for foreign errors */
export function errorCode(error: unknown): string | undefined {
  return error instanceof GatewayError ? error.code : undefined;
}

/** One line with the cause, for messages that quote a caught value. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Runs `work`; its failure becomes the cause of an error that names the attempted action.
 *
 * @param action "Cannot read ..."
 */
export async function attempting<T>(code: string, action: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new GatewayError(code, `${action}: ${errorText(cause)}`, { cause });
  }
}
