// Goal: for an unknown key, a few similar keys are suggested, at low cost for any input.
// Method: a table; long keys.
import { expect } from 'chai';
import { nearKeys } from '../../../core/catalog/find-model.js';

const KEYS = ['picture', 'picture-held', 'pictures', 'pictore', 'picturx', 'clip', 'sandbox-image', 'sandbox-video'];

describe('keys near an unknown one', () => {
  for (const [key, near] of [
    ['Picture', ['picture', 'pictures', 'pictore']],
    ['sandbox-imgae', ['sandbox-image']],
    ['sandbox_video', ['sandbox-video']],
    ['clp', ['clip']],
    ['cl', []],
    ['nobody-has-this', []],
    ['', []],
    ['x'.repeat(128), []],
  ] as const)
    it(`${JSON.stringify(key).slice(0, 40)}: ${near.join(', ') || 'none'}`, () =>
      expect(nearKeys(key, KEYS)).to.deep.equal(near));

  it('are not searched for if a key is too long to be a typing error', () => {
    const long = 'a'.repeat(65);
    expect(nearKeys(long, [long])).to.deep.equal([]);
    expect(nearKeys('a'.repeat(64), ['a'.repeat(63)])).to.deep.equal(['a'.repeat(63)]);
  });
});
