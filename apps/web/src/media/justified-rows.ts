/** A picture of a row. */
interface Placed<T> {
  readonly item: T;
  readonly widthPx: number;
}

interface JustifiedRow<T> {
  readonly heightPx: number;
  /** Whether it fills the width, so that later pictures do not change it. */
  readonly isFull: boolean;
  readonly pictures: readonly Placed<T>[];
}

interface Justification {
  readonly widthPx: number;
  readonly gapPx: number;
  /** The height that rows have about, at most a fifth more or less. */
  readonly heightPx: number;
}

/** Panoramas and very tall pictures are cut to these ratios of width and height. */
const NARROWEST = 0.5;
const WIDEST = 2.6;
const TOLERANCE = 0.2;

/**
 * Puts pictures into rows that fill the width, in their order, without any of them being loaded: each row gets the number of
 * pictures whose height is nearest to the wanted one. The last row is not stretched.
 */
export function justify<T>(
  items: readonly T[],
  ratioOf: (item: T) => number,
  { widthPx, gapPx, heightPx }: Justification,
): JustifiedRow<T>[] {
  const rows: JustifiedRow<T>[] = [];
  const heightFor = (row: readonly Rated<T>[]): number => (widthPx - gapPx * (row.length - 1)) / sumOf(row);
  let row: Rated<T>[] = [];
  const end = (height: number): void => {
    rows.push(placed(row, height, true));
    row = [];
  };
  for (const item of items) {
    const next = { item, ratio: Math.min(WIDEST, Math.max(NARROWEST, ratioOf(item))) };
    const after = heightFor([...row, next]);
    if (row.length > 0 && after < heightPx) {
      const before = heightFor(row);
      if (before - heightPx <= heightPx - after) {
        end(Math.min(before, heightPx * (1 + TOLERANCE)));
        row.push(next);
        continue;
      }
    }
    row.push(next);
    if (after <= heightPx) end(after);
  }
  if (row.length > 0) rows.push(placed(row, Math.min(heightPx, heightFor(row)), false));
  return rows;
}

interface Rated<T> {
  readonly item: T;
  readonly ratio: number;
}

function sumOf(row: readonly Rated<unknown>[]): number {
  return row.reduce((sum, { ratio }) => sum + ratio, 0);
}

function placed<T>(row: readonly Rated<T>[], height: number, isFull: boolean): JustifiedRow<T> {
  return {
    isFull,
    heightPx: Math.floor(height),
    pictures: row.map(({ item, ratio }) => ({ item, widthPx: Math.floor(height * ratio) })),
  };
}
