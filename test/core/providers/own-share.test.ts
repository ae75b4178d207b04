// Goal: a task that may be at the provider keeps its slot while the share of its process is not known.
// Method: two holders and a share of one slot, which lapses between the submission of one and the question of the other.
import { expect } from 'chai';
import { OwnShare } from '../../../core/providers/provider-gates.js';
import type { Moment } from '../../../core/providers/provider-use.js';

const at = (ms: number): Moment => ({ wall: 1_000_000 + ms, monotonic: ms });

describe('the share of a process at a provider', () => {
  it('keeps the slot of a task of unknown outcome while it has lapsed', () => {
    const share = new OwnShare();
    const give = (slots: number, from: number) =>
      share.renew(
        {
          slots,
          submissions: 2,
          wanted: 2,
          waiting: 1,
          expiresAt: at(from + 10_000),
          isShort: false,
          isDry: false,
        },
        at(from),
      );
    const [first, other] = [{}, {}];
    give(1, 0);
    expect(share.take(first, 0, at(1))).to.equal(true);
    share.submitting(first);
    expect(share.maySubmit(first, at(20_000)), 'again, under a share that has lapsed').to.equal(false);
    give(1, 20_001);
    expect(share.maySubmit(other, at(20_002)), 'the slot of the first').to.equal(false);
    expect(share.maySubmit(first, at(20_003)), 'its own slot').to.equal(true);
  });
});
