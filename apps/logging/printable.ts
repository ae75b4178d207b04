/** Text from elsewhere cannot move the cursor, change colours or the direction of writing, or break a table. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}
