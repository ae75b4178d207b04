// Goal: a data folder that other users can read is closed to them, and nothing else about it changes.
// Method: folders with every kind of open permissions; where the tests run as root, also as a user who does not own
// them.
import { expect } from 'chai';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closeToOthers } from '../../../adapters/sqlite/data-folder.js';

const NOBODY = 65_534;

describe('closeToOthers', () => {
  let folder: string;
  const inside = (name: string) => join(folder, name);
  const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-rights-'));
    for (const name of ['darkroom.db', 'darkroom.db-wal', 'secret', 'darkroom.yaml'])
      writeFileSync(inside(name), '', { mode: 0o600 });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('leaves a closed folder as it is', () => {
    expect(closeToOthers(folder)).to.deep.equal({ closed: [], open: [] });
  });

  it('removes the rights of others, and only those', () => {
    chmodSync(folder, 0o2755);
    chmodSync(inside('darkroom.db'), 0o644);
    chmodSync(inside('darkroom.db-wal'), 0o440);
    chmodSync(inside('secret'), 0o604);
    chmodSync(inside('darkroom.yaml'), 0o644);
    expect(closeToOthers(folder)).to.deep.equal({
      closed: [folder, inside('darkroom.db'), inside('darkroom.db-wal'), inside('secret')],
      open: [],
    });
    expect(
      ['darkroom.db', 'darkroom.db-wal', 'secret', 'darkroom.yaml'].map((name) => modeOf(inside(name))),
    ).to.deep.equal(['600', '400', '600', '644']);
    expect(statSync(folder).mode & 0o777).to.equal(0o700);
    expect(closeToOthers(folder)).to.deep.equal({ closed: [], open: [] });
  });

  it('reports nothing for a missing folder', () => {
    expect(closeToOthers(inside('missing'))).to.deep.equal({ closed: [], open: [] });
  });

  it('leaves files of another user unchanged, and names them', function () {
    if (process.getuid?.() !== 0 || process.seteuid === undefined) return this.skip();
    chmodSync(folder, 0o777);
    chownSync(inside('secret'), NOBODY, NOBODY);
    chmodSync(inside('secret'), 0o644);
    process.seteuid(NOBODY);
    try {
      expect(closeToOthers(folder)).to.deep.equal({ closed: [inside('secret')], open: [folder] });
    } finally {
      process.seteuid(0);
    }
  });
});
