/** `1 object`, `2 objects`, `2 entries`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** What a verification has examined. */
export function countedBooks({
  accounts,
  entries,
  generations,
}: {
  readonly accounts: number;
  readonly entries: number;
  readonly generations: number;
}): string {
  return `${counted(accounts, 'account')}, ${counted(entries, 'entry', 'entries')} and ${counted(generations, 'generation')}`;
}
