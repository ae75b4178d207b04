import { computed, signal } from '@preact/signals';

const BASE = '/console/';

export interface SectionLink {
  readonly name: string;
  readonly title: string;
  /** The title of a single thing within it, where those have an address. */
  readonly single?: string;
}

/** The sections of the page, in the order of its navigation. The first is the default. */
export const SECTIONS = [
  { name: 'api-and-mcp', title: 'API and MCP' },
  { name: 'playground', title: 'Playground' },
  { name: 'generations', title: 'Generations', single: 'Generation' },
  { name: 'usage', title: 'Usage and credits' },
  { name: 'webhooks', title: 'Webhooks', single: 'Webhook' },
  { name: 'sign-in', title: 'Sign-in' },
] as const satisfies readonly SectionLink[];

export type SectionName = (typeof SECTIONS)[number]['name'];

/** The part of a section that is shown: the id of a single item, and the query. */
export interface Within {
  readonly id?: string | undefined;
  readonly query?: Readonly<Record<string, string | undefined>>;
}

export interface Place {
  readonly section: SectionName;
  readonly id: string | undefined;
  readonly query: Readonly<Record<string, string>>;
}

/** The address of a section, or of something in it. */
export function hrefOf(name: SectionName, { id, query = {} }: Within = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '');
  const text = new URLSearchParams(given).toString();
  return BASE + name + (id === undefined ? '' : `/${id}`) + (text === '' ? '' : `?${text}`);
}

const address = signal(currentAddress());

/** The path of the address. */
export const path = computed(() => address.value.path);

/** The place that the address names; the first section if it names none. */
export const place = computed(() => placeOf(address.value));

/** The section that the address names. */
export const section = computed(() => place.value.section);

/** Whether the person moved to the section within the page; its heading then receives the focus. */
export const hasMoved = signal(false);

/** Announced once the page is shown; empty for no announcement. */
export const saidOnArrival = signal('');

/** Navigates to another address of this page. `said` reports the result of the action that led there. */
export function goTo(href: string, said = ''): void {
  saidOnArrival.value = said;
  window.history.pushState(null, '', href);
  show();
}

/** Replaces values in the query of the address without adding to the history. */
export function changeQuery(query: Within['query'] = {}): void {
  const { section: name, id, query: current } = place.value;
  window.history.replaceState(null, '', hrefOf(name, { id, query: { ...current, ...query } }));
  address.value = currentAddress();
}

window.addEventListener('popstate', () => {
  saidOnArrival.value = '';
  show();
});

function show(): void {
  hasMoved.value = true;
  address.value = currentAddress();
}

function currentAddress() {
  const { pathname, search } = window.location;
  return { path: pathname, search };
}

function placeOf({ path: at, search }: ReturnType<typeof currentAddress>): Place {
  const [name = '', id, ...more] = at.slice(BASE.length).split('/');
  const known = SECTIONS.find((one) => one.name === name && more.length === 0);
  return {
    section: known?.name ?? SECTIONS[0].name,
    id: known !== undefined && 'single' in known && id !== '' ? id : undefined,
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}
