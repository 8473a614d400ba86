/** A value of a choice as ours is written: theirs are read in upper case as well. */
export function choiceText(value: unknown): unknown {
  return typeof value === "string" ? value.trim().toLowerCase() : value;
}
