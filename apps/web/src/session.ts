import { computed, signal } from '@preact/signals';
import { clearDrafts } from './playground/draft.js';
import type { Overview } from './server-types.js';
import { inOrder, isUnreachable, read, sentenceOf } from './server.js';
import { RETRY_MS } from './use-data.js';

/** Who is signed in, their account and what the service offers; undefined until it has been loaded. */
export const overview = signal<Overview | undefined>(undefined);
/** Why the server refused it the last time. */
export const overviewFault = signal<string | undefined>(undefined);
/** Whether the server was not reached the last time. */
export const isOverviewLost = signal(false);

/** The name of the account's credits. */
export const currency = computed(() => overview.value?.account.currency ?? 'credits');

/** The name of credits beside an amount of them, such as "1 credit". */
export function unitOf(credits: number, name = currency.value): string {
  return credits === 1 && name === 'credits' ? 'credit' : name;
}

/** Whether the person could not sign in again: the link that they used works once. */
export const hasNoWayBack = computed(() => {
  const { person, session } = overview.value ?? {};
  return session?.method === 'link' && person?.has_password === false && !person.has_passkey;
});

const REFRESH_MS = 15_000;

const begin = inOrder();

/** Loads it again. Never rejects. */
export async function reloadOverview(): Promise<void> {
  const isLate = begin();
  try {
    const value = await read<Overview>('/overview');
    if (isLate()) return;
    overview.value = value;
    overviewFault.value = undefined;
    isOverviewLost.value = false;
  } catch (error) {
    if (isLate()) return;
    isOverviewLost.value = isUnreachable(error);
    if (!isOverviewLost.value) overviewFault.value = sentenceOf(error);
  }
}

/** Keeps it current for as long as the page is open, so that the balance follows the work of the account. */
export function followOverview(): void {
  const again = async (): Promise<void> => {
    if (!document.hidden) await reloadOverview();
    setTimeout(() => void again(), overviewFault.value === undefined && !isOverviewLost.value ? REFRESH_MS : RETRY_MS);
  };
  void again();
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void reloadOverview();
  });
  // A page out of the browser's cache may be of a session that has ended.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) void reloadOverview();
  });
}

/** Signs this browser out, and removes what it keeps of the account. A form of HTML, since the answer is another page. */
export function signOut(): void {
  clearDrafts();
  const form = document.createElement('form');
  form.method = 'post';
  form.action = '/sign-out';
  document.body.append(form);
  form.submit();
}
