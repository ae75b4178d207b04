import { expect } from 'chai';
import { cursorOf, tokenOf } from '../../apps/page-token.js';
import { ServiceError } from '../../core/errors.js';

// Goal: a list continues at the position of its own token, and any other text is refused before it reaches a store.
// Method: tokens of the same list, tokens of another list, and invalid texts.

describe('A page token', () => {
  it('is accepted only by its own list', () => {
    const cursor = tokenOf('entries of one', '12');
    expect(cursorOf({ limit: 5, cursor }, 'entries of one')).to.deep.equal({ limit: 5, cursor: '12' });
    for (const [text, of] of [
      [cursor, 'entries of two'],
      ['12', 'entries of one'],
      ['', 'entries of one'],
      [`${cursor}=`, 'entries of one'],
      [tokenOf('entries of one', '1\n2'), 'entries of one'],
      [tokenOf('entries of one', '1\0'), 'entries of one'],
    ] as const)
      expect(() => cursorOf({ limit: 5, cursor: text }, of), text).to.throw(
        ServiceError,
        'earlier page of the same list',
      );
  });
});
