import { escapePointerToken, type Json } from '../../core/json.js';
import type { Fault } from '../../core/ports/json-schemas.js';

/** The place of each wanted pointer in the value's document order: a container comes before its members. */
function documentRanks(value: Json, wanted: ReadonlySet<string>, under: string): ReadonlyMap<string, number> {
  const ranks = new Map<string, number>();
  const waiting: { pointer: string; value: Json }[] = [{ pointer: under, value }];
  for (let rank = 0; waiting.length > 0 && ranks.size < wanted.size; rank += 1) {
    const next = waiting.pop()!;
    if (wanted.has(next.pointer)) ranks.set(next.pointer, rank);
    if (typeof next.value !== 'object' || next.value === null) continue;
    const members: [string, Json][] = Object.entries(next.value);
    // Pushed last to first, so that the first is taken next.
    for (const [name, member] of members.reverse()) waiting.push({ pointer: `${next.pointer}/${escapePointerToken(name)}`, value: member });
  }
  return ranks;
}

function parentOf(pointer: string): string {
  return pointer.slice(0, Math.max(0, pointer.lastIndexOf('/')));
}

/** Missing fields first, in the order of the objects that miss them; then the rest in the value's document order. */
export function inDocumentOrder(faults: readonly Fault[], value: Json, under: string): readonly Fault[] {
  if (faults.length < 2) return faults;
  const wanted = new Set(faults.flatMap((fault) => [fault.pointer, parentOf(fault.pointer)]));
  const ranks = documentRanks(value, wanted, under);
  const rankOf = ({ pointer }: Fault) => ranks.get(pointer) ?? ranks.get(parentOf(pointer)) ?? 0;
  return faults.toSorted((a, b) => Number(b.kind === 'required') - Number(a.kind === 'required') || rankOf(a) - rankOf(b));
}
