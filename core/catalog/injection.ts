import { fieldInvalid } from '../fields.js';
import { escapePointerToken, type Json, type JsonObject } from '../json.js';

const SCHEMES = 'https?|wss?|ftps?|sftp|ssh|git|file|data|blob|javascript|vbscript|mailto|s3|gs|gcs|az|abfss?|wasbs?|arn|urn|ipfs|redis|mongodb|postgres(?:ql)?|mysql|jdbc|ldaps?|gopher|dict|tftp|smb|nfs|unix';

/** Each reads as a place rather than a value: a URL, a path, a host, a bucket. Every pattern takes time linear in the text. */
const PLACES: readonly RegExp[] = [
  /:\/\//,
  new RegExp(`^(?:${SCHEMES}):`, 'i'),
  /%[0-9a-f]{2}/i,
  /^[/\\~]|^[a-z]:[/\\]|^\.{1,2}(?:[/\\]|$)|(?:^|[/\\])\.{2}(?:[/\\]|$)/i,
  /^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.\p{L}[\p{L}\p{N}-]+\.?(?::[0-9]+)?(?:[/?#]|$)/u,
  /^localhost\.?(?::[0-9]+)?(?:[/?#]|$)/i,
  /^[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]+)?(?:[/?#]|$)/,
  /^0x[0-9a-f]{8}$/i,
  /^[^\s@]+@[^\s@]+\.[^\s@]+$/,
  /^\[?[0-9a-f]*:(?:[0-9a-f]*:)+[0-9a-f.]*\]?(?:[:/]|$)/i,
];

/**
 * Refuses model parameters that name a place. A model's schema decides what it takes; this stands behind a schema that
 * takes free text, so that no parameter can steer a provider, a store or a request of ours. Each line is looked at.
 */
export function refusePlaces(parameters: JsonObject, pointer: string): void {
  for (const [name, value] of Object.entries(parameters)) refusePlace(value, `${pointer}/${escapePointerToken(name)}`);
}

function isPlace(text: string): boolean {
  // Compatibility forms of letters and dots lead to the same host; a dot at the end leads to the root.
  const line = text.normalize('NFKC').replaceAll('\u3002', '.').replace(/\.$/, '');
  return text === '.' || isPath(line) || PLACES.some((place) => place.test(line));
}

/** A name with an extension behind a slash, or names between slashes. 16/9, half/half and "and/or" are values. */
function isPath(line: string): boolean {
  const parts = line.split(/[/\\]/);
  if (parts.length < 2) return false;
  return /\.[\p{L}\p{N}]+$/u.test(parts.at(-1) ?? '') || (parts.length > 2 && /\p{L}/u.test(line) && !/\s/.test(line));
}

function refusePlace(value: Json, pointer: string): void {
  if (typeof value === 'string') {
    if (value.split(/[\r\n\u2028\u2029]/).some((line) => isPlace(line.trim()))) throw fieldInvalid(pointer, `${pointer.slice(1).replaceAll('/', '.')} must not be a URL, host, path or bucket.`);
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => refusePlace(item, `${pointer}/${index}`));
  } else if (value !== null && typeof value === 'object') {
    refusePlaces(value, pointer);
  }
}
