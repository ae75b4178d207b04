import type { Insertion } from '../../core/ports/stores.js';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Page, PageRequest } from '../../core/paging.js';
import { isRefused } from './subject.js';
import { forAll } from '../harness/for-all.js';

// Goal: generation and upload stores both keep one record per id, guard it by version and find it when it is due.
// Method: failure cases one by one, then random sequences of calls against a plain map.

interface VersionedRecord {
  readonly version: number;
  readonly dueAt: number;
}

interface VersionedStore<T> {
  insert(record: T): Promise<Insertion<T>>;
  read(id: string): Promise<T | null>;
  replace(next: T, expectedVersion: number): Promise<'applied' | 'conflict'>;
  remove(id: string, expectedVersion: number): Promise<'applied' | 'conflict'>;
  due(now: number, limit: number): Promise<readonly T[]>;
}

export interface VersionedSubject<T> {
  readonly store: () => VersionedStore<T>;
  /** The `n`th record, at the `n`th id. */
  readonly make: (n: number, values?: Partial<VersionedRecord>) => T;
  readonly idAt: (n: number) => string;
}

export function versionedRecords<T extends VersionedRecord>(subject: VersionedSubject<T>): void {
  inserting(subject);
  replacingAndRemoving(subject);
  findingDue(subject);
  sequences(subject);
}

function inserting<T extends VersionedRecord>({ store, make, idAt }: VersionedSubject<T>): void {
  it('reads null for a free id, and for a malformed one', async () => {
    await store().insert(make(1));
    for (const id of [
      idAt(2),
      idAt(1).toUpperCase().replace('0', '1'),
      '',
      'x',
      `{${idAt(1)}}`,
      idAt(1).replaceAll('-', ''),
    ]) {
      expect(await store().read(id), id).to.equal(null);
    }
  });

  it('answers the existing record of a taken id and writes nothing', async () => {
    await store().insert(make(1, { dueAt: 5 }));
    expect(await store().insert(make(1, { version: 7, dueAt: 6 }))).to.deep.equal({
      inserted: false,
      existing: make(1, { dueAt: 5 }),
    });
    expect(await store().read(idAt(1))).to.deep.equal(make(1, { dueAt: 5 }));
    expect(await store().due(10, 10)).to.have.length(1);
  });

  it('reads back every field as it was written', async () => {
    expect(await store().insert(make(1))).to.deep.equal({ inserted: true });
    expect(await store().read(idAt(1))).to.deep.equal(make(1));
  });

  it('accepts exactly one of many concurrent inserts at one id, and shows the others its record', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 32 }, (_, version) => store().insert(make(1, { version }))),
    );
    const kept = await store().read(idAt(1));
    expect(outcomes.filter(({ inserted }) => inserted)).to.have.length(1);
    for (const outcome of outcomes) if (!outcome.inserted) expect(outcome.existing).to.deep.equal(kept);
  });

  it('keeps its own copy: shares neither its arguments nor its answers', async () => {
    const given = structuredClone(make(1));
    await store().insert(given);
    Object.assign(given, { dueAt: 0, version: 99 });
    const answered = await store().read(idAt(1));
    expect(answered).to.deep.equal(make(1));
    expect(Reflect.set(answered as object, 'version', 99) ? await store().read(idAt(1)) : answered).to.deep.equal(
      make(1),
    );
  });
}

function replacingAndRemoving<T extends VersionedRecord>({ store, make, idAt }: VersionedSubject<T>): void {
  it('refuses to replace or remove a missing record', async () => {
    expect(await store().replace(make(1, { version: 1 }), 0)).to.equal('conflict');
    expect(await store().remove(idAt(1), 0)).to.equal('conflict');
    expect(await store().read(idAt(1))).to.equal(null);
  });

  it('refuses to replace or remove another version, older or newer, and changes nothing', async () => {
    await store().insert(make(1, { version: 5 }));
    for (const version of [4, 6]) {
      expect(await store().replace(make(1, { version: version + 1, dueAt: 0 }), version)).to.equal('conflict');
      expect(await store().remove(idAt(1), version)).to.equal('conflict');
    }
    expect(await store().read(idAt(1))).to.deep.equal(make(1, { version: 5 }));
  });

  it('lets exactly one of 64 concurrent replacements of one version win', async () => {
    await store().insert(make(1));
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, n) => store().replace(make(1, { version: 1, dueAt: n }), 0)),
    );
    expect(outcomes.filter((outcome) => outcome === 'applied')).to.have.length(1);
    expect((await store().read(idAt(1)))?.dueAt).to.equal(outcomes.indexOf('applied'));
  });

  it('frees the id of a removed record', async () => {
    await store().insert(make(1));
    expect(await store().remove(idAt(1), 0)).to.equal('applied');
    expect(await store().due(10_000, 10)).to.deep.equal([]);
    expect(await store().insert(make(1, { version: 3 }))).to.deep.equal({ inserted: true });
  });
}

