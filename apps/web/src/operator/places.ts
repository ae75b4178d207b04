import { computed } from '@preact/signals';
import { path } from '../router.js';

const BASE = '/console/operator/';

/** The pages of the area, as they stand in its navigation. */
export const LISTED = [
  { name: 'accounts', title: 'Accounts' },
  { name: 'work', title: 'Open work' },
  { name: 'providers', title: 'Providers' },
  { name: 'books', title: 'Books' },
] as const;

export type ListedName = (typeof LISTED)[number]['name'];

/** A page of the operator's area: a list, or one thing of it. */
export interface Place {
  readonly name: ListedName;
  /** Of an account or a generation. */
  readonly id?: string;
}

/** The page that the address names; undefined outside the area. */
export const place = computed<Place | undefined>(() => {
  if (!path.value.startsWith(BASE)) return undefined;
  const [asked, id] = path.value.slice(BASE.length).split('/');
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
