/** The names that stand in braces in paths. */
export type PathValues = Readonly<Partial<Record<'id' | 'token', string>>>;

/** What is wrong with a path, as the end of a sentence: it must have these placeholders, and no others. */
export function pathFault(
  path: string,
  needed: readonly string[],
  allowed: readonly string[] = needed,
): string | undefined {
  if (!/^\/(?!\/)[\x21-\x7e]*$/.test(path)) return 'must begin with one slash, and have no spaces';
  const used = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
  if (/[{}]/.test(path.replaceAll(/\{[^{}]*\}/g, ''))) return 'has a brace that stands alone';
  const foreign = used.find((name) => !allowed.includes(name));
  if (foreign !== undefined) {
    const names = allowed.length === 0 ? 'nothing' : allowed.map((name) => `{${name}}`).join(' and ');
    return `has {${foreign}}, and may have ${names} in braces`;
  }
  const missing = needed.find((name) => !used.includes(name));
  if (missing !== undefined) return `must have {${missing}}`;
  if (/[#\\]/.test(path)) return 'has a # or a backslash';
  const [segments = ''] = path.split('?');
  return segments.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))
    ? 'has a segment of dots'
    : undefined;
}

/** The path with its values, each percent-encoded so that it stays within one segment. */
export function filledPath(path: string, values: PathValues): string {
  return path.replaceAll(/\{(id|token)\}/g, (_, name: 'id' | 'token') => {
    const value = values[name];
    if (value === undefined || /^\.{0,2}$/.test(value)) throw new RangeError('A path has no such segment.');
    return encodeURIComponent(value);
  });
}
