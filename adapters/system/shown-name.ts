/** A long name is cut, so that a fault's message stays one readable sentence. */
const MAX_SHOWN_NAME = 64;

/** Plain names as they are; others with what JSON would escape escaped, and cut when long. */
export function shownName(name: string): string {
  const points = Array.from(name.slice(0, 2 * MAX_SHOWN_NAME));
  const cut =
    points.length > MAX_SHOWN_NAME || name.length > 2 * MAX_SHOWN_NAME
      ? `${points.slice(0, MAX_SHOWN_NAME).join('')}…`
      : name;
  return JSON.stringify(cut).slice(1, -1);
}
