// Goal: a request is counted once for its cost, and requests that arrive while its body arrives do not cause its
// refusal.
// Method: limits of a few points, taken in two parts, as for a body that comes in chunks.
import { expect } from 'chai';
import { RateLimit } from '../../apps/rate-limit.js';

describe('a rate limit', () => {
  it('does not refuse a request for later ones when nothing more is due', async () => {
    const limit = new RateLimit(3);
    for (let count = 0; count < 3; count += 1) expect((await limit.take('a', 1)).isOver).to.equal(false);
    expect((await limit.take('a', 1)).isOver).to.equal(true);
    const { isOver, remaining } = await limit.take('a', 1, 1);
    expect([isOver, remaining]).to.deep.equal([false, 0]);
    expect((await limit.take('a', 2, 1)).isOver, 'more is due').to.equal(true);
    expect((await limit.take('nobody', 1, 1)).remaining, 'nobody is counted for nothing').to.equal(3);
  });

  it('takes at most the whole rate for one request, in two parts too', async () => {
    const limit = new RateLimit(3);
    expect((await limit.take('a', 1)).remaining).to.equal(2);
    expect(await limit.take('a', 9, 1)).to.include({ isOver: false, remaining: 0 });
    expect((await limit.take('a', 9, 9)).isOver).to.equal(false);
  });

  it('counts in another time than a minute', async () => {
    const limit = new RateLimit(1, 3_600);
    expect((await limit.take('one')).isOver).to.equal(false);
    const { isOver, resetMs } = await limit.take('one');
    expect(isOver).to.equal(true);
    expect(resetMs).to.be.within(60_001, 3_600_000);
  });
});
