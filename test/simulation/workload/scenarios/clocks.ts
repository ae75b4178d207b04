import { createKey } from '../../../../core/access/manage.js';
import type { Credential } from '../../harness/network.js';
import { RECOVERY_INTERVAL_MS } from '../../harness/settings.js';
import type { ScenarioRun } from './scenario-run.js';

/** A clock leaps two hours ahead, and back again before its time is believed: nothing expires early. */
export async function leap(run: ScenarioRun): Promise<void> {
  const [process] = run.runners;
  if (process === undefined) return;
  process.skewMs += 2 * 3_600_000;
  await run.context.scheduler.pause(RECOVERY_INTERVAL_MS - 1_000);
  process.skewMs -= 2 * 3_600_000;
  // If it were seen twice in succession it would be believed.
  await run.context.scheduler.pause(2 * RECOVERY_INTERVAL_MS);
}

/** A clock is repeatedly set back a little, so that nothing seems to get old: a revoked key is refused all the same. */
export async function setBack(run: ScenarioRun): Promise<void> {
  const process = run.fronts[0];
  if (process === undefined) return;
  const { key, secret } = await createKey(process.context, { appId: run.payer.appId, name: 'short-lived' });
  const shortLived: Credential = { ...run.payer, keyId: key.keyId, secret };
  await run.network.ask({ operation: 'credits' }, shortLived, process);
  await run.network.ask({ operation: 'revoke', keyId: key.keyId });
  const { skewMs } = process;
  for (let times = 0; times < 12; times += 1) {
    await run.context.scheduler.pause(1_000);
    process.skewMs -= 1_000;
    await run.network.ask({ operation: 'credits' }, shortLived, process);
  }
  process.skewMs = skewMs;
}
