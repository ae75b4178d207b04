import type { ObjectStore } from 'darkroom-server/core/ports/object-store';

/** Keeps everything under one prefix of another store, so that several services can share it without meeting. */
export class PrefixedObjectStore implements ObjectStore {
  constructor(
    private readonly inner: ObjectStore,
    private readonly prefix: string,
  ) {}

  signPut(target: Parameters<ObjectStore['signPut']>[0]) {
    return this.inner.signPut({ ...target, key: this.prefix + target.key });
  }

  signGet(target: Parameters<ObjectStore['signGet']>[0]) {
    return this.inner.signGet({ ...target, key: this.prefix + target.key });
  }

  stat(key: string) {
    return this.inner.stat(this.prefix + key);
  }

  read(key: string, range?: { readonly from: number; readonly to: number }) {
    return this.inner.read(this.prefix + key, range);
  }

  write(
    key: string,
    bytes: AsyncIterable<Uint8Array>,
    limit: { readonly mediaType: string; readonly maxBytes: number },
  ) {
    return this.inner.write(this.prefix + key, bytes, limit);
  }

  copy(from: string, to: string, ifEtag: string) {
    return this.inner.copy(this.prefix + from, this.prefix + to, ifEtag);
  }

  remove(key: string) {
    return this.inner.remove(this.prefix + key);
  }
}
