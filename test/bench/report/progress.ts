/** What is being measured: one line on a terminal, which changes; a line each elsewhere. */
export interface Progress {
  readonly show: (what: string) => void;
  /** Stays. */
  readonly say: (line: string) => void;
  end(): void;
}

export function startProgress(): Progress {
  const isTerminal = process.stderr.isTTY;
  const startedMs = performance.now();
  const clear = isTerminal ? "\r\u001B[2K" : "";
  const since = (): string => {
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  };
  return {
    show: (what) => void process.stderr.write(`${clear}${since()}  ${what}${isTerminal ? "" : "\n"}`),
    say: (line) => void process.stderr.write(`${clear}${line}\n`),
    end: () => void process.stderr.write(clear),
  };
}
