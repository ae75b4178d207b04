/**
 * Goal: several files get their new texts together or stay as they were, and keep what their owner gave them.
 * Method: files in a folder of the test; the second of two cannot be written, or is not as it was read.
 */
import { expect } from 'chai';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changeFiles, readText } from '../../../apps/cli/changed-files.js';

describe('files that are changed together', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'darkroom-changed-'));
    writeFileSync(join(folder, 'one.yaml'), 'one');
    writeFileSync(join(folder, 'two.yaml'), 'two');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const change = (name: string, before: string | undefined, after: string) => ({
    path: join(folder, name),
    name,
    before,
    after,
  });
  const texts = () => readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));

  it('have their new texts, and a new one is made with its folder', () => {
    changeFiles([
      change('one.yaml', 'one', '1'),
      change('two.yaml', 'two', '2'),
      change('new/three.yaml', undefined, '3'),
    ]);
    expect(['one.yaml', 'two.yaml', 'new/three.yaml'].map((name) => readText(join(folder, name), name))).to.deep.equal([
      '1',
      '2',
      '3',
    ]);
    expect(readdirSync(folder)).to.have.length(3);
  });

  it('keep their permissions, and a link stays a link', () => {
    chmodSync(join(folder, 'one.yaml'), 0o600);
    symlinkSync(join(folder, 'two.yaml'), join(folder, 'link.yaml'));
    changeFiles([change('one.yaml', 'one', '1'), change('link.yaml', 'two', '2')]);
    expect(statSync(join(folder, 'one.yaml')).mode & 0o777).to.equal(0o600);
    expect(lstatSync(join(folder, 'link.yaml')).isSymbolicLink()).to.equal(true);
    expect(readFileSync(join(folder, 'two.yaml'), 'utf8')).to.equal('2');
  });

  it('stay as they were when one has another text than was read, or appeared in the meantime', () => {
    for (const second of [change('two.yaml', 'another', '2'), change('two.yaml', undefined, '2')])
      expect(() => changeFiles([change('one.yaml', 'one', '1'), second])).to.throw(
        'two.yaml was changed by another program in the meantime; nothing was written, so run the command again.',
      );
    expect(texts()).to.deep.equal(['one', 'two']);
  });

  it('stay as they were when one cannot be written', () => {
    expect(() => changeFiles([change('one.yaml', 'one', '1'), change('two.yaml/three.yaml', undefined, '3')])).to.throw(
      /^two\.yaml\/three\.yaml cannot be (?:written|read) \(\w+\)/,
    );
    // The text can be compared, and then its name is taken by a folder.
    mkdirSync(join(folder, 'four.yaml'));
    expect(() => changeFiles([change('one.yaml', 'one', '1'), change('four.yaml', undefined, '4')])).to.throw(
      /four\.yaml/,
    );
    rmSync(join(folder, 'four.yaml'), { recursive: true });
    expect(texts()).to.deep.equal(['one', 'two']);
  });

  it('stay as they were while another command changes one, and a name that it left behind is named', () => {
    writeFileSync(join(folder, 'two.yaml.lock'), '');
    const both = [change('one.yaml', 'one', '1'), change('two.yaml', 'two', '2')];
    expect(() => changeFiles(both)).to.throw(
      `${join(folder, 'two.yaml.lock')} exists: another command is changing two.yaml. If none is, delete that file; nothing was changed.`,
    );
    expect(texts()).to.deep.equal(['one', 'two', '']);
    rmSync(join(folder, 'two.yaml.lock'));
    changeFiles(both);
    expect(texts()).to.deep.equal(['1', '2']);
  });

  it('stay as they were when one is read-only', function () {
    if (process.getuid?.() === 0) this.skip();
    chmodSync(join(folder, 'two.yaml'), 0o444);
    expect(() => changeFiles([change('one.yaml', 'one', '1'), change('two.yaml', 'two', '2')])).to.throw(
      'two.yaml cannot be written (EACCES); nothing was changed.',
    );
    expect(texts()).to.deep.equal(['one', 'two']);
  });

  it('keep their owner and group when an administrator changes them', function () {
    if (process.getuid?.() !== 0) this.skip();
    chownSync(join(folder, 'one.yaml'), 4321, 4322);
    chmodSync(join(folder, 'one.yaml'), 0o640);
    changeFiles([change('one.yaml', 'one', '1')]);
    const { uid, gid, mode } = statSync(join(folder, 'one.yaml'));
    expect([uid, gid, mode & 0o7777]).to.deep.equal([4321, 4322, 0o640]);
  });

  it('are the same files as before when a later one cannot be replaced', () => {
    const before = statSync(join(folder, 'one.yaml')).ino;
    symlinkSync(join(folder, 'one.yaml'), join(folder, 'again.yaml'));
    // Both names lead to one file, so that the second finds its lock.
    expect(() => changeFiles([change('one.yaml', 'one', '1'), change('again.yaml', 'one', '2')])).to.throw(
      /lock exists/,
    );
    rmSync(join(folder, 'again.yaml'));
    // The old text of the second finds no place, after the first has been replaced.
    mkdirSync(join(folder, 'two.yaml.lock.old'));
    expect(() => changeFiles([change('one.yaml', 'one', '1'), change('two.yaml', 'two', '2')])).to.throw(
      /^two\.yaml cannot be written \(\w+\); nothing was changed\.$/,
    );
    rmSync(join(folder, 'two.yaml.lock.old'), { recursive: true });
    expect([texts(), statSync(join(folder, 'one.yaml')).ino]).to.deep.equal([['one', 'two'], before]);
  });

  it('are read as UTF-8, or refused in one sentence', () => {
    writeFileSync(join(folder, 'one.yaml'), Uint8Array.of(0xff));
    expect(() => readText(join(folder, 'one.yaml'), 'one.yaml')).to.throw(/^one\.yaml cannot be read \(.*\)\.$/);
    expect(readText(join(folder, 'none.yaml'), 'none.yaml')).to.equal(undefined);
  });
});
