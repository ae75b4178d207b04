/** What an answer's `Content-Type` says of its body: JSON, something else, or nothing. */
export type DeclaredType = 'json' | 'other' | 'none';

const JSON_TYPE = /^(?:application\/(?:[a-z0-9!#$&^_.+-]+\+)?json|text\/json)$/;

export function declaredType(contentType: string | undefined): DeclaredType {
  const [essence = ''] = (contentType ?? '').split(';');
  const type = essence.trim().toLowerCase();
  if (type === '') return 'none';
  return JSON_TYPE.test(type) ? 'json' : 'other';
}

/** The value that bytes in UTF-8 are the JSON of, or undefined where they are none. */
export function jsonOf(bytes: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown };
  } catch {
    return undefined;
  }
}
