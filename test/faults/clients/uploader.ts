import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { image } from '../../fixtures/images.js';
import { textOf } from '../../history/values.js';
import { between, type Draw, oneOf } from '../draws.js';
import type { Answer } from '../../history/recorded/history.js';
import { REST, type RestName } from '../rounds/schedule.js';
import { type ApiClient, insist, sha256Of } from './api-client.js';
import { wishWith } from './wishes.js';

const MAX_TRIES = 6;
const BETWEEN_TRIES_MS = 300;
/** It does not poll its generations, so uploads are spaced such that no backlog of generations grows. */
const BETWEEN_UPLOADS_AT_MOST_MS = 2_000;

/** A client that uploads pictures, sometimes with other bytes than it declared, and uses them in generations. */
export class Uploader {
  constructor(
    private readonly api: ApiClient,
    private readonly draw: Draw,
    private readonly wish = (_: Draw, uploadId: string, createKey: string) => wishWith([uploadId], createKey),
  ) {}

  async run(shouldContinue: () => boolean): Promise<void> {
    while (shouldContinue()) {
      await this.upload(shouldContinue);
      await sleep(this.draw(BETWEEN_UPLOADS_AT_MOST_MS));
    }
  }

  private async upload(shouldContinue: () => boolean): Promise<void> {
    const uploadId = await this.ready(shouldContinue);
    if (uploadId === undefined) return;
    const createKey = randomUUID();
    const body = this.wish(this.draw, uploadId, createKey);
    await this.insist(shouldContinue, (through) => this.api.create(through, createKey, body));
  }

  /** A ready upload of this client; undefined when no answer reported it ready. */
  async ready(shouldContinue: () => boolean): Promise<string | undefined> {
    const bytes = await image('png', between(this.draw, 16, 80), between(this.draw, 16, 80));
    const sha256 = sha256Of(bytes);
    const key = randomUUID();
    const declared = this.draw(2) === 0 ? { sha256 } : {};
    const body = {
      filename: `${key}.png`,
      media_type: 'image/png',
      byte_size: bytes.byteLength,
      role: 'reference_image',
      ...declared,
    };
    const prepared = await this.insist(shouldContinue, (through) => this.api.prepare(through, key, body));
    const target = prepared?.data;
    if (!target) return undefined;
    const uploadId = textOf(target['upload_id']);

    if (this.draw(4) === 0) await this.api.put(uploadId, target, damaged(bytes));
    const completeKey = randomUUID();
    const checksum = this.draw(2) === 0 ? { sha256 } : {};
    const completed = await this.insist(shouldContinue, async (through) => {
      const put = await this.api.put(uploadId, target, bytes);
      return put?.status === 200 ? this.api.complete(through, completeKey, uploadId, checksum) : undefined;
    });
    return completed?.status === 200 ? uploadId : undefined;
  }

  /** Uses either process; stops after a few tries, and the request is settled at the end of the run. */
  private insist(
    shouldContinue: () => boolean,
    ask: (through: RestName) => Promise<Answer | undefined>,
  ): Promise<Answer | undefined> {
    return insist(() => ask(oneOf(this.draw, REST)), {
      mostTries: MAX_TRIES,
      betweenMs: BETWEEN_TRIES_MS,
      shouldContinue,
    });
  }
}

/** Different bytes of the same length. */
function damaged(bytes: Uint8Array): Uint8Array {
  const other = Uint8Array.from(bytes);
  const last = other.length - 20;
  other[last] = (other[last] ?? 0) ^ 0xff;
  return other;
}
