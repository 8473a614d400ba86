/** Lists in a map that grow where they are: copying one for each element takes the square of their length. */
export function append<K, V>(lists: Map<K, V[]>, key: K, ...values: readonly V[]): void {
  const list = lists.get(key);
  if (list) for (const value of values) list.push(value);
  else lists.set(key, [...values]);
}
