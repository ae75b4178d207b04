import type { Json } from '../../core/json.js';
import { ImportRefused } from './proposal.js';

/** The longest document of a vendor that is read. The longest recorded one has 20 KiB. */
export const MAX_DOCUMENT_BYTES = 2 * 1024 * 1024;
const MAX_DEPTH = 64;
const MAX_NODES = 50_000;

/** Characters that show nothing, or that change how the text around them is shown. */
const NOT_SHOWN = /[\p{C}\u2028\u2029]/gu;

/**
 * A document of a vendor; sentences call it `name`. Throws `ImportRefused` for one that is not JSON or is larger than any
 * schema.
 */
export function parseBounded(text: string, name = "The vendor's answer"): Json {
  if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES)
    throw new ImportRefused(`The vendor's answer must have at most ${MAX_DOCUMENT_BYTES} bytes.`);
  let document: Json;
  try {
    // Some shells write a mark before the text of a file.
    document = JSON.parse(text.replace(/^\uFEFF/, '')) as Json;
  } catch {
    throw new ImportRefused(`${name} is not JSON.`);
  }
  checkBounds(document);
  return document;
}

/** Throws `ImportRefused` for a value that is too deep or too large, or has numbers that JSON does not hold. */
export function checkBounds(document: Json): void {
  const left: { readonly value: Json; readonly depth: number }[] = [{ value: document, depth: 0 }];
  let nodes = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { value, depth } = next;
    nodes += 1;
    if (nodes > MAX_NODES) throw new ImportRefused(`The vendor's answer must have at most ${MAX_NODES} values.`);
    if (typeof value === 'number' && !Number.isFinite(value))
      throw new ImportRefused("The vendor's answer has a number that is too large.");
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= MAX_DEPTH)
      throw new ImportRefused(`The vendor's answer must not be nested deeper than ${MAX_DEPTH} levels.`);
    // Not by arguments of one call: there may be more members than a call takes.
    for (const member of Object.values(value)) left.push({ value: member, depth: depth + 1 });
  }
}

/** A text of a vendor for people: on one line, without characters that are not shown, and cut to so many code points. */
export function shownText(value: Json | undefined, maxCharacters: number): string {
  if (typeof value !== 'string') return '';
  const head = value.slice(0, 4 * maxCharacters + 64).replaceAll(/\s/gu, ' ');
  const points = [...head.replaceAll(NOT_SHOWN, '').replaceAll(/ +/g, ' ').trim()];
  return points.length <= maxCharacters
    ? points.join('')
    : `${points
        .slice(0, maxCharacters - 1)
        .join('')
        .trimEnd()}…`;
}

/** Whether a text is as it is shown. */
export function isPlainText(text: string): boolean {
  return text.search(NOT_SHOWN) < 0;
}
