const UNITS: readonly [unit: 'day' | 'hour' | 'minute' | 'second', ms: number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

/** How long it is from one time to another, in the largest unit that fits: `3 min`. */
export function ageText(since: string, now: string): string {
  const ms = Math.max(0, Date.parse(now) - Date.parse(since));
  const [unit, size] = UNITS.find((one) => ms >= one[1]) ?? (['second', 1_000] as const);
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'short' }).format(Math.floor(ms / size));
}

const SIZES: readonly [unit: 'gigabyte' | 'megabyte' | 'kilobyte' | 'byte', bytes: number][] = [
  ['gigabyte', 1_000_000_000],
  ['megabyte', 1_000_000],
  ['kilobyte', 1_000],
  ['byte', 1],
];

export function bytesText(bytes: number): string {
  const [unit, size] = SIZES.find((one) => bytes >= one[1]) ?? (['byte', 1] as const);
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, maximumFractionDigits: 1 }).format(bytes / size);
}

/** `1 worker`, `2 workers`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${new Intl.NumberFormat().format(count)} ${count === 1 ? one : many}`;
}
