/** The `WWW-Authenticate` header of an upstream's 401 or 403, as far as OAuth needs it (RFC 9110 §11.6.1, RFC 6750 §3). */

export interface BearerChallenge {
  /** "invalid_token", "insufficient_scope", … */
  readonly error?: string;
  readonly scope?: string;
  /** RFC 9728 §5.1. Untrusted, like the whole response: checked before anything is fetched. */
  readonly resourceMetadata?: string;
}

/** Challenge of an upstream. `other`: only other schemes, so OAuth would not help. */
export type ChallengeReading =
  | { readonly kind: "none" }
  | { readonly kind: "other" }
  | { readonly kind: "bearer"; readonly challenge: BearerChallenge };

/** Longer headers are truncated. */
const MAX_CHARACTERS = 8_192;
const TOKEN = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const TOKEN68 = /[A-Za-z0-9._~+/-]+=*/y;

/** @param value one header or all of them; undefined: none */
export function readChallenge(value: string | readonly string[] | undefined): ChallengeReading {
  if (value === undefined) return { kind: "none" };
  const text = (typeof value === "string" ? value : value.join(", ")).slice(0, MAX_CHARACTERS);
  const challenges = parseChallenges(text);
  const bearer = challenges.find(({ scheme }) => scheme === "bearer");
  if (!bearer) return { kind: challenges.length === 0 ? "none" : "other" };
  const error = bearer.parameters.get("error");
  const scope = bearer.parameters.get("scope");
  const resourceMetadata = bearer.parameters.get("resource_metadata");
  return {
    kind: "bearer",
    challenge: {
      ...(error === undefined ? {} : { error }),
      ...(scope === undefined ? {} : { scope }),
      ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
    },
  };
}

interface Challenge {
  readonly scheme: string;
  readonly parameters: Map<string, string>;
}

/** Parses up to the first error. The rest is ignored. */
function parseChallenges(text: string): readonly Challenge[] {
  const challenges: Challenge[] = [];
  let at = 0;
  const skip = (characters: string): void => {
    while (at < text.length && characters.includes(text[at] ?? "")) at += 1;
  };
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  for (;;) {
    skip(" \t,");
    const word = take(TOKEN);
    if (word === undefined) return challenges;
    const afterWord = at;
    skip(" \t");
    const current = challenges.at(-1);
    if (text[at] === "=" && current) {
      at += 1;
      skip(" \t");
      const value = text[at] === '"' ? takeQuoted() : take(TOKEN);
      if (value === undefined) return challenges;
      // Duplicate parameters are ambiguous. The first one counts.
      if (!current.parameters.has(word.toLowerCase())) current.parameters.set(word.toLowerCase(), value);
      continue;
    }
    if (text[at] === "=") return challenges;
    challenges.push({ scheme: word.toLowerCase(), parameters: new Map() });
    if (at > afterWord) skipToken68();
  }

  /** "Negotiate abc==": a scheme with one token instead of parameters. */
  function skipToken68(): void {
    const start = at;
    const token = take(TOKEN68);
    const end = at;
    skip(" \t");
    const isToken68 = token !== undefined && (at >= text.length || text[at] === ",") && token.length === end - start;
    if (!isToken68) at = start;
  }

  function takeQuoted(): string | undefined {
    let value = "";
    for (at += 1; at < text.length; at += 1) {
      const character = text[at];
      if (character === '"') {
        at += 1;
        return value;
      }
      if (character === "\\") at += 1;
      value += text[at] ?? "";
    }
    return undefined;
  }
}

/** Response to a request without a token. "passed": accepted; "silent": no response; undefined: anything else. */
export type ChallengeAnswer = BearerChallenge | "passed" | "silent" | undefined;

export function challengeOf(answer: ChallengeAnswer): BearerChallenge | undefined {
  return typeof answer === "string" ? undefined : answer;
}
