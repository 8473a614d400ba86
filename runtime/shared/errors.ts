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

/** @returns undefined for errors that are not ours */
export function errorCode(error: unknown): string | undefined {
  return error instanceof GatewayError ? error.code : undefined;
}

/** One line that says what went wrong, for messages that quote a caught value. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Does it; whatever it fails with becomes the cause of an error that says what was attempted.
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
