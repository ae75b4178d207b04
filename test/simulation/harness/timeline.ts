/**
 * Tells what happened, a line each, to whoever replays a seed. Says nothing when nobody listens, and costs nothing
 * then.
 */
export class Timeline {
  private startedAt: number | undefined;

  constructor(private readonly print?: (line: string) => void) {}

  note(at: number, who: string, tell: () => string): void {
    if (this.print === undefined) return;
    this.startedAt ??= at;
    const seconds = ((at - this.startedAt) / 1_000).toFixed(3).padStart(10);
    this.print(`${seconds}  ${who.padEnd(12)} ${tell()}`);
  }
}

/** A value in few words: ids by their end, bytes by their count, records by what is telling in them. */
export function brief(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value.length > 30 ? `…${value.slice(-14)}` : value;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  if (Symbol.asyncIterator in value) return 'stream';
  if (Array.isArray(value))
    return depth > 1 ? `[${value.length}]` : `[${value.map((item) => brief(item, depth + 1)).join(', ')}]`;
  if (value instanceof Map) return `${value.size} of them`;
  const fields = Object.entries(value).filter(
    ([name, field]) => field !== undefined && typeof field !== 'function' && !DULL.has(name),
  );
  return depth > 2 ? '{…}' : `{${fields.map(([name, field]) => `${name}: ${brief(field, depth + 1)}`).join(', ')}}`;
}

const DULL = new Set([
  'accountId',
  'appId',
  'modality',
  'operation',
  'prompt',
  'terms',
  'modelKey',
  'createdAt',
  'updatedAt',
  'estimatedCredits',
  'kind',
  'name',
  'created_at',
  'updated_at',
  'estimated_credits',
  'model_key',
  'currency',
  'negativePrompt',
  'sha256',
  'contentType',
  'inputSchema',
]);
