import { computed, signal } from '@preact/signals';

const BASE = '/console';

/**
 * The pages of the console: the path below `/console`, the title, and the title of a single item where the items of a page have
 * addresses. `apps/http/console` serves the same paths.
 */
export const PAGES = {
  'overview': { path: '', title: 'Overview' },
  'playground': { path: 'playground', title: 'Playground' },
  'generations': { path: 'generations', title: 'Generations', single: 'Generation' },
  'models': { path: 'models', title: 'Models', single: 'Model' },
  'usage': { path: 'usage', title: 'Usage' },
  'keys': { path: 'keys', title: 'API keys' },
  'webhooks': { path: 'webhooks', title: 'Webhooks', single: 'Webhook' },
  'connections': { path: 'connections', title: 'Connections' },
  'account': { path: 'account', title: 'Account' },
  'operator': { path: 'operator', title: 'Overview' },
  'operator-queue': { path: 'operator/queue', title: 'Queue', single: 'Generation' },
  'operator-providers': { path: 'operator/providers', title: 'Providers' },
  'operator-accounts': { path: 'operator/accounts', title: 'Accounts', single: 'Account' },
  'operator-catalog': { path: 'operator/catalog', title: 'Catalog' },
  'operator-ledger': { path: 'operator/ledger', title: 'Ledger check' },
} as const satisfies Readonly<Record<string, PageInfo>>;

interface PageInfo {
  readonly path: string;
  readonly title: string;
  readonly single?: string;
}

export type PageName = keyof typeof PAGES;

/** The part of a page that is shown: the id of a single item, and the query. */
export interface Within {
  readonly id?: string | undefined;
  readonly query?: Readonly<Record<string, string | undefined>>;
}

export interface Place {
  /** Undefined for an address that is not one of the console's. */
  readonly page: PageName | undefined;
  readonly id: string | undefined;
  readonly query: Readonly<Record<string, string>>;
}

/** The address of a page, or of something in it. */
export function hrefOf(name: PageName, { id, query = {} }: Within = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '');
  const text = new URLSearchParams(given).toString();
  const { path } = PAGES[name];
  const steps = [BASE, ...(path === '' ? [] : [path]), ...(id === undefined ? [] : [encodeURIComponent(id)])];
  return steps.join('/') + (text === '' ? '' : `?${text}`);
}

export function titleOf({ page, id }: Place): string {
  if (page === undefined) return 'Page not found';
  const { title, single = title }: PageInfo = PAGES[page];
  return id === undefined ? title : single;
}

const address = signal(currentAddress());

/** The place that the address names. */
export const place = computed(() => placeOf(address.value));

/** Whether the person moved to the page within the console. */
let hasMoved = false;

/** A page that the person moved to receives the focus, unless something in it has taken that. */
export function focusOnTitle(): void {
  if (!hasMoved || document.getElementById('content')?.contains(document.activeElement) === true) return;
  document.getElementById('page-title')?.focus({ preventScroll: true });
}

export interface Going {
  /** Whether the page stays where it is scrolled to; it begins at its top where absent. */
  readonly keepsScroll?: boolean;
  /** Whether the new address takes the place of this one in the history. */
  readonly replaces?: boolean;
}

/** `ask`, if set, asks the person before they go to another page, and calls `leave` if they agree. */
export const leaving: { ask: ((leave: () => void) => void) | undefined } = { ask: undefined };

/** Goes to another address of the console. The state of the history entry is true for what opens over the page before. */
export function goTo(href: string, going: Going = {}): void {
  const { keepsScroll = false, replaces = false } = going;
  const { ask } = leaving;
  if (ask !== undefined && href.split('?')[0] !== location.pathname)
    return ask(() => {
      leaving.ask = undefined;
      goTo(href, going);
    });
  if (replaces) window.history.replaceState(window.history.state, '', href);
  else window.history.pushState(keepsScroll, '', href);
  show();
  if (!keepsScroll) window.scrollTo(0, 0);
}

/** Replaces values in the query of the address without adding to the history. */
export function changeQuery(query: Within['query'] = {}): void {
  const { page, id, query: current } = place.value;
  if (page === undefined) return;
  window.history.replaceState(window.history.state, '', hrefOf(page, { id, query: { ...current, ...query } }));
  address.value = currentAddress();
}

window.addEventListener('popstate', show);

function show(): void {
  hasMoved = true;
  address.value = currentAddress();
}

function currentAddress() {
  const { pathname, search } = window.location;
  return { pathname, search };
}

function placeOf({ pathname, search }: ReturnType<typeof currentAddress>): Place {
  const path = pathname.slice(BASE.length).replace(/^\/|\/$/g, '');
  const query = Object.fromEntries(new URLSearchParams(search));
  const names = Object.keys(PAGES) as PageName[];
  const page = names.find((name) => PAGES[name].path === path);
  if (page !== undefined) return { page, id: undefined, query };
  const cut = path.lastIndexOf('/');
  const of = names.find((name) => 'single' in PAGES[name] && PAGES[name].path === path.slice(0, cut));
  return of === undefined || cut < 0
    ? { page: undefined, id: undefined, query }
    : { page: of, id: decoded(path.slice(cut + 1)), query };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
