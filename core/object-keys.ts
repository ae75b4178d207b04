const KEY = /^[a-z0-9/._-]{1,512}$/;

/** Whether a key is 1 to 512 characters of [a-z0-9/._-], without empty, `.` or `..` segments. */
export function isObjectKey(key: string): boolean {
  return KEY.test(key) && key.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

/** Throws for a key of another form: we create all keys, so a bad one is a programming error. */
export function assertObjectKey(key: string): void {
  if (!isObjectKey(key)) {
    const shown = JSON.stringify(key.slice(0, 80));
    throw new RangeError(
      `An object key is 1 to 512 characters of [a-z0-9/._-] without empty, "." or ".." segments, not ${shown}.`,
    );
  }
}

const MAX_NAME_POINTS = 120;

/** A name without path separators, control and bidirectional marks, or a leading dot. */
function safeName(filename: string): string {
  const cleaned = filename
    .replace(/[\p{Cc}\p{Cf}\p{Cs}/\\]/gu, '_')
    .replace(/^[.\s]+/, '')
    .trim();
  const name = [...cleaned].slice(0, MAX_NAME_POINTS).join('');
  return name === '' ? 'file' : name;
}

/** `inline` with the file's name, in ASCII for old readers and in UTF-8 where it is needed (RFC 6266, RFC 8187). */
export function inlineDisposition(filename: string): string {
  const name = safeName(filename);
  const ascii = name.replace(/[^\x20-\x7e]/gu, '_').replace(/["%]/g, '_');
  if (ascii === name) return `inline; filename="${name}"`;
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `inline; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/i;

/**
 * Throws for a media type that is not `type/subtype`, because parameters could contain values that were not checked.
 */
export function assertMediaType(mediaType: string): void {
  if (!MEDIA_TYPE.test(mediaType)) throw new RangeError('A media type is type/subtype, without parameters.');
}
