// Goal: a process that is asked to stop once stops gracefully, however many of its signals arrive, and one that is
// asked again ends.
// Method: a clock that the test moves.
import { expect } from 'chai';
import { StopRequest, type StopSignal } from '../../../apps/service/serve.js';

describe('a request to stop', () => {
  const taken = (...signals: readonly (readonly [atMs: number, signal: StopSignal])[]) => {
    let now = 0;
    const request = new StopRequest(() => now);
    return signals.map(([atMs, signal]) => {
      now = atMs;
      return request.take(signal);
    });
  };

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`is one if ${signal} arrives twice together, and two if it arrives again later`, () => {
      expect(taken([0, signal], [0, signal], [500, signal], [501, signal])).to.deep.equal([
        'first',
        'same',
        'same',
        'second',
      ]);
    });

    it(`is a second one when ${signal} is still repeated after half a second`, () => {
      expect(taken([0, signal], [300, signal], [600, signal])).to.deep.equal(['first', 'same', 'second']);
    });
  }

  it('is two when SIGTERM follows Ctrl-C', () => {
    expect(taken([0, 'SIGINT'], [1, 'SIGTERM'])).to.deep.equal(['first', 'second']);
    expect(taken([0, 'SIGTERM'], [1, 'SIGINT'])).to.deep.equal(['first', 'second']);
  });
});
