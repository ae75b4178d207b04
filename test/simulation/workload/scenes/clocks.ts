import { createKey } from '../../../../core/access/manage.js';
import type { Credential } from '../../world/network.js';
import { RECOVERY_INTERVAL_MS } from '../../world/settings.js';
import type { Stage } from './stage.js';

/** Two hours ahead, and back again before it is believed: nothing goes before its time. */
export async function leap(stage: Stage): Promise<void> {
  const [process] = stage.runners;
  if (process === undefined) return;
  process.skewMs += 2 * 3_600_000;
  await stage.world.scheduler.pause(RECOVERY_INTERVAL_MS - 1_000);
  process.skewMs -= 2 * 3_600_000;
  // Seen twice in a row it would be believed.
  await stage.world.scheduler.pause(2 * RECOVERY_INTERVAL_MS);
}

/** Again and again by a little, so that nothing seems to get old: a revoked key is refused all the same. */
export async function setBack(stage: Stage): Promise<void> {
  const process = stage.doors[0];
  if (process === undefined) return;
  const { key, secret } = await createKey(process.context, { appId: stage.hero.appId, name: 'short-lived' });
  const shortLived: Credential = { ...stage.hero, keyId: key.keyId, secret };
  await stage.network.ask({ operation: 'credits' }, shortLived, process);
  await stage.network.ask({ operation: 'revoke', keyId: key.keyId });
  const { skewMs } = process;
  for (let times = 0; times < 12; times += 1) {
    await stage.world.scheduler.pause(1_000);
    process.skewMs -= 1_000;
    await stage.network.ask({ operation: 'credits' }, shortLived, process);
  }
  process.skewMs = skewMs;
}
