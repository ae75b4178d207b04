import type { HttpContext } from '../host/http-context.js';

const OTHERWISE = 'en';

/** A number as the reader writes it: by the first language that their browser asks for and that is known here. */
export function numberText({ req }: Pick<HttpContext, 'req'>, value: number): string {
  return new Intl.NumberFormat(localeOf(req.headers['accept-language'] ?? '')).format(value);
}

function localeOf(acceptLanguage: string): string {
  for (const part of acceptLanguage.slice(0, 200).split(',')) {
    const tag = part.split(';')[0]?.trim() ?? '';
    if (isKnown(tag)) return tag;
  }
  return OTHERWISE;
}

function isKnown(tag: string): boolean {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    return false;
  }
}
