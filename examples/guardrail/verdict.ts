/** Questions of the gateway and verdicts, and how texts in them are changed. */

/** Body of the gateway's request. */
export interface Question {
  readonly phase: "request" | "response";
  readonly tool?: string;
  /** One of the three is present. */
  readonly arguments?: object;
  readonly result?: object;
  readonly error?: object;
}

export type Verdict =
  | { readonly verdict: "pass" }
  | { readonly verdict: "deny"; readonly reason: string }
  | ({ readonly [part in "arguments" | "result" | "error"]?: unknown } & {
      readonly verdict: "mutate";
      readonly reason: string;
    });

/** A check that throws has no verdict, so that the gateway denies. */
export type Check = (question: Question) => Promise<Verdict>;

export const PASS: Verdict = { verdict: "pass" };

export function deny(reason: string): Verdict {
  return { verdict: "deny", reason };
}

/** The checked part and its name. */
export function partOf(question: Question): readonly ["arguments" | "result" | "error", unknown] {
  if (question.arguments !== undefined) return ["arguments", question.arguments];
  return question.result === undefined ? ["error", question.error] : ["result", question.result];
}

/** All texts of a value, names of members included. */
export function textsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsOf(member)]);
}

/** The value with other texts; names of members stay. */
export async function withTexts(value: unknown, change: (text: string) => Promise<string> | string): Promise<unknown> {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return Promise.all(value.map((each) => withTexts(each, change)));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(async ([name, member]) => [name, await withTexts(member, change)] as const);
  return Object.fromEntries(await Promise.all(members));
}
