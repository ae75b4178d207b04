import type { MemoryObjectStore } from '../../../adapters/memory/memory-object-store.js';
import { StoreUnavailable } from '../../../core/errors.js';
import type { ObjectStore } from '../../../core/ports/object-store.js';
import { collected, streamOf } from '../../fixtures/byte-streams.js';
import type { RunContext } from '../harness/run-context.js';

/** An object store that now and then keeps less than it was given, gives less than it keeps, or loses an object. */
export class FaultyObjects implements ObjectStore {
  private readonly keys = new Set<string>();
  readonly signPut: ObjectStore['signPut'];
  readonly signGet: ObjectStore['signGet'];
  readonly stat: ObjectStore['stat'];

  constructor(
    private readonly store: MemoryObjectStore,
    private readonly context: RunContext,
  ) {
    this.signPut = (target) => store.signPut(target);
    this.signGet = (target) => store.signGet(target);
    this.stat = (key) => store.stat(key);
  }

  /** Loses some object for good. */
  async loseOne(): Promise<void> {
    if (this.keys.size === 0) return;
    const key = this.context.chance.pick([...this.keys]);
    this.context.tally.add('object lost');
    this.context.timeline.note(this.context.scheduler.now, 'objects', () => `! loses ${key}`);
    this.context.observer.spoiled(key);
    await this.remove(key);
  }

  /** A client's bytes have arrived under this key. */
  arrived(key: string): Promise<void> {
    return this.keep(key, 'object PUT cut short');
  }

  async read(key: string, range?: Parameters<ObjectStore['read']>[1]): Promise<AsyncIterable<Uint8Array> | null> {
    const bytes = await this.store.read(key, range);
    if (bytes === null) return null;
    if (this.strikes('object read breaks')) return broken(bytes);
    return this.strikes('object read cut short') ? streamOf(cutShort(await collected(bytes))) : bytes;
  }

  async write(...[key, bytes, limit]: Parameters<ObjectStore['write']>): ReturnType<ObjectStore['write']> {
    const written = await this.store.write(key, bytes, limit);
    if (written !== 'too-large') await this.keep(key, 'object write cut short');
    return written;
  }

  async copy(from: string, to: string, ifEtag: string): ReturnType<ObjectStore['copy']> {
    const copied = await this.store.copy(from, to, ifEtag);
    if (copied === 'copied') await this.keep(to, 'object copy cut short');
    return copied;
  }

  remove(key: string): Promise<void> {
    this.keys.delete(key);
    return this.store.remove(key);
  }

  private async keep(key: string, fault: string): Promise<void> {
    this.keys.add(key);
    if (!this.strikes(fault)) return;
    const bytes = await this.store.read(key);
    if (bytes === null) return;
    await this.store.write(key, streamOf(cutShort(await collected(bytes))), {
      mediaType: 'application/octet-stream',
      maxBytes: Infinity,
    });
  }

  private strikes(fault: string): boolean {
    const { profile, chance, tally, scheduler, timeline } = this.context;
    if (!chance.happens(profile.objectPerMille)) return false;
    tally.add(fault);
    timeline.note(scheduler.now, 'objects', () => `! ${fault}`);
    return true;
  }
}

/** Enough that it still looks like what it was. */
function cutShort(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.byteLength - Math.min(8, bytes.byteLength >> 1));
}

async function* broken(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    yield cutShort(chunk);
    break;
  }
  throw new StoreUnavailable('The line to the object store broke.');
}
