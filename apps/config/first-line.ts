/** The first line of an error's message, without the mark that ends its sentence. */
export function firstLine(error: unknown): string {
  return ((error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '').replace(/[.!?]$/, '');
}
