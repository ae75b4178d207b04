// Goal: a folder that a server did not leave by itself says so at each start until a check has passed, and to one server at a time.
// Method: locks that are taken and let go in the ways that a start can end, and the notes of a server that was cut off.
import { expect } from 'chai';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataFolderRefused } from '../../../adapters/sqlite/data-folder.js';
import { ServerLock } from '../../../adapters/sqlite/server-lock.js';
import { temporaryFolder } from './sqlite-subject.js';

describe('ServerLock', () => {
  let folder: string;
  const pidPath = (): string => join(folder, 'server.pid');
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** As a server leaves the folder that is cut off before the machine is started again. */
  function cutOff(pid = '1'): void {
    writeFileSync(pidPath(), pid);
    writeFileSync(join(folder, 'server.boot'), 'another start');
  }

  function mayHaveLostWrites(): boolean {
    const lock = ServerLock.take(folder);
    lock.abandon();
    return lock.mayHaveLostWrites;
  }

  it('is held by one server at a time', () => {
    const lock = ServerLock.take(folder);
    expect(() => ServerLock.take(folder)).to.throw(DataFolderRefused, `(process ${process.pid})`);
    lock.release();
    ServerLock.take(folder).release();
  });

  it('finds a server that was cut off at each start that fails before a check has passed', () => {
    cutOff();
    for (let start = 1; start <= 3; start += 1) expect(mayHaveLostWrites(), `start ${start}`).to.equal(true);
  });

  it('finds nothing after a check has passed, though the start fails then', () => {
    cutOff();
    const lock = ServerLock.take(folder);
    lock.noteWhole();
    lock.abandon();
    expect(existsSync(pidPath())).to.equal(false);
    expect(mayHaveLostWrites()).to.equal(false);
  });

  it('finds nothing after a failed start on a folder that was left in good order', () => {
    ServerLock.take(folder).release();
    for (let start = 1; start <= 2; start += 1) expect(mayHaveLostWrites(), `start ${start}`).to.equal(false);
    expect(existsSync(pidPath())).to.equal(false);
  });

  it('takes a process id that was not written in full for that of a server that was cut off', () => {
    cutOff('');
    expect(mayHaveLostWrites()).to.equal(true);
  });

  it('finds damage that was noted, though the server stopped by itself', () => {
    const lock = ServerLock.take(folder);
    lock.noteWhole();
    lock.noteDamaged();
    lock.release();
    expect(mayHaveLostWrites()).to.equal(true);
  });
});
