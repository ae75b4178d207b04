import type { AccountStorage } from '../../operator/account-storage.js';
import { facts, table } from '../terminal.js';
import { moreText } from './paging.js';

/** How `accounts show` prints what an account stores. */
export function storageText({ uncharged, apps, limits }: AccountStorage): string {
  const lines = facts([
    [
      'uncharged content',
      `${uncharged.bytes} of ${limits.unchargedBytes} bytes, of ${uncharged.generations} generations`,
    ],
    ['an App may have', `${limits.uploads} uploads, ${limits.unfinished} of them unfinished, ${limits.bytes} bytes`],
  ]);
  const rows = apps.items.map(({ appId, name, uploads, unfinished, bytes }) => [
    appId,
    name,
    uploads,
    unfinished,
    bytes,
  ]);
  return `${lines}\n\n${table(['app', 'name', 'uploads', 'unfinished', 'bytes'], rows)}${moreText(apps)}`;
}
