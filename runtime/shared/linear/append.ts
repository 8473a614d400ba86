/** Appends in place to lists in a map: copying a list for each element takes time quadratic in its length. */
export function append<K, V>(lists: Map<K, V[]>, key: K, ...values: readonly V[]): void {
  const list = lists.get(key);
  if (list) for (const value of values) list.push(value);
  else lists.set(key, [...values]);
}
