import { computed } from '@preact/signals';
import { PageLink } from '../parts/parts.js';
import { path as shownPath } from '../router.js';
import { API, envelopeIn, refusalOf, RequestFailed, unreadable } from '../server.js';

const BASE = '/console/operator/';

/** The pages of the area, as they stand in its navigation. */
export const LISTED = [
  { name: 'accounts', title: 'Accounts' },
  { name: 'work', title: 'Open work' },
  { name: 'providers', title: 'Providers' },
  { name: 'books', title: 'Books' },
] as const;

export type ListedName = (typeof LISTED)[number]['name'];

/** A page of the operator's area: a list, or a single item. */
export interface Place {
  readonly name: ListedName;
  /** The id of an account or a generation. */
  readonly id?: string;
}

/** The page that the address names; undefined outside the area. */
export const place = computed<Place | undefined>(() => {
  if (!shownPath.value.startsWith(BASE)) return undefined;
  const [asked, id] = shownPath.value.slice(BASE.length).split('/');
  const name = LISTED.find((one) => one.name === asked)?.name ?? 'accounts';
  return id === undefined ? { name } : { name, id };
});

export function titleOf({ name, id }: Place): string {
  if (id !== undefined) return name === 'work' ? 'Generation' : 'Account';
  return LISTED.find((one) => one.name === name)?.title ?? '';
}

export function hrefOfPlace({ name, id }: Place): string {
  return BASE + name + (id === undefined ? '' : `/${id}`);
}

/** A link to a page of the area. */
export function linkTo(page: Place, text: string) {
  return <PageLink href={hrefOfPlace(page)}>{text}</PageLink>;
}

const CUT = 'The connection to the server was lost. Try again.';

/** Requests a response that consists of lines of JSON. Throws `RequestFailed`. */
export async function* linesOf<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
  const init: RequestInit = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
    signal,
    cache: 'no-store',
  };
  const response = await fetch(API + path, init).catch(() => {
    throw new RequestFailed(CUT);
  });
  if (!response.ok || response.body === null) throw refusalOf(await envelopeIn(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new RequestFailed(CUT);
    });
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield lineOf<T>(line);
  }
}

function lineOf<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw unreadable();
  }
}
