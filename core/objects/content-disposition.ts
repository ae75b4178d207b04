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
