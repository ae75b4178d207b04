/** The middle value, or the mean of the two in the middle. NaN without values. */
export function median(values: readonly number[]): number {
  return (percentile(values, 0.5, Math.floor) + percentile(values, 0.5, Math.ceil)) / 2;
}

/** The value below which this share (0 to 1) of the values lies, by nearest rank. */
export function percentile(
  values: readonly number[],
  share: number,
  round: (rank: number) => number = Math.round,
): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[round((sorted.length - 1) * share)] ?? Number.NaN;
}
