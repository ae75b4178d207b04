/** The names and indexes a JSON Pointer consists of; none for the value itself. */
export function pointerTokens(pointer: string): readonly string[] {
  if (pointer === '') return [];
  return pointer.slice(1).split('/').map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** A long name is cut, so that a fault's message stays one readable sentence. */
const MAX_SHOWN_NAME = 64;

/** How a person would write it: `parameters.size`, `reference_upload_ids[3]`; 'the value' for the value itself. */
export function readablePath(pointer: string): string {
  let path = '';
  for (const token of pointerTokens(pointer)) {
    if (/^\d+$/.test(token)) path += `[${token}]`;
    else path += path === '' ? shownName(token) : `.${shownName(token)}`;
  }
  return path === '' ? 'the value' : path;
}

/** Plain names as they are; others with what JSON would escape escaped, and cut when long. */
function shownName(name: string): string {
  const points = Array.from(name.slice(0, 2 * MAX_SHOWN_NAME));
  const cut = points.length > MAX_SHOWN_NAME || name.length > 2 * MAX_SHOWN_NAME ? `${points.slice(0, MAX_SHOWN_NAME).join('')}…` : name;
  return JSON.stringify(cut).slice(1, -1);
}
