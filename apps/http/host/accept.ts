import type { IncomingMessage } from 'node:http';
import { headerText } from './request-headers.js';

/**
 * Whether the client prefers CSV to JSON: its `Accept` names `text/csv`, and gives it more weight than JSON, or does not
 * name that. What matches everything prefers neither.
 */
export function prefersCsv(req: IncomingMessage): boolean {
  const ranges = (headerText(req, 'accept') ?? '').split(',').map(rangeOf);
  const weight = (type: string) => Math.max(0, ...ranges.filter((range) => range.type === type).map(({ q }) => q));
  return weight('text/csv') > weight('application/json');
}

function rangeOf(text: string): { readonly type: string; readonly q: number } {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const q = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = Number(q?.slice(2) ?? 1);
  return { type, q: weight >= 0 && weight <= 1 ? weight : 0 };
}
