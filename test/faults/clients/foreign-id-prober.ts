import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { oneOf, type Draw } from '../draws.js';
import { REST } from '../rounds/schedule.js';
import type { ApiClient } from './api-client.js';
import { wishWith } from './wishes.js';

const THINKS_MS = 250;

/** A client with its own account that asks for ids of another account, and for ids that were never issued. */
export class ForeignIdProber {
  constructor(
    private readonly api: ApiClient,
    private readonly draw: Draw,
  ) {}

  async run(shouldContinue: () => boolean): Promise<void> {
    while (shouldContinue()) {
      await this.probe();
      await sleep(this.draw(THINKS_MS));
    }
  }

  private async probe(): Promise<void> {
    const through = oneOf(this.draw, REST);
    const generationId = this.anyId('generation_id');
    const uploadId = this.anyId('upload_id');
    switch (this.draw(4)) {
      case 0:
        return void (await this.api.get(through, generationId));
      case 1:
        return void (await this.api.cancel(through, generationId));
      case 2:
        return void (await this.api.complete(through, randomUUID(), uploadId, {}));
      default: {
        const key = randomUUID();
        return void (await this.api.create(through, key, wishWith([uploadId], key)));
      }
    }
  }

  /** One that somebody was told, or one that nobody was. */
  private anyId(field: 'generation_id' | 'upload_id'): string {
    const { exchanges } = this.api.recorder;
    for (let tries = 0; tries < 50 && this.draw(3) > 0; tries += 1) {
      const id = exchanges[this.draw(Math.max(1, exchanges.length))]?.answered?.answer.data?.[field];
      if (typeof id === 'string') return id;
    }
    return randomUUID();
  }
}