function findingDue<T extends VersionedRecord>({ store, make }: VersionedSubject<T>): void {
  it('refuses a limit that is not 1 to 1,000', async () => {
    for (const limit of [0, -1, 1001, 1.5, Number.NaN]) {
      expect(await isRefused(store().due(0, limit)), String(limit)).to.equal(true);
    }
  });

  it('finds what is due at or before now, most overdue first, no more than asked for', async () => {
    for (const [n, dueAt] of [30, 10, 20, 40].entries()) await store().insert(make(n, { dueAt }));
    expect((await store().due(9, 10)).length).to.equal(0);
    expect((await store().due(30, 10)).map((record) => record.dueAt)).to.deep.equal([10, 20, 30]);
    expect((await store().due(30, 2)).map((record) => record.dueAt)).to.deep.equal([10, 20]);
  });

  it('finds a replaced record at its new time only', async () => {
    await store().insert(make(1, { dueAt: 10 }));
    await store().replace(make(1, { version: 1, dueAt: 30 }), 0);
    expect(await store().due(29, 10)).to.deep.equal([]);
    expect(await store().due(30, 10)).to.deep.equal([make(1, { version: 1, dueAt: 30 })]);
  });
}

type Call = {
  readonly kind: 'insert' | 'replace' | 'remove' | 'due';
  readonly n: number;
  readonly expected: number;
  readonly at: number;
};

function sequences<T extends VersionedRecord>({ store, make, idAt }: VersionedSubject<T>): void {
  const call = fc.record<Call>({
    kind: fc.constantFrom('insert', 'replace', 'remove', 'due'),
    n: fc.integer({ min: 1, max: 3 }),
    expected: fc.integer({ min: 0, max: 2 }),
    at: fc.integer({ min: 0, max: 20 }),
  });

  it('answers random sequences of calls as a plain map would', async () => {
    await forAll(60, [fc.array(call, { maxLength: 20 })], async (calls) => {
      const model = new Map<number, T>();
      for (const step of calls) await agree(step, model);
      for (const [n, record] of model) expect(await store().remove(idAt(n), record.version)).to.equal('applied');
    });
  });

  async function agree({ kind, n, expected, at }: Call, model: Map<number, T>): Promise<void> {
    const current = model.get(n);
    const matches = current?.version === expected;
    if (kind === 'due') {
      const due = [...model.values()]
        .filter((record) => record.dueAt <= at)
        .map((record) => record.dueAt)
        .sort((a, b) => a - b);
      expect((await store().due(at, 1000)).map((record) => record.dueAt)).to.deep.equal(due);
    } else if (kind === 'insert') {
      const record = make(n, { version: expected, dueAt: at });
      expect(await store().insert(record)).to.deep.equal(
        current === undefined ? { inserted: true } : { inserted: false, existing: current },
      );
      if (current === undefined) model.set(n, record);
    } else if (kind === 'replace') {
      const record = make(n, { version: expected + 1, dueAt: at });
      expect(await store().replace(record, expected)).to.equal(matches ? 'applied' : 'conflict');
      if (matches) model.set(n, record);
    } else {
      expect(await store().remove(idAt(n), expected)).to.equal(matches ? 'applied' : 'conflict');
      if (matches) model.delete(n);
    }
    expect(await store().read(idAt(n))).to.deep.equal(model.get(n) ?? null);
  }
}

/** Every item of a list, read in pages of `limit`; each page but the last must be full, and the last one must end. */
export async function allPages<T>(read: (page: PageRequest) => Promise<Page<T>>, limit: number): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page: Page<T> = await read(cursor === undefined ? { limit } : { limit, cursor });
    items.push(...page.items);
    if (page.nextCursor !== undefined) expect(page.items, 'a page with another behind it').to.have.length(limit);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}

// Goal: stores of one record a name keep it whole and guard it by its version, also for concurrent writers.
// Method: failure cases one by one, and writers that race for one version, again and again.

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
