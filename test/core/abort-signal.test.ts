// Goal: core's abort signal behaves like the platform's, so an adapter can use one in place of the other.
// Method: the same steps on core's signal and on AbortController; what each listener saw is compared.
import { expect } from 'chai';
import { type AbortSignalLike, AbortSource, throwIfAborted } from '../../core/cancellation.js';

interface Source {
  readonly signal: AbortSignalLike;
  abort(reason: Error): void;
}

const SOURCES: readonly (readonly [string, () => Source])[] = [
  ['core', () => new AbortSource()],
  ['the platform', () => new AbortController()],
];

for (const [name, open] of SOURCES) {
  describe(`the abort signal of ${name}`, () => {
    const [first, second] = [new Error('first'), new Error('second')];

    it('calls each listener once, and keeps the first reason', () => {
      const source = open();
      const seen: string[] = [];
      source.signal.addEventListener('abort', () => seen.push('plain'));
      source.signal.addEventListener('abort', () => seen.push('once'), { once: true });
      expect([source.signal.aborted, source.signal.reason]).to.deep.equal([false, undefined]);
      source.abort(first);
      source.abort(second);
      expect(seen).to.deep.equal(['plain', 'once']);
      expect([source.signal.aborted, source.signal.reason]).to.deep.equal([true, first]);
    });

    it('does not call a listener that was removed, or added too late', () => {
      const source = open();
      let calls = 0;
      const listener = () => {
        calls += 1;
      };
      source.signal.addEventListener('abort', listener);
      source.signal.removeEventListener('abort', listener);
      source.abort(first);
      source.signal.addEventListener('abort', listener);
      expect(calls).to.equal(0);
    });

    it('makes throwIfAborted throw its reason, and nothing before', () => {
      const source = open();
      throwIfAborted(source.signal);
      source.abort(first);
      expect(() => throwIfAborted(source.signal)).to.throw(first.message);
    });
  });
}

describe('throwIfAborted', () => {
  it('accepts a call without a signal, and throws an error if the reason is none', () => {
    throwIfAborted(undefined);
    expect(() => throwIfAborted(AbortSignal.abort('a text'))).to.throw(Error, 'The call was aborted.');
  });
});

describe('AbortSource', () => {
  it('calls the other listeners although one throws', () => {
    const source = new AbortSource();
    let called = false;
    source.signal.addEventListener('abort', () => {
      throw new Error('broken');
    });
    source.signal.addEventListener('abort', () => {
      called = true;
    });
    source.abort(new Error('over'));
    expect(called).to.equal(true);
  });
});
