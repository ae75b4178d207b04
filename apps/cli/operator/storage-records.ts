import type { AccountStorage } from '../../operator/account-storage.js';
import { facts, table } from '../terminal.js';
import { moreJson, moreText } from './paging.js';

/** How `accounts show` writes what an account stores. */
export function storageJson({ uncharged, apps, limits }: AccountStorage) {
  return {
    uncharged_content: uncharged,
    apps: apps.items.map(({ appId, name, uploads, unfinished, bytes }) => ({
      app_id: appId,
      name,
      uploads,
      unfinished_uploads: unfinished,
      upload_bytes: bytes,
    })),
    limits: {
      uncharged_content_bytes: limits.unchargedBytes,
      uploads: limits.uploads,
      unfinished_uploads: limits.unfinished,
      upload_bytes: limits.bytes,
    },
    ...moreJson(apps),
  };
}

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
