import type { JsonObject } from '../../../core/json.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { sha256Of } from '../../fixtures/sha256.js';
import type { Network } from '../harness/network.js';
import { Chance, type Scheduler } from '../harness/scheduler.js';
import type { Answer, Request } from '../observed.js';
import { textField } from './operator.js';

/** Uploads reference files: correct ones, damaged ones, files other than declared, and replacements afterwards. */
export class Uploader {
  /** Uploads that were reported as ready. */
  readonly ready: string[] = [];
  private made = 0;

  constructor(
    private readonly name: string,
    private readonly ask: (request: Request) => Promise<Answer>,
    private readonly network: Network,
    private readonly scheduler: Scheduler,
    private readonly chance: Chance,
  ) {}

  /**
   * Prepares, sends and completes one upload, with all possible failures on the way; returns its id once there is one.
   */
  async journey(): Promise<string | undefined> {
    this.made += 1;
    const key = `${this.name}-upload-${this.made}`;
    const declared = plainImage(64, 64, 'image/png', key);
    const prepared = await this.prepare(key, declared);
    if (prepared === undefined) return undefined;
    const uploadId = textField(prepared, 'upload_id');
    for (let tries = 0; tries < 3; tries += 1) {
      if (this.chance.happens(900))
        await this.send(prepared, this.chance.happens(800) ? declared : this.otherThan(declared));
      if (this.chance.happens(150)) void this.send(prepared, this.otherThan(declared));
      const answers = await Promise.all(
        Array.from({ length: this.chance.pick([1, 1, 1, 2, 3]) }, () => this.complete(key, uploadId, declared)),
      );
      if (!answers.some(({ outcome }) => outcome === 'success')) continue;
      this.ready.push(uploadId);
      this.sometimesDelete();
      if (this.chance.happens(500)) await this.send(prepared, this.otherThan(declared));
      break;
    }
    return uploadId;
  }

  /**
   * Not awaited: creates that name it run concurrently. It has its own draws, so that runs without a deletion are
   * unchanged.
   */
  private sometimesDelete(): void {
    const own = Chance.from(this.scheduler.steps);
    if (own.happens(250)) void this.ask({ operation: 'delete-upload', uploadId: own.pick(this.ready) });
  }

  private async prepare(key: string, bytes: Uint8Array): Promise<JsonObject | undefined> {
    const body: JsonObject = {
      filename: 'reference.png',
      media_type: 'image/png',
      byte_size: bytes.byteLength,
      role: this.chance.pick(['reference_image', 'reference_image', 'start_frame']),
      ...(this.chance.happens(500) ? { sha256: sha256Of(bytes) } : {}),
    };
    for (let tries = 0; tries < 3; tries += 1) {
      const answer = await this.ask({ operation: 'prepare', key, body });
      if (answer.outcome === 'success') return answer.data;
      await this.scheduler.pause(this.chance.pick([0, 2_000, 12_000]));
    }
    return undefined;
  }

  private send(prepared: JsonObject, bytes: Uint8Array): Promise<void> {
    return this.network.put(
      textField(prepared, 'upload_id'),
      textField(prepared, 'upload_url'),
      prepared['required_headers'] as Record<string, string>,
      bytes,
    );
  }

  private complete(key: string, uploadId: string, bytes: Uint8Array): Promise<Answer> {
    const body: JsonObject = this.chance.happens(500)
      ? { sha256: this.chance.happens(900) ? sha256Of(bytes) : '0'.repeat(64) }
      : {};
    return this.ask({ operation: 'complete', key: this.chance.happens(700) ? key : `${key}-again`, uploadId, body });
  }

  /** Undeclared bytes of the same length, so that only reading them reveals the difference. */
  private otherThan(bytes: Uint8Array): Uint8Array {
    // Also a picture of the same length, but of another type than declared.
    if (this.chance.happens(300))
      return plainImage(64, 64, this.chance.pick(['image/jpeg', 'image/webp']), 'x'.repeat(bytes.byteLength)).subarray(
        0,
        bytes.byteLength,
      );
    const other = bytes.slice();
    const place = this.chance.pick([0, bytes.byteLength - 1]);
    other[place] = (other[place] as number) ^ 1;
    return this.chance.happens(200) ? other.subarray(1) : other;
  }
}
