/** Applies header settings to an upstream's response. */

/** Replacement for values that start with `prefix`. */
export interface ValueRewrite {
  readonly prefix: string;
  readonly value: string;
}

/** Each rule acts on the result of the previous one; a prefix that does not match changes nothing. */
export function rewriteValue(rules: readonly ValueRewrite[] | undefined, value: string): string {
  if (rules === undefined) return value;
  let current = value;
  for (const rule of rules)
    if (current.startsWith(rule.prefix)) current = rule.value + current.slice(rule.prefix.length);
  return current;
}
