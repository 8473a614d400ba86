/** Which routes have the same Maglev table: its size, addresses and weights make it, not the order or spelling of `to`. */

export interface MaglevMember {
  readonly name: string;
  readonly weight: number;
  /** In `to`. */
  readonly index: number;
}

/** @param to addresses as they are when compiled, see `upstreamAddress()` */
export function maglevMembers(
  to: readonly { readonly address: string; readonly weight: number }[],
): readonly MaglevMember[] {
  const sorted = to
    .map(({ address, weight }, index) => ({ name: address, weight, index }))
    .sort((a, b) => (a.name === b.name ? a.weight - b.weight : a.name < b.name ? -1 : 1));
  const seen = new Map<string, number>();
  return sorted.map((member) => {
    const times = seen.get(member.name) ?? 0;
    seen.set(member.name, times + 1);
    // Those of one name would all look at the same places one after the other, each behind all before it.
    return times === 0 ? member : { ...member, name: `${member.name}#${times}` };
  });
}

/** Equal for equal upstreams, weights and sizes. */
export function maglevKey(members: readonly MaglevMember[], size: number): string {
  return `${size} ${members.map(({ name, weight }) => `${name},${weight}`).join(" ")}`;
}
