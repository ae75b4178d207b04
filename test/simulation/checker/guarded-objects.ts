import { createHash } from 'node:crypto';
import { checkBytes, type ObservedBytes } from '../../history/uploads.js';
import { type Durable, violation } from '../observed.js';
import type { Handlers } from './calls.js';
import { demandNone } from './event-order.js';

interface Guarded {
  readonly objectKey: string;
  readonly sha256: string;
  readonly byteSize: number;
  /** The owner of the bytes, in words. */
  readonly of: string;
  /** Whether the remover may remove it, by its own clock. */
  readonly mayGo?: (at: number) => boolean;
}

/** Invariant 16: promised bytes must stay as they are, unless the object store itself spoiled them. */
export class GuardedObjects {
  private readonly guarded = new Map<string, Guarded>();
  private readonly spoiledKeys = new Set<string>();

  constructor(private readonly objects: Durable['objects']) {}

  readonly handlers: Handlers = {
    'objects.write': async ({ args: [key], result, process }) => {
      if (result !== 'too-large') await this.touched(key, process);
    },
    'objects.copy': async ({ args: [, to], result, process }) => {
      if (result === 'copied') await this.touched(to, process);
    },
    'objects.remove': ({ args: [key], process, at, processNow }) => {
      const guarded = this.guarded.get(key);
      if (!guarded) return;
      if (guarded.mayGo?.(at) !== true)
        throw violation`16: ${process} removed ${key}, of ${guarded.of}, at ${processNow} by its clock`;
      this.guarded.delete(key);
    },
  };

  /** From now on these bytes must be stored at this key; they are checked right away. */
  async guard(guarded: Guarded): Promise<void> {
    this.guarded.set(guarded.objectKey, guarded);
    await this.requireStanding(guarded.objectKey);
  }

  release(objectKey: string): void {
    this.guarded.delete(objectKey);
  }

  spoiled(objectKey: string): void {
    this.spoiledKeys.add(objectKey);
  }

  async isThere(objectKey: string): Promise<boolean> {
    return (await this.objects.stat(objectKey)) !== null;
  }

  async requireStanding(objectKey: string): Promise<void> {
    const guarded = this.guarded.get(objectKey);
    if (!guarded || this.spoiledKeys.has(objectKey)) return;
    const { of, sha256, byteSize } = guarded;
    const bytes = await this.objects.read(objectKey);
    const stored = bytes === null ? undefined : await observed(bytes);
    demandNone(checkBytes(`${of} at ${objectKey}`, { byteSize, sha256 }, stored));
  }

  async requireAllStanding(): Promise<void> {
    for (const objectKey of this.guarded.keys()) await this.requireStanding(objectKey);
  }

  async requireAllOf(owner: string): Promise<void> {
    for (const { objectKey, of } of this.guarded.values()) if (of === owner) await this.requireStanding(objectKey);
  }

  /** Writing the same bytes again is harmless. */
  private async touched(key: string, process: string): Promise<void> {
    const guarded = this.guarded.get(key);
    if (!guarded) return;
    this.spoiledKeys.delete(key);
    if (guarded.of.startsWith('upload')) throw violation`16: ${process} wrote to ${key}, of ${guarded.of}`;
    await this.requireStanding(key);
  }
}

async function observed(bytes: AsyncIterable<Uint8Array>): Promise<ObservedBytes> {
  const hash = createHash('sha256');
  let byteSize = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    byteSize += chunk.byteLength;
  }
  return { byteSize, sha256: hash.digest('hex') };
}
