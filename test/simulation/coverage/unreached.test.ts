// Goal: the list of branches that a long run need not take is true of core as it is, and hides nothing else. Method:
// each entry is looked for in the compiled file that it names; the list is applied to given branches.
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { unexpected, UNREACHED } from './unreached.js';

const DIST = new URL('../../../', import.meta.url);

function compiled(file: string): string {
  return readFileSync(new URL(file.replace(/\.ts$/, '.js'), DIST), 'utf8').replaceAll(/\s+/g, ' ');
}

describe('the branches that a long run need not take', () => {
  for (const { file, why, begins } of UNREACHED) {
    it(`are in ${file}: ${why}`, () => {
      const text = compiled(file);
      expect(begins).to.have.length.above(0);
      expect(begins).to.not.include('');
      for (const beginning of begins) expect(text, beginning).to.include(beginning);
    });
  }

  it('are named by their file and beginning, and no more of them than are meant', () => {
    const branch = (place: string, text: string) => ({ place, text });
    const named = branch('core/uploads/manage-uploads.ts:36', 'return undefined;');
    const others = [
      branch('core/uploads/manage-uploads.ts:40', 'throw 1;'),
      branch('core/uploads/upload.ts:9', 'return;'),
    ];
    expect(unexpected([named])).to.deep.equal([]);
    expect(unexpected([named, ...others])).to.deep.equal(others);
    const alike = [named, branch('core/uploads/manage-uploads.ts:50', 'return undefined;')];
    expect(unexpected(alike)).to.deep.equal(alike);
    expect(unexpected([branch('core/fields.ts:1', 'return;')])).to.deep.equal([]);
  });
});
