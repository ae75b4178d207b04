// Goal: stores of one record a name keep it whole and guard it by its version, also for concurrent writers.
// Method: failure cases one by one, and writers that race for one version, again and again.
import { expect } from 'chai';

interface NamedStore<T> {
  read(name: string): Promise<T | null>;
  replace(next: T, expectedVersion: number): Promise<'applied' | 'conflict'>;
}

export interface NamedSubject<T> {
  readonly store: () => NamedStore<T>;
  readonly make: (version: number, name: string) => T;
  /** Two names. */
  readonly names: readonly [string, string];
}

export function namedRecords<T extends { readonly version: number }>({ store, make, names }: NamedSubject<T>): void {
  const [one, other] = names;

  it('has nothing under a name that was never written', async () => {
    expect(await store().read(one)).to.equal(null);
  });

  it('keeps every field of what was written, for each name', async () => {
    expect(await store().replace(make(1, one), 0)).to.equal('applied');
    expect(await store().replace(make(1, other), 0)).to.equal('applied');
    expect(await store().replace(make(2, one), 1)).to.equal('applied');
    expect(await store().read(one)).to.deep.equal(make(2, one));
    expect(await store().read(other)).to.deep.equal(make(1, other));
  });

  it('writes onto no other version than the expected one', async () => {
    expect(await store().replace(make(2, one), 1)).to.equal('conflict');
    expect(await store().replace(make(1, one), 0)).to.equal('applied');
    for (const expected of [0, 2]) expect(await store().replace(make(9, one), expected)).to.equal('conflict');
    expect(await store().read(one)).to.deep.equal(make(1, one));
  });

  it('lets one of twelve concurrent writers write onto a version', async () => {
    for (const version of [1, 2, 3]) {
      const writes = Array.from({ length: 12 }, () => store().replace(make(version, one), version - 1));
      expect((await Promise.all(writes)).filter((outcome) => outcome === 'applied')).to.have.length(1);
    }
    expect((await store().read(one))?.version).to.equal(3);
  });
}
