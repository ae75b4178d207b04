import type { ServiceError } from '../errors.js';
import { fieldInvalid } from '../fields.js';
import { type FieldToken, type Json, type JsonObject, pathOf, pointerOf } from '../json.js';

/** The names at the end of hosts that exist: `com`, `рф`, and reserved ones such as `internal`. */
export interface TopLevelDomains {
  /** `name` in lower case; an internationalised one as Unicode or as `xn--…`. */
  has(name: string): boolean;
}

const SCHEMES =
  'https?|wss?|ftps?|sftp|ssh|git|file|data|blob|mailto|s3|gs|gcs|az|abfss?|wasbs?|arn|urn|ipfs|redis|mongodb|postgres(?:ql)?|mysql|jdbc|ldaps?|gopher|dict|tftp|smb|nfs|unix';

/** File endings that occur in ordinary text, top-level domains or not. */
const EXTENSIONS =
  'png|jpe?g|webp|gif|bmp|tiff?|heic|heif|avif|svg|psd|raw|dng|exr|hdr|mp4|m4v|mov|mkv|avi|webm|wav|mp3|flac|txt|pdf|json|ya?ml|js|css|html?';

const BLANK = '[^\\S\\r\\n\\u2028\\u2029]';
const END = `${BLANK}*$`;
/** An ideographic full stop parts the names of a host too. */
const DOT = '[.\\u3002]';
/** Vowel signs of many scripts are marks: `हिन्दी` and `भारत` are names. */
const NAME = '[\\p{L}\\p{M}\\p{N}_-]+';
const TOP_NAME = '\\p{L}[\\p{L}\\p{M}\\p{N}-]+';
const HOST = `${NAME}(?:${DOT}${NAME})*${DOT}`;
const PORT_OR_PATH = `${DOT}?(?::\\d|[/?#])`;

/** How a line begins that looks like a location. Each pattern takes time linear in the line. */
const PLACES: readonly string[] = [
  // URLs of schemes that have no slashes.
  '(?:javascript|vbscript):',
  `(?:${SCHEMES}):\\S`,
  // Absolute paths of either kind, of a home and of a drive, and paths that begin where the process is.
  '[/\\\\]\\S',
  `~(?:[\\p{L}_][\\w.-]*)?(?:[/\\\\]|${END})`,
  '[a-z]:[/\\\\]',
  `${DOT}{1,2}(?:[/\\\\]|${END})`,
  // A file in a folder; prose has blanks.
  `[^\\s/\\\\]+[/\\\\]\\S*${DOT}(?:${EXTENSIONS})${END}`,
  // Hosts with a port or a path, buckets among them.
  `${HOST}${TOP_NAME}${PORT_OR_PATH}`,
  `(?:[^\\s@]+@)?localhost(?:${PORT_OR_PATH}|${DOT}?${END})`,
  // E-mail addresses: at an address in brackets, and at a host with a dot.
  '[^\\s@]+@\\[',
  `[^\\s@]+@[^\\s@.\\u3002]+${DOT}[^\\s@]+${END}`,
  // Addresses: four numbers, one in hexadecimal digits, and IPv6.
  `\\d{1,3}(?:${DOT}\\d{1,3}){3}(?:${PORT_OR_PATH}|${DOT}?${END})`,
  `0x[0-9a-f]{8}${END}`,
  '\\[[0-9a-f.]*:[0-9a-f.]*:[0-9a-f:.]*\\]',
  `(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*)?::[0-9a-f:.]*(?:[/?#%]|${END})`,
  `[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){7}(?:[/?#%]|${END})`,
];
const PLACE = new RegExp(`^${BLANK}*(?:${PLACES.join('|')})`, 'imu');

/** A line that reads as a host alone, or as the name of a file. It is a host if its top-level domain exists. */
const HOST_ALONE = new RegExp(`^${BLANK}*${HOST}(?!(?:${EXTENSIONS})${DOT}?${END})(${TOP_NAME})${DOT}?${END}`, 'gimu');

/** A URL of any scheme or a path that climbs, anywhere in the text. */
const WITHIN = new RegExp(`://|(?:^|[/\\\\])${DOT}{2}(?:[/\\\\]|$)`, 'mu');

/** Text that is escaped more often than this is refused without being decoded further. */
const MAX_DECODINGS = 3;
const ASCII_ESCAPE = /%[0-7][0-9a-f]/i;

/**
 * Refuses model parameters that name a location: a URL, an absolute path, a host or an address, a bucket. A model's
 * schema decides what it accepts; this check also covers schemas that accept free text, so that no parameter can
 * redirect a provider, a store or a request of ours. Each line is checked. The table in docs/catalog.md lists what is
 * refused and what passes.
 */
export function placeRefusal(
  { topLevelDomains }: { readonly topLevelDomains: TopLevelDomains },
  parameters: JsonObject,
  under: readonly FieldToken[],
): ServiceError | undefined {
  const found = firstPlace(parameters, topLevelDomains);
  if (found === undefined) return undefined;
  const tokens = [...under, ...found];
  return fieldInvalid(pointerOf(tokens), `${pathOf(tokens)} must not be a URL, host, path or bucket.`, pathOf(tokens));
}

function firstPlace(value: Json, domains: TopLevelDomains): FieldToken[] | undefined {
  if (typeof value === 'string') return isPlace(value, domains) ? [] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  const isList = Array.isArray(value);
  for (const [name, member] of Object.entries(value)) {
    const found = firstPlace(member, domains);
    if (found !== undefined) return [isList ? Number(name) : name, ...found];
  }
  return undefined;
}

/** Decodes escapes as a client that follows an address does, nested escapes included. */
function isPlace(text: string, domains: TopLevelDomains): boolean {
  let read = text;
  for (let round = 0; round <= MAX_DECODINGS; round += 1) {
    if (readsAsPlace(read, domains)) return true;
    if (!read.includes('%')) return false;
    let decoded: string;
    try {
      decoded = decodeURIComponent(read);
    } catch {
      return ASCII_ESCAPE.test(read);
    }
    if (decoded === read) return false;
    read = decoded;
  }
  return true;
}

/** Invisible characters, such as a soft hyphen or a zero-width space. URL parsers drop them. */
const NOT_SHOWN = /\p{Default_Ignorable_Code_Point}/gu;

/** Compatibility forms of letters, dots and slashes lead to the same place. */
function readsAsPlace(text: string, domains: TopLevelDomains): boolean {
  const plain = text.normalize('NFKC').replaceAll(NOT_SHOWN, '');
  if (WITHIN.test(plain) || PLACE.test(plain)) return true;
  for (const [, topLevelDomain = ''] of plain.matchAll(HOST_ALONE))
    if (domains.has(topLevelDomain.toLowerCase())) return true;
  return false;
}
