/** Progress of a long command, on one line of a terminal; no output elsewhere. */

export interface Progress {
  /** @param done bytes @param total bytes; 0 if unknown */
  show(done: number, total: number): void;
  /** Removes the line. */
  end(): void;
}

const EVERY_MS = 200;
const CLEAR = "\r\u001b[K";

/** @returns undefined without a terminal */
export function progressOn(
  stream: Pick<NodeJS.WriteStream, "write" | "isTTY">,
  now: () => number = () => performance.now(),
): Progress | undefined {
  if (!stream.isTTY) return undefined;
  let next = now() + EVERY_MS;
  return {
    show(done, total) {
      if (now() < next) return;
      next = now() + EVERY_MS;
      const share = total === 0 ? "" : ` of ${megabytes(total)} (${Math.floor((100 * done) / total)} %)`;
      stream.write(`${CLEAR}${megabytes(done)}${share}`);
    },
    end: () => void stream.write(CLEAR),
  };
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
