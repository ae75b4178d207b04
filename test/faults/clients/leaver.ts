import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Draw } from '../draws.js';
import { REST } from '../rounds/schedule.js';
import type { ApiClient } from './api-client.js';
import { drawWish } from './wishes.js';

const THINKS_MS = 400;

/** Somebody who goes on using a key after it was revoked, through both processes, for as long as they are let. */
export async function useUntil(api: ApiClient, draw: Draw, shouldContinue: () => boolean): Promise<void> {
  while (shouldContinue()) {
    for (const through of REST) {
      const key = randomUUID();
      if (draw(3) === 0) await api.create(through, key, drawWish(draw, key));
      else await api.credits(through);
    }
    await sleep(THINKS_MS);
  }
}
