export type CsvValue = string | number | undefined;

/** What a spreadsheet takes a cell for a formula by, or for a break of its line. */
const FORMULA = /^[=+\-@\t\r\n]/;

/**
 * One line of CSV (RFC 4180), with its line break. Text that a spreadsheet would read as a formula is preceded by an
 * apostrophe; numbers are not. An absent value is an empty field.
 */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(field).join(',')}\r\n`;
}

function field(value: CsvValue): string {
  if (value === undefined || typeof value === 'number') return String(value ?? '');
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
