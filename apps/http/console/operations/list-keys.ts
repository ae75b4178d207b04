import { listAccountKeys } from '../../../../core/people/account-keys.js';
import type { Cap } from '../../../../core/credits/cap.js';
import { readCapUses } from '../cap-uses.js';
import type { ConsoleOperation } from '../console-operation.js';
import { renderKey } from '../render-key.js';

/** The page shows so many keys, those that still work first. */
const MAX_SHOWN = 1_000;

export const listKeys: ConsoleOperation = {
  method: 'GET',
  path: '/keys',
  async answer({ context }, { signedIn: { person } }) {
    const { accountId } = person;
    const keys = await listAccountKeys(context, accountId);
    const { items } = await context.credentials.listApps(accountId, { limit: 1_000 });
    const names = new Map(items.map(({ appId, name }) => [appId, name]));
    const usedOf = await readCapUses(
      context,
      accountId,
      keys.some(({ monthlyCap }) => monthlyCap !== undefined),
    );
    const now = context.clock.now();
    const isOver = ({ revokedAt, expiresAt = Infinity }: (typeof keys)[number]) =>
      revokedAt !== undefined || expiresAt <= now;
    const shown = [...keys.filter((key) => !isOver(key)), ...keys.filter(isOver)].slice(0, MAX_SHOWN);
    return {
      keys: shown.map((key) => {
        const cap: Cap | undefined =
          key.monthlyCap === undefined ? undefined : { credits: key.monthlyCap, per: 'month' };
        return renderKey(key, {
          appName: names.get(key.appId) ?? null,
          used: usedOf(key.keyId, cap),
          isOver: isOver(key),
        });
      }),
      total: keys.length,
    };
  },
};
