/** The names that stand in braces in paths. */
export type PathName = 'id' | 'token' | 'result_id';
export type PathValues = Readonly<Partial<Record<PathName, string>>>;

/** With a plus before it, a value keeps its slashes. A token has none. */
const WITH_SLASHES: readonly string[] = ['+id', '+result_id'];

/** The fault of a path, as the end of a sentence: it must have these placeholders, and no others. */
export function pathFault(
  path: string,
  needed: readonly PathName[],
  allowed: readonly PathName[] = needed,
): string | undefined {
  if (!/^\/(?!\/)[\x21-\x7e]*$/.test(path)) return 'must begin with one slash, and have no spaces';
  const used = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
  if (/[{}]/.test(path.replaceAll(/\{[^{}]*\}/g, ''))) return 'has a brace that stands alone';
  const known: readonly string[] = allowed.flatMap((name) =>
    WITH_SLASHES.includes(`+${name}`) ? [name, `+${name}`] : [name],
  );
  const foreign = used.find((name) => !known.includes(name));
  if (foreign !== undefined) {
    const names = allowed.length === 0 ? 'nothing' : allowed.map((name) => `{${name}}`).join(' and ');
    return `has {${foreign}}, and may have ${names} in braces`;
  }
  const missing = needed.find((name) => !used.includes(name) && !used.includes(`+${name}`));
  if (missing !== undefined) return `must have {${missing}}`;
  if (/[#\\]/.test(path)) return 'has a # or a backslash';
  const [segments = ''] = path.split('?');
  return segments.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
    ? 'has a segment of dots'
    : undefined;
}

/** Whether a path keeps the slashes of this value. */
export function keepsSlashes(path: string | undefined, name: PathName): boolean {
  return path?.includes(`{+${name}}`) ?? false;
}

/** Whether a value can be segments of a path: none of them is empty, or leads elsewhere. */
export function isSegments(value: string): boolean {
  return value.split('/').every((segment) => !/^\.{0,2}$/.test(segment));
}

/**
 * The path with its values. Each is percent-encoded, so that it stays within one segment; of one with a plus before its
 * name each segment is. Throws a `RangeError` for a value that would lead elsewhere.
 */
export function filledPath(path: string, values: PathValues): string {
  return path.replaceAll(/\{(\+?)(id|token|result_id)\}/g, (_, plus: string, name: PathName) => {
    const value = values[name];
    const segments = plus === '' ? [value ?? ''] : (value ?? '').split('/');
    if (segments.some((segment) => /^\.{0,2}$/.test(segment))) throw new RangeError('A path has no such segment.');
    return segments.map(encodeURIComponent).join('/');
  });
}
