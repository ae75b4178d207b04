// Goal: acknowledged writes survive a restart, and a SIGKILL in the middle of writing.
// Method: a data folder closed and opened again; then a process that writes under load and is killed, several rounds on
// one folder.
import { rmSync } from 'node:fs';
import { expect } from 'chai';
import { openSqlite } from '../../../adapters/sqlite/open-sqlite.js';
import {
  aChange,
  aClaim,
  aGeneration,
  anAccount,
  anApiKey,
  anApp,
  anUpload,
  uuidAt,
} from '../../fixtures/stored-records.js';
import { ServerProcess } from './child-process.js';
import { temporaryFolder } from './sqlite-subject.js';

describe('SQLite durability', () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('finds everything again after it was closed and opened', async () => {
    const hold = { generationId: uuidAt(5), credits: 3, heldAt: 4 };
    const first = await openSqlite({ folder, role: 'server' });
    await first.accounts.create(anAccount(1));
    await first.accounts.apply(aChange(anAccount(1), { issued: 3, reserved: 3, holdsOpened: [hold] }));
    await Promise.all([
      first.generations.insert(aGeneration(1)),
      first.uploads.insert(anUpload(1)),
      first.claims.insert(aClaim(1)),
      first.credentials.insertApp(anApp(1)),
      first.credentials.insertKey(anApiKey(1)),
      first.wakeUpTable.upsert(uuidAt(1), 7),
    ]);
    await first.close();
    const second = await openSqlite({ folder, role: 'server' });
    expect(await second.accounts.read(uuidAt(1))).to.deep.include({
      version: 1,
      issued: 3,
      reserved: 3,
      holds: new Map([[uuidAt(5), hold]]),
    });
    expect(await second.generations.read(uuidAt(1))).to.deep.equal(aGeneration(1));
    expect(await second.uploads.read(uuidAt(1))).to.deep.equal(anUpload(1));
    expect(await second.claims.insert(aClaim(1, { version: 2 }))).to.deep.equal({
      inserted: false,
      existing: aClaim(1),
    });
    expect(await second.credentials.readApp(uuidAt(1))).to.deep.equal(anApp(1));
    expect(await second.credentials.findKey({ keyId: uuidAt(1) })).to.deep.equal(anApiKey(1));
    expect(second.wakeUpTable.due(7, 10)).to.deep.equal([{ key: uuidAt(1), at: 7 }]);
    await second.close();
  });

  it('completes writes requested before the close, and refuses later ones', async () => {
    const first = await openSqlite({ folder, role: 'server' });
    const writes = Array.from({ length: 5_000 }, (_, n) => first.generations.insert(aGeneration(n)));
    const closed = first.close();
    const late = await first.uploads.insert(anUpload(1)).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(late).to.have.property('name', 'StoreUnavailable');
    expect((await Promise.all(writes)).every(({ inserted }) => inserted)).to.equal(true);
    await closed;
    const second = await openSqlite({ folder, role: 'server' });
    for (const n of [0, 2_500, 4_999]) expect(await second.generations.read(uuidAt(n))).to.deep.equal(aGeneration(n));
    await second.close();
  });

  it('loses no acknowledged write to a SIGKILL under load', async () => {
    const acknowledged = new Set<number>();
    for (const lines of [40, 400, 1_500, 3_000]) {
      const server = new ServerProcess(folder, 'write');
      await server.toldLines(lines);
      await server.kill();
      expect(server.lines.length).to.be.at.least(lines);
      for (const line of server.lines) acknowledged.add(Number(line));
    }
    const stores = await openSqlite({ folder, role: 'server' });
    for (const n of acknowledged)
      expect(await stores.generations.read(uuidAt(n)), `record ${n}`).to.deep.equal(aGeneration(n));
    await stores.close();
  });
});
